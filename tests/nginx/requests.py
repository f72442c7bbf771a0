# SPDX-License-Identifier: MIT
# What requests.sh knows of its requests, against the ledgers that luatrace-analyze made:
#   requests.py REQUESTS.json TURNS.json ACCESS.log
#   requests.py --bare REQUESTS.json URIS    (those of the server without a log phase, in order)
import json
import os
import sys

MS = 1_000_000
PHASES = {'both': ['access.lua', 'b.lua'], 'access': ['access'], 'content': ['content'], 'exit': ['access']}


def compare_bare(requests, uris):
    """One row for each request, although all have the same address and nothing says where one ends."""
    rows = [r for r in sorted(requests, key=lambda r: r['start_ns']) if all(p['name'] != 'log' for p in r['phases'])]
    found = [([os.path.basename(p['name']) for p in r['phases']], r['unsure']) for r in rows]
    expected = [PHASES.get(uri, [uri + '.lua']) for uri in uris]
    # A pause decides whether the phases of /both are of one request, and a busy machine may pause there.
    for at, phases in enumerate(expected):
        if found[at:at + 2] == [([phase], True) for phase in phases]:
            found[at:at + 2] = [(phases, True)]
    if [phases for phases, _ in found] != expected:
        sys.exit('FAIL: the requests are %s, not %s' % (found, expected))


if sys.argv[1] == '--bare':
    compare_bare(json.load(open(sys.argv[2]))['requests'], sys.argv[3].split())
    sys.exit()
requests = json.load(open(sys.argv[1]))['requests']
turns = json.load(open(sys.argv[2]))
log = [(uri, float(seconds)) for uri, seconds in (line.split() for line in open(sys.argv[3]))]


def wrong(what, request):
    sys.exit('FAIL: %s: %s' % (what, json.dumps(request)))


for r in requests:
    if r['running_ns'] + r['wait_ns'] + r['others_ns'] + r['unattributed_ns'] != r['wall_ns']:
        wrong('the ledger does not close', r)

# Requests of clients end with the log phase; subrequests and timers have none. What /socket asks
# ends before it.
clients = sorted((r for r in requests if any(p['name'] == 'log' for p in r['phases'])),
                 key=lambda r: r['start_ns'] + r['wall_ns'])
OVERLAPPING = 10  # the last ones
if len(clients) < len(log) + OVERLAPPING:
    sys.exit('FAIL: %d requests for %d lines of the log' % (len(clients), len(log)))
overlapping = clients[-OVERLAPPING:]
clients = clients[-OVERLAPPING - len(log):-OVERLAPPING]
of_uri = {}
for (uri, seconds), r in zip(log, clients):
    of_uri.setdefault(uri, []).append((r, seconds))


def waits(r, name):
    return sum(w['ns'] for w in r['waits'] if w['name'].endswith(name))


# uri: what holds for each request
CHECKS = {
    '/sleep': lambda r: waits(r, 'ngx.sleep') >= 98 * MS and r['running_ns'] < waits(r, 'ngx.sleep'),
    '/busy': lambda r: r['running_ns'] >= 50 * MS,
    '/subrequest': lambda r: waits(r, 'ngx.location.capture') >= 98 * MS,
    '/threads': lambda r: waits(r, 'ngx.sleep') >= 48 * MS and r['coroutines'] == 4
    and [p['name'] for p in r['phases']] == ['access', 'content', 'log'],
    # Each has its own sleep, which may be longer on a busy machine, and no part of the other's.
    '/wrap': lambda r: r['coroutines'] == 3 and all(
        waits(r, name + ' > ngx.sleep') >= 40 * MS for name in ('coroutine.wrap_aux', 'resume'))
    and sum(waits(r, name + ' > ngx.sleep') for name in ('coroutine.wrap_aux', 'resume')) <= r['wait_ns'],
    '/timer': lambda r: waits(r, 'ngx.sleep') == 0,
    '/socket': lambda r: waits(r, 'receive') >= 98 * MS,
}
if set(of_uri) != set(CHECKS):
    sys.exit('FAIL: locations of the log: %s' % sorted(of_uri))
for uri, found in of_uri.items():
    for r, _ in found:
        if not CHECKS[uri](r):
            wrong(uri, r)
    # nginx's clock has steps of 1 ms, and a busy machine delays both ends of a request.
    nearest = min(abs(r['wall_ns'] / MS - seconds * 1000) for r, seconds in found)
    if nearest > 2:
        wrong('%s is %.2f ms off $request_time in each of %d requests' % (uri, nearest, len(found)),
              found[0])

# While a timer sleeps, another request may hold the worker. The 20 ms count from nginx's clock, which
# is behind by what the worker waited for a processor since it read it.
timers = [r for r in requests if r['phases'][0]['name'] == 'timer' and waits(r, 'ngx.sleep') > 0
          and waits(r, 'ngx.sleep') + r['others_ns'] >= 10 * MS]
if len(timers) < 5:
    sys.exit('FAIL: %d of 5 timers; those that sleep: %s' % (len(timers), json.dumps(
        [r for r in requests if waits(r, 'ngx.sleep') and waits(r, 'ngx.sleep') < 60 * MS])))
if not any(waits(r, 'ngx.sleep') and r['others_ns'] >= 40 * MS for r in overlapping):
    sys.exit('FAIL: no request was delayed by another one: %s' % json.dumps(overlapping))

# What turns delay are the others' times, and what runs of a request are its turns. A busy machine may
# lengthen any turn, so nothing is said of the length of other requests' turns.
delayed = sum(entry['delayed_ns'] for entry in turns['turn_entries'])
if delayed != sum(r['others_ns'] for r in requests):
    sys.exit('FAIL: turns delay requests by %d ns in all, not by the sum of others' % delayed)
busy = [r for r, _ in of_uri['/busy']] + [r for r in overlapping if not waits(r, 'ngx.sleep')]
for r in busy:
    own = [turn for turn in turns['turns'] if turn['request'] == r['id']]
    longest = max(own, key=lambda turn: turn['wall_ns'])
    if longest['phase'] != 'content' or not longest['name'].startswith('content_by_lua'):
        wrong('the turn of a busy loop', longest)
    if longest['wall_ns'] < 50 * MS or abs(sum(turn['wall_ns'] for turn in own) - r['running_ns']) > MS:
        wrong('a busy loop with the turns %s' % json.dumps(own), r)
# While one request of each of the last pairs slept, the other one held the worker.
sleepers = {r['id'] for r in overlapping if waits(r, 'ngx.sleep') and r['others_ns'] >= 40 * MS}
named = {id for turn in turns['turns'] for id in turn['delayed_ids']}
if not sleepers <= named:
    sys.exit('FAIL: %s were delayed, the turns name %s' % (sorted(sleepers), sorted(named)))

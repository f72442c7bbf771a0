#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A second reader of what probes/lua-calls.stp writes (docs/import-format.md).

    read_hits.py events FILE    every hit in order, one a line: kind, depth, what
    read_hits.py counts FILE    calls of each function: number, tab, function
    read_hits.py totals FILE    key=value lines

Written from the document alone, for the tests: the analyzer's importer must not be
the only one who understands these files. Dies of whatever is not as the document
says, but for losses, which it counts: hits missing in the threads' numbers.
"""
import struct
import sys
from collections import Counter, defaultdict

KINDS = {'E': 'entry', 'R': 'return', 't': 'tail', 'U': 'unwind', 'c': 'create', 'r': 'resume',
         'y': 'yield', 'e': 'end', 'O': 'open', 'X': 'close', 'S': 'stack'}


class Trace:
    def __init__(self, data):
        assert len(data) % 2040 == 0, f'{len(data)} bytes are not whole messages'
        self.hits, self.funcs, self.threads = [], {}, {}
        self.cpus, self.unordered = defaultdict(set), 0
        self.totals, self.header, self.end, self.processes = defaultdict(int), None, None, []
        texts = defaultdict(dict)
        for at in range(0, len(data), 40):
            self.record(data[at:at + 40], at, texts)
        for sym, f in self.funcs.items():
            chunk, name = (b''.join(texts[sym, which][i] for i in range(n))
                           for which, n in ((0, f['parts'][0]), (1, f['parts'][1])))
            f['chunk'], f['name'] = chunk.decode('latin1'), name.decode('latin1')
        self.order()

    def record(self, r, at, texts):
        kind = chr(r[0])
        assert r[1] == 0x4c, f'no record at {at}'
        assert (kind == 'H') == (at == 0), f'{kind} at {at}'
        if kind == 'H':
            version, magic, time, real, target = struct.unpack_from('<2xHIQQI', r)
            assert (version, magic) == (1, 0x50545354)
            self.header = {'time': time, 'real': real, 'target': target}
        elif kind in KINDS:
            cpu, seq, time, tid, a, L, b = struct.unpack_from('<2xHIQIIQQ', r)
            self.cpus[tid].add(cpu)
            self.unordered += bool(self.hits and time < self.hits[-1][0])
            self.hits.append((time, tid, seq, kind, a, L, b))
        elif kind == 'F':
            flags, sym, pid, vmid, line, typ, addr, chunks, names = struct.unpack_from('<2xB1xIIIIIQHH', r)
            if not (flags & 2 and sym in self.funcs):
                self.funcs[sym] = {'pid': pid, 'id': vmid, 'line': line, 'type': typ, 'addr': addr,
                                   'parts': (chunks, names)}
        elif kind == 'T':
            which, n, sym, part = struct.unpack_from('<2xBBII', r)
            assert texts[sym, which].setdefault(part, r[12:12 + n]) == r[12:12 + n], f'text at {at} differs'
        elif kind == 'P':
            tid, pid = struct.unpack_from('<4xII', r)
            self.threads[tid] = pid
        elif kind == 'N':
            tid, seq = struct.unpack_from('<4xII', r)
            self.totals[tid] = max(self.totals[tid], seq)
        elif kind in 'QB':
            self.processes.append((kind, struct.unpack_from('<4xI', r)[0]))
        elif kind == 'Z':
            hits, unprinted = struct.unpack_from('<8xQQ', r)
            self.end = {'hits': hits, 'unprinted': unprinted}
        else:
            assert kind == '.' and not any(r[2:]), f'kind {kind!r} at {at}'

    def order(self):
        """Sorts the hits; each thread's must then be in the order of its numbers."""
        self.hits.sort(key=lambda h: (h[0], h[1], h[2]))
        last = defaultdict(int)
        for time, tid, seq, *_ in self.hits:
            assert seq > last[tid], f'thread {tid}: {seq} after {last[tid]}'
            last[tid] = seq
        for tid in last:
            self.totals[tid] = max(self.totals[tid], last[tid])
        self.lost = sum(self.totals.values()) - len(self.hits)

    def place(self, sym):
        f = self.funcs.get(sym)
        if not f:
            return f'function #{sym}'
        if f['type'] == 2:
            return 'C:' + f['name']
        return f"{f['chunk'].lstrip('@=').rsplit('/', 1)[-1]}:{f['line']}"


def events(trace):
    """Depths by frames: an event at frame x ends the calls at or above x."""
    stacks = defaultdict(list)
    for _, tid, _, kind, a, L, b in trace.hits:
        stack, frame = stacks[trace.threads.get(tid), L], b & 0xffffffff
        if kind in 'ERt':
            while stack and stack[-1] > (frame if kind != 'E' else frame - 1):
                stack.pop()
            if kind == 'E':
                stack.append(frame)
            print(KINDS[kind], len(stack), trace.place(a))
            if kind != 'E' and stack and stack[-1] == frame:
                stack.pop()
        elif kind == 'U':
            while stack and stack[-1] > frame:
                stack.pop()
            print('unwind', len(stack))
        else:
            print(KINDS[kind], a if kind in 'cryS' else a - (a >> 31 << 32))


def main():
    what, path = sys.argv[1:]
    with open(path, 'rb') as f:
        trace = Trace(f.read())
    if what == 'events':
        events(trace)
    elif what == 'counts':
        calls = Counter(trace.place(h[4]) for h in trace.hits if h[3] == 'E')
        for place, n in sorted(calls.items()):
            print(f'{n}\t{place}')
    else:
        print(f'hits={len(trace.hits)}\nlost={trace.lost}')
        print(f"pids={','.join(map(str, sorted(set(trace.threads.values()))))}")
        print(f"cpus={len(set().union(*trace.cpus.values()))}\nunordered={trace.unordered}")
        print(f"moved={sum(len(cpus) > 1 for cpus in trace.cpus.values())}")
        print(f"functions={len(trace.funcs)}\ntarget={trace.header['target']}")
        for kind, pid in trace.processes:
            print(f'process={kind}{pid}')
        for key, value in (trace.end or {'end': 'missing'}).items():
            print(f'end_{key}={value}')


try:
    main()
except BrokenPipeError:
    sys.exit(1)

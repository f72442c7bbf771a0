# SPDX-License-Identifier: MIT
"""Every view as data and as text, of a trace whose names are hostile: JSON and CSV that strict readers
take, columns that docs/analyzing.md names, and no control character on a terminal.
    data_test.py LUATRACE-ANALYZE SOURCE"""
import csv
import io
import json
import os
import re
import subprocess
import sys
import tempfile

analyze, source = sys.argv[1:]
EVIL = r'\x1b[31m\x00\x9b1m\xff,\"a\nb\x0d\x07\xe2\x80\xae</script>'
VIEWS = {
    "report": ["--report"], "tree": ["--tree", "--suspended"], "callers": ["--callers", "check"],
    "callees": ["--callees", "/^h/"], "hist": ["--hist", "/^h/"], "slow": ["--slow", "/^h/"],
    "coroutines": ["--coroutines"], "waits": ["--waits"], "turns": ["--turns", "--request-by", "/^h/"], "requests": ["--requests", "--request-by", "/^h/"], "request": ["--request", "1", "--request-by", "/^h/"],
    "threads": ["--threads"], "timeline": ["--timeline"], "symbols": ["--symbols"],
    "info": ["--info"], "diff": ["--diff", "evil.txt"], "diff_tree": ["--tree", "--diff", "evil.txt"],
    "compensate": ["--report", "--compensate"], "groups": ["--report", "--group-by", "file"],
}


def run(*words):
    return subprocess.run([analyze, *words, "evil.txt"], capture_output=True, check=True)


def once(pairs):
    keys = [key for key, _ in pairs]
    assert len(keys) == len(set(keys)), f"duplicate key: {keys}"
    return dict(pairs)


# The views with renamed columns, which are there under their earlier names, too, at the end.
RENAMED = ("report", "tree", "callers", "callees", "slow", "diff", "diff_tree", "creation_sites", "coroutines", "threads")
EARLIER = {"suspended_ns": "yielded_ns", "vm": "state", "vms": "states"}


def former(view, key):
    if key == "suspended_ns" and view in ("creation_sites", "coroutines"):
        return None  # It always had this name.
    if key == "inclusive_ns" and view == "coroutines":
        return None  # It is new there.
    for now, earlier in (("inclusive_", "total_"), ("longest_suspension_", "longest_yield_")):
        if key.startswith(now):
            return key.replace(now, earlier)
    return EARLIER.get(key)


def documented():
    """From docs/analyzing.md: member of the JSON object -> its columns."""
    with open(os.path.join(source, "docs/analyzing.md")) as file:
        rows = re.findall(r"^\| `(\w+)` \| ([^|]*)\|$", file.read(), re.M)
    return {name: re.findall(r"`(\w+)`", columns) for name, columns in rows}


def check(view, words, docs):
    text = run(*words, "--color=never").stdout.decode()
    bad = [c for c in text if (ord(c) < 32 and c != "\n") or ord(c) == 127 or c == "\u202e"]
    assert not bad, f"{view}: control characters {bad}"
    data = json.loads(run("--json", *words).stdout.decode(), object_pairs_hook=once)
    for name in [name for name in data if name not in ("trace", "functions", "trust")]:
        assert data[name], f"{view}: {name} is empty"
        keys = list(data[name][0])
        if view in ("compensate", "groups"):
            continue
        if name == "coroutine_births":  # The earlier name of creation_sites.
            name = "creation_sites"
        want = docs[name] + [former(name, key) for key in docs[name] if name in RENAMED and former(name, key)]
        assert keys == want, f"{name}: docs/analyzing.md says {want}, but it has {keys}"
    rows = list(csv.reader(io.StringIO(run("--csv", "--limit", "0", *words).stdout.decode(), newline=""), strict=True))
    assert len(rows) > 1 and len({len(row) for row in rows}) == 1, f"{view}: uneven rows in CSV"
    assert len(set(rows[0])) == len(rows[0]), f"{view}: {rows[0]}"


def main():
    with open(os.path.join(source, "tests/views/data/requests.txt")) as file:
        trace = file.read()
    folder = tempfile.TemporaryDirectory()  # removed with the object
    os.chdir(folder.name)
    # A C function of a library that nobody has.
    library = f'map 1 0x1000 0x9000 0 ab12 "/nowhere/l{EVIL}.so"\nfunc 1:900 c addr=0x1234\n'
    trace = re.sub(r"^(stream .*\n)", lambda line: line[0] + library, trace, count=1, flags=re.M)
    trace = trace.replace("0 1 entry 1\n", "0 1 entry 1\n0 1 entry 900\n0 1 return 900\n")
    with open("evil.txt", "w") as file:
        file.write(trace.replace("@plugins/auth", "@pl" + EVIL).replace('name="handle"', f'name="h{EVIL}"'))
    docs = documented()
    for view, words in VIEWS.items():
        check(view, words, docs)
    everything = [word for view in ("report", "tree", "slow", "coroutines", "waits", "threads", "timeline", "symbols", "info") for word in VIEWS[view]]
    check("several", everything, docs)


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a section of a table of cases (views.table), every case, also after one has failed:

    views_table.py TABLE LUATRACE-ANALYZE DATA SECTION

A row is   options :: query :: expected.   {NAME} in the options is a file (data/NAME.txt, or one that
MAKERS makes); without any it is requests. The query is

    csv, csv!        the CSV has this line; does not have this text anywhere
    text, text!      the output has this regular expression; has not. "text of csv": that of the CSV
    count REGEX      so many lines have it
    whole, head      the output; its first two lines, with single blanks and ';' between them
    flat             the output has this text, taken as one line with single blanks
    width, cells     no line is wider; no cell of the CSV begins a formula
    err N, out N     the status is N, and stderr (both outputs) has this text
    spares N         the same as err, and {copy} is what it was
    full             the same as err 2, with an output to which nothing can be written
    silent           the status is 0, and nothing is on stderr
    kept JQ          JQ of the JSON is the same for the profile that is saved with these options
    same data        of the view: CSV has the rows and the keys of JSON
    same from standard input
or else what jq makes of the JSON."""
import csv
import itertools
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

table, analyze, data = map(os.path.abspath, sys.argv[1:4])
section = sys.argv[4]


def run(options, **more):
    p = subprocess.run([analyze, *options], **{"stdout": -1, "stderr": -1, **more}, cwd=folder, text=True, errors="replace")
    return p.returncode, p.stdout or "", p.stderr


def jq(query, options):
    out = run(["--json", *options])[1]
    return subprocess.run(["jq", "-c", query], input=out, capture_output=True, text=True).stdout.strip()


# -- Files --

def changed(*changes):
    text = open(file_of("requests")).read()
    for old, new in changes:
        text = re.sub(old, new, text, flags=re.M)
    return text


def chain(calls=range(1, 41)):
    """A chain of 40 calls."""
    head = "#luatrace-text 1\nclock monotonic mult=1 shift=0\nprocess 1 pid=7\nstream 1 process=1 tid=7 recording=1\n"
    funcs = "".join(f'func 1:{i} lua line={i} chunk="@x.lua" name="f{i}"\n' for i in calls)
    entries = "0 1 start\n0 1 ringblock co=1 tid=7 rec=1\n" + "".join(f"{i} 1 entry {i}\n" for i in calls)
    return head + funcs + entries + "".join(f"{81 - i} 1 return {i}\n" for i in reversed(calls)) + "end exit=0\n"


def profile(*inputs):
    path = os.path.join(folder, "new.profile")
    run(["-q", "--save-profile", path, *map(file_of, inputs)])
    return open(path, encoding="latin1", newline="").read()


MAKERS = {
    # Exit 3 of trace 2 is taken 1,000 times, exit 0 of it 999 times.
    "storm": lambda: re.sub(r"^55 1 trace exit 2 b=3$", "\n".join(["55 1 trace exit 2 b=3"] * 999 + ["55 1 trace exit 2 b=0"] * 998),
                            open(file_of("jit")).read(), flags=re.M),
    "cpuprofile": lambda: profile("cpu"),
    "chain": chain,
    # Half of cache's time, a new function, and one that is gone.
    "after": lambda: changed(
        (r"^.*(entry|return) 7\n", ""), (r"^48 1 return 5", "38 1 return 5"),
        (r"^func 1:8.*", r'\g<0>\nfunc 1:9 lua line=60 chunk="@server.lua" name="fresh"'),
        (r"^60 1 resume 2", r"50 1 entry 9\n60 1 return 9\n60 1 resume 2")),
    "formula": lambda: changed(("@plugins/cache/init.lua", "=cmd|' /C calc'!A0"), ("@plugins/auth/init.lua", r'-1,\\"x\\"')),
    "longnames": lambda: changed(("@plugins/auth/init.lua", "@" + "d" * 1022)),
    "longtimes": lambda: changed(("mult=1000000 ", "mult=1234567891 ")),
    "longertimes": lambda: changed(("mult=1000000 ", "mult=12345678910000 ")),
    "copy": changed,
    "one": lambda: profile("requests"),
    "sum": lambda: profile("one", "requests"),
    "cut": lambda: profile("requests")[:200],
}


def file_of(name):
    path = os.path.join(folder if name in MAKERS else data, f"{name}.txt")
    if not os.path.exists(path):
        text = MAKERS[name]()
        with open(path, "w", encoding="latin1", newline="") as file:
            file.write(text)
    return path


# -- Rows --

def expanded(columns, names):
    """The columns for each choice of the values of the names in them."""
    used = [n for n in dict.fromkeys(re.findall(r"\$([a-z]+)", " ".join(columns))) if n in names]
    if not used:
        yield columns
        return
    for values in itertools.product(*(names[n] for n in used)):
        choice = dict(zip(used, values))
        yield from expanded([re.sub(r"\$([a-z]+)", lambda m: choice.get(m[1], m[0]), c) for c in columns], names)


def cases():
    names, here = {}, None
    for number, line in enumerate(open(table), 1):
        line = line.rstrip("\n")
        if line.startswith("let "):
            name, values = line[4:].split(" = ", 1)
            names[name] = values.split(" ; ")
        elif line.startswith("["):
            here = line.strip("[]")
        elif line and line[0] != "#" and here == section:
            columns = (line + " ").split(" :: ")
            assert len(columns) == 3, f"{table}:{number}: a row has three columns"
            for options, query, expected in expanded(columns, names):
                yield number, options, query, expected[:-1]


def words_of(options):
    words = [] if options == "-" else shlex.split(options)
    words = [re.sub(r"\{(\w+)\}", lambda m: file_of(m[1]), word) for word in words]
    return words if "{" in options else [*words, file_of("requests")]


# -- Queries: what is wrong; None if it is as expected --

def differs(options, query, expected):
    kind, _, rest = query.partition(" ")
    if kind == "same":
        return of_data(options, expected) if rest == "data" else of_input(options)
    if kind == "kept":
        path = os.path.join(folder, "kept.profile")
        run(["-q", "--save-profile", path, *options])
        a, b = jq(rest, ["--report", *options]), jq(rest, ["--report", path])
        return None if a == b != "" else f"{a} and {b}"
    if kind in ("err", "out", "silent", "spares", "full"):
        return of_status(kind, options, int(rest or 0), expected)
    if kind in TEXT:
        status, out, err = run((["--csv"] if kind[:3] == "csv" or rest == "of csv" else []) + options)
        return None if status == 0 and TEXT[kind](out, expected, rest) else f"status {status}: {out}{err}"
    got = jq(query, options)
    return None if got == expected else got


def single(text):
    return re.sub(r"\s+", " ", text).strip(" ")


TEXT = {
    "csv": lambda out, expected, _: expected in out.splitlines(),
    "csv!": lambda out, expected, _: expected not in out,
    "text": lambda out, expected, _: re.search(expected, out, re.M),
    "text!": lambda out, expected, _: not re.search(expected, out, re.M),
    "count": lambda out, expected, rest: len(re.findall(f"^.*{rest}", out, re.M)) == int(expected),
    "whole": lambda out, expected, _: out.strip() == expected,
    "head": lambda out, expected, _: ";".join(map(single, out.split("\n")[:2])) == expected,
    "flat": lambda out, expected, _: expected in single(out),
    "width": lambda out, expected, _: 0 < max(map(len, out.split("\n"))) <= int(expected),
    "cells": lambda out, *_: len(c := [c for row in csv.reader(out.splitlines(), strict=True) for c in row]) > 20
    and all(cell[:1] not in "=+-@" or not cell for cell in c),
}


def of_status(kind, options, wanted, expected):
    if kind == "full":
        with open("/dev/full", "w") as full:
            status, out, err = run(options, stdout=full)
        wanted = 2
    else:
        status, out, err = run(["-q", *options])
    good = status == wanted and (not err if kind == "silent" else expected in (out + err if kind == "out" else err))
    if kind == "spares":
        good = good and open(file_of("copy")).read() == changed()
    return None if good else f"status {status}: {out}{err}"


def of_data(options, view):
    view = view.split()[0]
    rows = json.loads(run(["--json", *options])[1])[view]
    lines = run(["--csv", *options])[1].splitlines()
    return None if len(lines) == len(rows) + 1 > 1 and lines[0] == ",".join(rows[0]) else f"{rows}\n{lines}"


def of_input(options):
    with open(options[-1]) as source:
        a, b = run(options), run([*options[:-1], "-"], stdin=source)
    return None if a == b and a[1] else f"{a} and {b}"


with tempfile.TemporaryDirectory() as folder:
    count = failed = 0
    for number, options, query, expected in cases():
        wrong = differs(words_of(options), query, expected)
        count += 1
        failed += wrong is not None
        if wrong is not None:
            print(f"FAIL {table}:{number}: {options}\n  query     {query}\n  expected  {expected}\n  but       {wrong}")
print(f"[{section}]: {count} cases, {failed} failed")
sys.exit(0 if count and not failed else 1)

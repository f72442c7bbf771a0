#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Removes, duplicates, swaps and changes events of traces, and writes pages and the Chrome format of
the results.
    mutated.py LUATRACE-ANALYZE COUNT TRACE.txt...
Fails on an exit status other than 0, 2 or 3, and on the message "cannot continue"."""
import random
import re
import subprocess
import sys
import tempfile

OPTIONS = (
    ["--page={out}", "--force", "--chart-limit", "0"],
    ["--page={out}", "--force", "--chart-limit", "30"],
    ["--page={out}", "--force", "-r", "10%~60%", "-t", "20ns"],
    ["--format", "chrome", "--force", "-o", "{out}"],
)


def number(match):
    return str(random.choice([0, 1, 2, 5, int(match.group()) * 2, int(match.group()) + 1000000]))


def mutate(events):
    for _ in range(random.choice([1, 3, 10, 50])):
        at, other = random.randrange(len(events)), random.randrange(len(events))
        how = random.choice(["drop", "double", "swap", "change"])
        if how == "drop" and len(events) > 1:
            events.pop(at)
        elif how == "double":
            events.insert(other, events[at])
        elif how == "swap":
            events[at], events[other] = events[other], events[at]
        else:
            events[at] = re.sub(r"\d+", number, events[at], count=random.choice([1, 2, 3]))


def main(analyze, count, *traces):
    bases = [open(trace, encoding="utf-8").read().splitlines() for trace in traces]
    with tempfile.TemporaryDirectory() as folder:
        trace, out = folder + "/mutated.txt", folder + "/out"
        for seed in range(int(count)):
            random.seed(seed)
            lines = random.choice(bases)
            events = [line for line in lines if line[:1].isdigit()]
            mutate(events)
            with open(trace, "w", encoding="utf-8") as file:
                file.write("\n".join([line for line in lines if not line[:1].isdigit()] + events) + "\n")
            for option in OPTIONS:
                words = [word.format(out=out) for word in option]
                done = subprocess.run([analyze, "-q", *words, trace], capture_output=True, text=True, timeout=60, check=False)
                if done.returncode not in (0, 2, 3) or "cannot continue" in done.stderr:
                    sys.exit(f"seed {seed}, {option}: status {done.returncode}: {done.stderr}")


main(*sys.argv[1:])

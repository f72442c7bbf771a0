# SPDX-License-Identifier: MIT
"""random_totals.py LUATRACE_ANALYZE RANDOM_TRACE [ROUNDS [SEED]]: random programs under random
filters, groupings and modes of coroutines: the self times of every format and view sum up to the
same, and with idle, unknown and filtered time to the traced time. SEED 0: another each time.

Those formats that contain single calls are left out with -t, and with any filter if the trace has
gaps: docs/exports.md says what they cannot know.
"""
import random
import re
import subprocess
import sys
import tempfile

from totals import Trace

UNFILTERED = ["--group-by", "--coroutines=linked", "--coroutines=separate", "--coroutines=merged"]
# Coroutines shown otherwise where they are resumed next; what ran in one without a call of its own.
ONCE_WRONG = [5229, 5495, 5524, 100342, 101531]
NAMES = ["f1", "f2", "f3", "f4", "f5", "/^f[68] /", "f*", "*y.lua:*"]


def options(choose, others=False):
    """Each filter alone and together with others."""
    out = []
    for letter in "FNCH":
        if choose.random() < 0.25:
            out += [f"-{letter}", choose.choice(NAMES)]
    if choose.random() < 0.2:
        out += ["--function", choose.choice(NAMES), "--function", choose.choice(NAMES)]
    if choose.random() < 0.25:
        out += ["-D", str(choose.randint(1, 4))]
    if choose.random() < 0.2:
        out += ["-t", str(choose.randint(1, 200))]
    if choose.random() < 0.25:
        low, high = sorted((choose.randint(0, 100), choose.randint(0, 100)))
        if low == high:  # Nothing at all is refused.
            low, high = (low, high + 1) if high < 100 else (99, 100)
        out += ["-r", f"{low}%~{high}%"]
    if choose.random() < 0.15:
        out += ["--kind", choose.choice(["lua", "c", "builtin"])]
    if choose.random() < 0.15:
        out += ["--coroutine", str(choose.randint(1, 3))]
    if others:
        if choose.random() < 0.3:
            out += ["--thread", str(choose.choice([7, 8, 9]))]
        if choose.random() < 0.3:
            out += ["--vm", str(choose.randint(1, 2))]
        if choose.random() < 0.3:
            out += ["--function", choose.choice(NAMES)]
    if choose.random() < 0.6:
        out += ["--group-by", choose.choice(["none", "thread", "coroutine", "vm", "request", "phase", "file", "plugin", "([xy]).lua"])]
    if choose.random() < 0.5:
        out += ["--coroutines=" + choose.choice(["linked", "separate", "merged"])]
    return out


def has_two(seed):
    """Whether the trace is of two Lua VMs, each on a thread of its own: then filters by these, too."""
    return seed % 5 == 3


def write_trace(program, seed, path):
    text = one_state(program, seed)
    if has_two(seed):
        other = one_state(program, seed + 10_000_000)
        other = re.sub(r"^(\d+) 1 ", r"\1 2 ", other, flags=re.M)
        other = re.sub(r"^func 1:", "func 2:", other, flags=re.M)
        other = other.replace("stream 1 process=1 tid=7", "stream 2 process=1 tid=8").replace("tid=7", "tid=8")
        head, events = [], []
        for line in text.splitlines() + other.splitlines()[3:]:
            (events if line[:1].isdigit() else head if not line.startswith("end") else []).append(line)
        events.sort(key=lambda line: int(line.split()[0]))
        text = "\n".join(head + events + ["end exit=0", ""])
    with open(path, "w") as file:
        file.write(text)


def one_state(program, seed):
    """Functions in two files, one of them a library's, one of C."""
    text = subprocess.run([program, str(seed), str(20 + seed % 200)], check=True, capture_output=True,
                          text=True).stdout
    text = re.sub(r'(func 1:[456] .*)@dir/x.lua', r'\1@dir/y.lua', text)
    text = re.sub(r'func 1:7 lua line=70 chunk=\S+ name="f7"', 'func 1:7 ff name="string.f7"', text)
    text = re.sub(r'func 1:8 lua line=80 chunk=\S+ name="f8"', 'func 1:8 c addr=4096 name="f8"', text)
    return text


def main():
    analyze, program = sys.argv[1:3]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 100
    first = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    first = first or random.randrange(1 << 30)
    seeds = list(range(first, first + rounds)) + (ONCE_WRONG if len(sys.argv) <= 3 else [])
    print(f"seeds from {first}")
    some = 0
    with tempfile.TemporaryDirectory() as directory:
        for seed in seeds:
            path = f"{directory}/trace.txt"
            write_trace(program, seed, path)
            trace = Trace(analyze, path, 0, directory)
            filters = options(random.Random(seed), has_two(seed))
            filtered = [o for o in filters if o.startswith("-") and o not in UNFILTERED]
            calls_too = not filtered or ("-t" not in filters and not trace.lost())
            try:
                total = trace.check(filters, seed % 8 == 0, calls_too)
                trace.check_json(filters, total)
            except AssertionError as error:
                sys.exit(f"seed {seed}: {error}")
            some += total > 0
    assert some > rounds / 4, f"only in {some} of {rounds} anything was left"
    print(f"{rounds} programs, {some} of them with calls that were shown")


main()

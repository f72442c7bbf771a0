# SPDX-License-Identifier: MIT
"""Section shares: how wrong the times are that segments apportion inside compiled code. Self times of a
program's functions are compared with samples of its program counter, taken while it is recorded as
segments, which hardly changes what it does. Needs root."""
import json
import math
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from runner import Variant, run
from sample import needs_root
from setup import Missing
from table import Table

PROGRAMS = ("binary_trees", "closures", "json", "life", "nbody", "objects", "raytrace", "scheduler",
            "spectral_norm", "states")
HERTZ = 4999
AIM = 10  # %
MOST_REPETITIONS = 400


def distance(p, q):
    """Total variation distance of two distributions, given as {key: weight}, in per cent."""
    all_p, all_q = sum(p.values()), sum(q.values())
    if not all_p or not all_q:
        raise Missing("no times of the program's functions")
    return 50 * sum(abs(p.get(k, 0) / all_p - q.get(k, 0) / all_q) for k in set(p) | set(q))


def noise(samples):
    """The distance to be expected of so many samples from their own distribution, in per cent."""
    n = sum(samples.values())
    return 50 * sum(math.sqrt(2 / math.pi * s / n * (1 - s / n) / n) for s in samples.values())


def self_times(setup, program, path, field):
    """{line: figure} of the program's Lua functions."""
    command = [setup.product("luatrace-analyze"), "-q", "--json", path]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        raise Missing(f"luatrace-analyze --json: {done.stderr[-500:]}")
    found = [f for f in json.loads(done.stdout)["functions"]
             if f["kind"] == "lua" and f["chunk"] == f"@{program.path}"]
    times = {}
    for f in found:
        times[f["line"]] = times.get(f["line"], 0) + f[field]
    return times


def recorded(setup, program, times, folder, repetitions, sampled):
    """(self times, samples or None) of the program's functions in one run."""
    trace, samples = folder / "trace.bin", folder / "samples.bin"
    record = setup.product("luatrace-record")
    prefix = [record, "--force", "--block", "--times", times, "-o", trace, "--"]
    if sampled:
        prefix = [record, "--force", "--sample", HERTZ, "--lua-only", "-o", samples, "--", *prefix]
    variant = Variant(setup.luajit(""), True, tuple(prefix))
    elapsed = run(variant, program, setup.size(program), repetitions, setup.scratch).elapsed
    shares = self_times(setup, program, trace, "self_ns")
    return shares, self_times(setup, program, samples, "self_samples") if sampled else None, elapsed


def row(setup, program, folder):
    """Of several runs the median: each has its own traces, and its own samples."""
    seconds = 0.05 if setup.args.tiny else 1.5
    first = recorded(setup, program, "segments", folder, 1, False)[2][0]
    repetitions = max(1, min(MOST_REPETITIONS, round(seconds / first)))
    runs = []
    for _ in range(setup.rounds(3)):
        shares, samples, _ = recorded(setup, program, "segments", folder, repetitions, True)
        runs.append((distance(shares, samples), samples))
    runs.sort(key=lambda pair: pair[0])
    middle, samples = runs[len(runs) // 2]
    others = [distance(recorded(setup, program, times, folder, few, False)[0], samples)
              for times, few in (("auto", repetitions), ("events", max(1, repetitions // 10)))]
    return [middle, *others, noise(samples)], sum(samples.values()), len(samples)


def section(setup):
    needs_root()
    table = Table("Shares of self time against samples of the program counter: total variation distance, %",
                  f"≤ {AIM} with segments", ["program", "segments", "auto", "events", "sampling error",
                                             "samples", "functions"])
    chosen = [p for p in setup.programs() if p.name in PROGRAMS]
    rows = []
    with TemporaryDirectory(prefix="luatrace-bench.", dir=setup.args.tmp) as folder:
        for program in chosen:
            cells, n, functions = row(setup, program, Path(folder))
            rows.append(cells)
            table.add(program.name, *(f"{c:.1f}" for c in cells), f"{n:,}", functions)
    if rows:
        table.add("**mean**", *(f"{sum(column) / len(rows):.1f}" for column in zip(*rows)), "", "")
    table.notes += [f"samples at {HERTZ} Hz of the run with segments, the median of the runs; Lua functions of the program only",
                    "events: exact times of calls that recording has made slower; sampling error: expected of exact shares"]
    return table

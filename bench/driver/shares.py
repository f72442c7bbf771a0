# SPDX-License-Identifier: MIT
"""Section shares: how wrong the times are that segments apportion inside compiled code. Self times of a
program's functions are compared with samples of its program counter, taken while it is recorded as
segments, which hardly changes what it does. Two samplers with different rates follow the same run: the
samples of one are the truth, those of the other only weights (luatrace-analyze --weights). Needs root."""
import json
import math
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from runner import Variant, run
from sample import needs_root
from setup import Missing, tool
from table import Table

PROGRAMS = ("binary_trees", "closures", "json", "life", "nbody", "objects", "raytrace", "scheduler",
            "spectral_norm", "states")
HERTZ = 4999
WEIGHTS_HERTZ = 4001  # no common rhythm
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


def analyzed(setup, path, *options):
    command = [setup.product("luatrace-analyze"), "-q", "--json", *options, path]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        raise Missing(f"luatrace-analyze --json: {done.stderr[-500:]}")
    return json.loads(done.stdout)


def is_of(program, row):
    return row["kind"] == "lua" and row["chunk"] == f"@{program.path}"


def self_times(program, functions):
    """{line: ns} of the program's Lua functions."""
    times = {}
    for f in functions:
        if is_of(program, f):
            times[f["line"]] = times.get(f["line"], 0) + f["self_ns"]
    return times


def sampled_times(program, tree, others):
    """{line: ns} of the program's Lua functions: samples in functions of the VM that the trace does not
    have (`others` are those that it has) are its callers'."""
    rows, times = {row["node"]: row for row in tree}, {}
    for row in tree:
        ns = row["self_ns"]
        while row and not is_of(program, row) and row["kind"] != "lua" and row["name"] not in others:
            row = rows.get(row["parent"])
        if ns and row and is_of(program, row):
            times[row["line"]] = times.get(row["line"], 0) + ns
    return times


class Recorder:
    """Records a program; with samples, too, if that is asked for."""

    def __init__(self, setup, program, folder):
        self.setup, self.program = setup, program
        self.trace, self.samples = folder / "trace.bin", folder / "samples.bin"
        self.weights = folder / "weights.bin"

    def run(self, times, repetitions, sampled):
        """CPU seconds of each repetition. With a real-time priority: what preempts it is in no sample, but in
        the calls' times; without --block, as waiting would be."""
        record = self.setup.product("luatrace-record")
        prefix = [record, "--force", "--times", times, "--ring-size", "256M", "-o", self.trace, "--"]
        if sampled:
            for hertz, path in ((HERTZ, self.samples), (WEIGHTS_HERTZ, self.weights)):
                prefix = [record, "--force", "--sample", hertz, "--lua-only", "-o", path, "--", *prefix]
        variant = Variant(self.setup.luajit(""), True, (tool("chrt", "util-linux"), "--fifo", 1, *prefix))
        size = self.setup.size(self.program)
        return run(variant, self.program, size, repetitions, self.setup.scratch).elapsed

    def shares(self, *options):
        """Self times of the functions, and the names of what else is in the trace."""
        functions = analyzed(self.setup, self.trace, *options)["functions"]
        return (self_times(self.program, functions),
                {f["name"] for f in functions if f["kind"] != "lua"})

    def truth(self, others):
        """Times and numbers of samples of the functions."""
        shown = analyzed(self.setup, self.samples, "--tree", "--limit", "0")
        times = sampled_times(self.program, shown["tree"], others)
        each = shown["trace"]["self_ns"] / max(1, shown["trace"]["samples"])
        return {line: round(ns / each) for line, ns in times.items()}


def sampled_run(recorder, times, repetitions):
    """Distances of the shares by size, and by weights, and the samples."""
    recorder.run(times, repetitions, True)
    shares, others = recorder.shares()
    samples = recorder.truth(others)
    weighed = recorder.shares("--weights", recorder.weights)[0]
    return distance(shares, samples), distance(weighed, samples), samples


def medians(runs):
    return [sorted(run[i] for run in runs)[len(runs) // 2] for i in (0, 1)]


def row(setup, program, folder):
    """Of several runs the median: each has its own traces, and its own samples."""
    recorder = Recorder(setup, program, folder)
    seconds = 0.05 if setup.args.tiny else 1.0
    first = recorder.run("segments", 1, False)[0]
    repetitions = max(1, min(MOST_REPETITIONS, round(seconds / first)))
    cells = []
    for times in ("segments", "auto"):
        runs = [sampled_run(recorder, times, repetitions) for _ in range(setup.rounds(3))]
        cells += medians(runs)
    samples = runs[0][2]
    recorder.run("events", max(1, repetitions // 10), False)
    cells.append(distance(recorder.shares()[0], samples))
    return [*cells, noise(samples)], sum(samples.values()), len(samples)


def section(setup):
    needs_root()
    table = Table("Shares of self time against samples of the program counter: total variation distance, %",
                  f"≤ {AIM} each", ["program", "segments", "with samples", "auto", "with samples", "events",
                                    "sampling error", "samples", "functions"])
    chosen = [p for p in setup.programs() if p.name in PROGRAMS]
    rows = []
    with TemporaryDirectory(prefix="luatrace-bench.", dir=setup.args.tmp) as folder:
        for program in chosen:
            cells, n, functions = row(setup, program, Path(folder))
            rows.append(cells)
            table.add(program.name, *(f"{c:.1f}" for c in cells), f"{n:,}", functions)
    if rows:
        table.add("**mean**", *(f"{sum(column) / len(rows):.1f}" for column in zip(*rows)), "", "")
    table.notes += [f"samples at {HERTZ} Hz of the same run, the median of the runs; Lua functions of the program only",
                    f"with samples: apportioned by those of another sampler at {WEIGHTS_HERTZ} Hz (--weights)",
                    "events: exact times of calls that recording has made slower; sampling error: expected of exact shares"]
    return table

# SPDX-License-Identifier: MIT
"""Section sample: what luatrace-record --sample costs, and whether its stacks are right. `perf record
-g` at the same rate is the peer. Needs root."""
import functools
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import idle
import nginx as server
import sample_stacks
from runner import instructions
from setup import BENCH, ROOT, Missing, tool
from table import Table, quartile_spread

STATS = pathlib.Path("/proc/sys/kernel/bpf_stats_enabled")
ROUNDS = {"interpreter": 1500, "compiled": 4000, "C": 60000}  # about half a second each


def needs_root():
    if os.geteuid() != 0:
        raise Missing("sampling needs root")


def ended(process, seconds=60):
    """Waits, or ends it: nothing stays."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise Missing(f"{process.args[0]} did not end") from None


# -- Recorders of a running process: none, ours, perf --


class Sampler:
    """One that samples the process `pid` at `hertz` until stop(), which returns the number of samples."""

    def __init__(self, setup, kind, pid, hertz, scratch):
        self.kind, self.output = kind, f"{scratch}/{kind}.out"
        self.errors = open(f"{scratch}/{kind}.err", "w+")
        commands = {"ours": lambda: [setup.product("luatrace-record"), "--sample", hertz, "-o", self.output, "-p", pid],
                    "perf": lambda: [tool("perf", "linux-perf"), "record", "-g", "-F", hertz, "-e", "cpu-clock", "-o",
                                     self.output, "-p", pid]}
        command = [str(word) for word in commands[kind]()]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.errors, stderr=self.errors)
        time.sleep(0.7)
        if self.process.poll() is not None:
            raise Missing(f"{kind}: {self.text()}")

    def text(self):
        self.errors.seek(0)
        return self.errors.read()[-500:]

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        ended(self.process)
        found = re.search(r"([\d,]+) samples", self.text()) or re.search(r"\(([\d,]+) samples\)", self.text())
        self.errors.close()
        return int(found[1].replace(",", "")) if found else 0

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


# -- Cost of a sample --


def program_time():
    """(runs, ns) so far of the BPF program that takes samples."""
    shown = subprocess.run([tool("bpftool", "bpftool"), "prog", "show", "-j"], capture_output=True, text=True, check=True)
    ours = [p for p in json.loads(shown.stdout) if p.get("name") == "on_cpu" and "run_cnt" in p]
    return (ours[-1]["run_cnt"], ours[-1]["run_time_ns"]) if ours else (0, 0)


def busy(setup, kind, depth, sampler, hertz, scratch):
    """One run of bench/sample/depth.lua: (its CPU seconds, samples, runs and ns of the BPF program)."""
    rounds = max(1, ROUNDS[kind] // (50 if setup.args.tiny else 1))
    command = [setup.luajit(""), BENCH / "sample/depth.lua", kind, str(depth), str(rounds)]
    gate = subprocess.Popen(["sh", "-c", 'read go && exec "$@"', "sh", *map(str, command)], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True)
    taker = None
    try:
        if sampler:
            taker = Sampler(setup, sampler, gate.pid, hertz, scratch)
        gate.stdin.write("go\n")
        gate.stdin.flush()
        elapsed = float(gate.stdout.readline().split()[1])
        runs, ns = program_time() if sampler == "ours" else (0, 0)
        gate.stdin.close()
        ended(gate)
        return elapsed, taker.stop() if taker else 0, runs, ns
    finally:
        for process in [gate] + ([taker.process] if taker else []):
            if process.poll() is None:
                process.kill()
                process.wait()


def other_ns(setup, hertz, scratch):
    """What the program takes where another process runs."""
    sleeps = subprocess.Popen(["sleep", "60"])
    taker = Sampler(setup, "ours", sleeps.pid, hertz, scratch)
    try:
        end = time.monotonic() + (0.2 if setup.args.tiny else 1.0)
        while time.monotonic() < end:
            pass
        runs, ns = program_time()
    finally:
        taker.process.send_signal(signal.SIGINT)
        sleeps.kill()
        sleeps.wait()
        ended(taker.process)
        taker.close()
    return ns / runs if runs else 0.0


def cost_row(setup, kind, depth, hertz, scratch):
    """Cells of a row: BPF time, added CPU time of ours and of perf, in us a sample; samples."""
    added, inside, samples = {"ours": [], "perf": []}, [], 0
    for _ in range(setup.rounds(7)):
        other = other_ns(setup, hertz, scratch)
        base = busy(setup, kind, depth, None, hertz, scratch)[0]
        for name, values in added.items():
            elapsed, n, runs, ns = busy(setup, kind, depth, name, hertz, scratch)
            values.append((elapsed - base) / max(n, 1) * 1e6)
            if name == "ours":
                inside.append((ns - max(runs - n, 0) * other) / max(n, 1) / 1000)
                samples += n
    cells = [f"{statistics.median(inside):.2f}", f"{min(inside):.2f}", f"{quartile_spread(inside):.2f}"]
    for values in added.values():
        cells += [f"{statistics.median(values):.1f}", f"{quartile_spread(values):.1f}"]
    return cells + [samples]


def cost(setup):
    needs_root()
    hertz = 4999
    table = Table(f"A sample at {hertz} Hz, us", "BPF time ≤ 4 us at depth 10",
                  ["program", "depth", "BPF time", "best round", "±", "added CPU: ours", "±", "perf -g", "±", "samples"])
    before = STATS.read_text()
    try:
        STATS.write_text("1")
        with tempfile.TemporaryDirectory(prefix="luatrace-bench.") as scratch:
            for kind in ROUNDS:
                for depth in (10, 50):
                    table.add(kind, depth, *cost_row(setup, kind, depth, hertz, scratch))
    finally:
        STATS.write_text(before)
    table.notes += ["BPF time: of the kernel's statistics; what the program takes where other processes run is subtracted",
                    "added CPU: CPU seconds of the program less those without samples in the same round, by sample"]
    return table


# -- Wrong stacks --


def stacks(setup):
    needs_root()
    seconds = 0.3 if setup.args.tiny else 20
    table = Table("Samples of a program that keeps its own stack", "wrong ≤ 0.1 %",
                  ["JIT", "state", "samples", *sample_stacks.RESULTS, "wrong %"])
    with tempfile.TemporaryDirectory(prefix="luatrace-bench.") as scratch:
        for jit in ("-joff", "-jon"):
            command = [setup.product("luatrace-record"), "--sample", "997", "-q", "-o", f"{scratch}/s.bin", "--",
                       setup.luajit(""), jit, BENCH / "sample/shadow.lua", seconds]
            done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
            if done.returncode:
                raise Missing(done.stderr[-500:])
            shown = subprocess.run([sys.executable, ROOT / "tests/sample/samples.py", f"{scratch}/s.bin", "--request"],
                                   capture_output=True, text=True, check=True)
            total = dict.fromkeys(sample_stacks.RESULTS, 0)
            for state, counts in sorted(sample_stacks.count(shown.stdout, done.stdout).items()):
                add_stacks(table, jit[2:], state, counts)
                total = {name: total[name] + counts[name] for name in total}
            add_stacks(table, jit[2:], "**all**", total)
    table.notes += ["one more, one less: the innermost function, while its call or return is not stored yet",
                    "unknown: marked as such in the stack; storing: while the program stores its own stack"]
    return table


def add_stacks(table, jit, state, counts):
    n = sum(counts.values())
    known = max(1, n - counts["storing"])
    table.add(jit, state, n, *counts.values(), f"{100 * counts['wrong'] / known:.3f}")


# -- nginx --


def nginx(setup):
    needs_root()
    table = Table("nginx under wrk: sampled ÷ unsampled", "requests/s ≥ 0.995 at 99 Hz, ≥ 0.98 at 999 Hz",
                  ["Hz", "sampler", *server.COLUMNS])
    with server.running(setup) as (wrk, pid, scratch):
        for hertz in (99, 999):
            samplers = {kind: functools.partial(Sampler, setup, kind, pid, hertz, scratch) for kind in ("ours", "perf")}
            for kind, cells in server.ratios(setup, wrk, samplers).items():
                table.add(hertz, kind, *cells)
    table.notes.append(server.NOTE)
    return table


# -- What the VM publishes --


def published(setup):
    """The links between coroutines are all that costs instructions while nobody samples."""
    table = Table("Instructions while nobody samples: patched ÷ unpatched, JIT off", "≤ 1.001", ["program", "instructions"])
    preload = setup.compiled("fixed_random.c", "-shared", "-fPIC", "-ldl", suffix=".so")
    empty = {False: {name: instructions(v, idle.EMPTY, 0, preload) for name, v in idle.variants(setup, False).items()}}
    for program in setup.programs():
        if program.name in ("pipeline", "ring", "scheduler", "sort"):
            table.add(program.name, f"{idle.count_ratio(setup, False, program, preload, empty):.4f}")
    return table

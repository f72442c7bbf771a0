# SPDX-License-Identifier: MIT
"""Runs benchmark programs and collects their figures: CPU seconds that they report themselves
(without process start), or instructions counted by cachegrind. Variants to compare run in turn,
round by round, so that other load affects all of them alike."""
import os
import re
import subprocess
import time
from dataclasses import dataclass

from setup import BENCH, Missing, tool
from table import Samples

MAX_REPETITIONS = 40


@dataclass(frozen=True)
class Variant:
    """One way to run a program.

    recorder: command prefix, e.g. [luatrace-record, -o, FILE, --], or [].
    profiler: Lua module that bench/run.lua starts, or "".
    """

    luajit: object
    jit: bool = True
    recorder: tuple = ()
    profiler: str = ""

    def command(self, program, size, repetitions, layout=0):
        """layout: a number that determines where the program's code is (bench/run.lua)."""
        return [*map(str, self.recorder), str(self.luajit), "-jon" if self.jit else "-joff",
                str(BENCH / "run.lua"), str(program.path), str(size), str(repetitions), str(layout),
                *([self.profiler] if self.profiler else [])]


@dataclass
class Run:
    elapsed: list  # CPU seconds of each repetition
    calls: list  # calls seen by the profiler in each repetition
    output: str  # what one repetition printed
    lost: int  # lost events reported by luatrace-record


def environment(scratch=None):
    env = dict(os.environ, LUA_PATH=f"{BENCH}/peers/?.lua;;", LUA_INIT="")
    if scratch:
        env["LUA_CPATH"] = f"{scratch}/?.so;;"
    return env


def run(variant, program, size, repetitions, scratch=None, timeout=300, layout=0):
    """Runs a program; raises Missing if it fails or its repetitions print different results."""
    command = variant.command(program, size, repetitions, layout)
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout,
                              env=environment(scratch))
    except subprocess.TimeoutExpired:
        raise Missing(f"{program.name}: no end after {timeout} s") from None
    elapsed = [float(x) for x in re.findall(r"^elapsed ([\d.]+)$", done.stderr, re.M)]
    calls = [int(x) for x in re.findall(r"^calls (\d+)$", done.stderr, re.M)]
    if done.returncode or len(elapsed) != repetitions:
        raise Missing(f"{' '.join(command)}: status {done.returncode}\n{done.stderr[-2000:]}")
    lines = done.stdout.splitlines()
    one = lines[: len(lines) // repetitions]
    if one * repetitions != lines:
        raise Missing(f"{program.name}: repetitions print different results")
    lost = re.findall(r"LOST: ([\d,]+) event", done.stderr)
    return Run([max(e, 1e-6) for e in elapsed], calls, "\n".join(one),
               sum(int(n.replace(",", "")) for n in lost))


def repetitions_for(variant, program, size, seconds, scratch=None):
    """How many repetitions take about that many seconds."""
    first = run(variant, program, size, 1, scratch).elapsed[0]
    return max(1, min(MAX_REPETITIONS, round(seconds / first)))


def interleave(variants, program, size, rounds, seconds, scratch=None, equally=False):
    """{name: Variant} -> {name: Samples}; every variant must print the same.
    equally: all with the same number of repetitions, since a minimum of more runs is lower."""
    repetitions = {name: repetitions_for(v, program, size, seconds, scratch)
                   for name, v in variants.items()}
    if equally:
        repetitions = dict.fromkeys(variants, max(repetitions.values()))
    samples = {name: Samples() for name in variants}
    outputs = set()
    order = list(variants)
    for turn in range(rounds):
        for name in order[turn % len(order):] + order[: turn % len(order)]:
            done = run(variants[name], program, size, repetitions[name], scratch, layout=turn)
            samples[name].rounds.append(done.elapsed)
            samples[name].lost += done.lost
            outputs.add(done.output)
    if len(outputs) != 1:
        raise Missing(f"{program.name}: variants print different results: {outputs}")
    return samples


def instructions(variant, program, size, preload):
    """Instructions of one repetition including start and compilation."""
    valgrind = tool("valgrind", "valgrind")
    # Hash tables are keyed by address: the layout has to be the same in each run.
    command = [tool("setarch", "util-linux"), "-R", valgrind, "--tool=cachegrind",
               "--cache-sim=no", "--cachegrind-out-file=/dev/null",
               *variant.command(program, size, 1)]
    env = dict(environment(), LD_PRELOAD=str(preload))
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    found = re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)
    if done.returncode or not found:
        raise Missing(f"{' '.join(command)}: status {done.returncode}\n{done.stderr[-2000:]}")
    return int(found[1].replace(",", ""))


@dataclass
class Cost:
    """Resources of one command."""

    cpu: float  # seconds, user + system, all threads
    user: float  # of these, user
    wall: float  # seconds
    peak_mib: float
    output: str


def at_once(command, copies):
    """Runs `copies` copies of a command at once; seconds until the last one has ended."""
    start = time.monotonic()
    children = [subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL) for _ in range(copies)]
    if any([child.wait() for child in children]):
        raise Missing(f"{' '.join(map(str, command))}: failed")
    return time.monotonic() - start


def measure(command, discard=False):
    """Runs any command once; raises Missing if it fails. discard: its output is discarded."""
    start = time.monotonic()
    child = subprocess.Popen(list(map(str, command)),
                             stdout=subprocess.DEVNULL if discard else subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True)
    output = "" if discard else child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise Missing(f"{' '.join(map(str, command))}: status {child.returncode}")
    wall = time.monotonic() - start
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_utime, wall, usage.ru_maxrss / 1024, output)

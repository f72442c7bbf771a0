# SPDX-License-Identifier: MIT
"""Section analysis: events per second of luatrace-analyze on synthetic traces
with call trees of three sizes, beside `uftrace report` on as many events; and
bytes per event of real traces."""
import re
import shutil
import subprocess
from pathlib import Path

from recording import trace_of
from runner import measure
from setup import Missing, tool
from slowdown import WORKLOADS
from table import Table

NODES = {1_000: 80, 100_000: 25, 1_000_000: 15}  # call-tree nodes: aim in M events/s


def best_of(setup, command):
    """The run with the least CPU time of a few."""
    return min((measure(command) for _ in range(setup.rounds())), key=lambda c: c.cpu)


def row(table, name, events, cost, size, aim):
    table.add(name, aim, f"{events / cost.cpu / 1e6:.1f}", f"{events / cost.wall / 1e6:.1f}",
              f"{cost.peak_mb:.0f}", f"{size / events:.2f}", events)


def analyze_synthetic(setup, table, nodes, aim):
    path = Path(setup.args.tmp) / f"luatrace-bench-synth-{nodes}.bin"
    events = setup.args.events
    try:
        measure([setup.product("luatrace-synth"), "--events", events, "--nodes", nodes,
                 "-o", path])
        cost = best_of(setup, [setup.product("luatrace-analyze"), path])
        row(table, f"luatrace-analyze, {nodes:,} nodes", events, cost, path.stat().st_size, aim)
    finally:
        path.unlink(missing_ok=True)


def analyze_uftrace(setup, table):
    uftrace = tool("uftrace", "uftrace")
    calls = setup.compiled("peers/calls.c", "-pg")
    data = Path(setup.args.tmp) / "luatrace-bench-uftrace"
    try:
        subprocess.run([uftrace, "record", "-d", data, "--no-libcall", calls,
                        str(setup.args.events)], check=True, capture_output=True,
                       cwd=setup.scratch)
        cost = best_of(setup, [uftrace, "report", "-d", data])
        size = sum(f.stat().st_size for f in data.iterdir())
        shown = sum(int(n) for n in re.findall(r"\s(\d+)  s\d$", cost.output, re.M))
        row(table, "uftrace report, 1,111 nodes", 2 * shown, cost, size, "-")
    finally:
        shutil.rmtree(data, ignore_errors=True)


def speed(setup):
    table = Table("Analysis: millions of events per second",
                  "per thread: 80 with 1,000 call-tree nodes, 25 with 100,000, 15 with 1,000,000",
                  ["reader and input", "aim", "per CPU second", "per second", "peak MiB",
                   "bytes/event", "events"])
    for nodes, aim in NODES.items():
        try:
            analyze_synthetic(setup, table, nodes, aim)
        except Missing as why:
            table.notes.append(f"NOT MEASURED: {nodes:,} nodes: {why}")
    try:
        analyze_uftrace(setup, table)
    except Missing as why:
        table.notes.append(f"NOT MEASURED: uftrace report: {why}")
    return table


def size(setup):
    table = Table("Size of real traces", "≤ 8.1 bytes per event on average",
                  ["program", "bytes/event", "events", "lost"])
    names = {name for parts in WORKLOADS.values() for name in parts}
    total_bytes = total_events = 0
    for program in setup.programs():
        if program.name not in names:
            continue
        got = trace_of(setup, program, setup.size(program), True, 1)
        table.add(program.name, f"{got.bytes / got.events:.3f}", got.events, got.lost)
        total_bytes, total_events = total_bytes + got.bytes, total_events + got.events
    if total_events:
        table.add("**all**", f"{total_bytes / total_events:.3f}", total_events, "")
    return table

# SPDX-License-Identifier: MIT
"""Section analysis, its peers: what uftrace and flamegraph.pl do with a recording, compared with
luatrace-analyze on as many events of a call tree of the same size. uftrace records a C program with
1,111 call-tree nodes; our trace is synthetic. `uftrace dump --flame-graph` is uftrace's own
stackcollapse."""
import re
import shlex
import shutil
import subprocess
from pathlib import Path

from analysis import synthetic
from runner import measure
from setup import Missing, tool
from table import Table

NODES = 1111
FLAMEGRAPH = Path("/usr/share/perl5/Devel/NYTProf/flamegraph.pl")


def flamegraph():
    path = shutil.which("flamegraph.pl") or (FLAMEGRAPH if FLAMEGRAPH.exists() else None)
    if not path:
        raise Missing("flamegraph.pl is not installed (apt-get install libdevel-nytprof-perl)")
    return f"perl {shlex.quote(str(path))}"


def tasks(setup, ours, data):
    """Yields (task, name of the peer, the peer's command, ours); if the peer is missing, (task,
    reason, None, None)."""
    uftrace = tool("uftrace", "uftrace")
    analyze = f"{shlex.quote(str(setup.product('luatrace-analyze')))} --jobs 1"

    def both(peer, options):
        return (f"{uftrace} {peer} -d {data}", f"{analyze} {options} {ours}")

    folded = both("dump --flame-graph", "--folded")
    yield "table of functions", "uftrace report", *both("report", "--report --limit 0")
    yield "call tree", "uftrace graph", *both("graph", "--tree --limit 0")
    yield "every event as text", "uftrace dump", *both("dump", "--dump")
    yield "folded stacks", "uftrace dump --flame-graph", *folded
    try:
        draw = flamegraph()
        yield ("flame graph", "dump --flame-graph, flamegraph.pl", f"{folded[0]} | {draw}",
               f"{analyze} --quiet --flame=/dev/null {ours}")
        yield ("flame graph by flamegraph.pl", "dump --flame-graph, flamegraph.pl", f"{folded[0]} | {draw}",
               f"{folded[1]} | {draw}")
    except Missing as why:
        yield "flame graph", str(why), None, None


def events_of(uftrace, data):
    """Two for each call that `uftrace report` counts."""
    report = measure([uftrace, "report", "-d", data]).output
    return 2 * sum(int(n) for n in re.findall(r"\s(\d+)  s\d$", report, re.M))


def section(setup):
    table = Table("Analysis compared with uftrace and flamegraph.pl, same task",
                  "less time than the peer",
                  ["work", "peer", "peer: CPU s", "ours: CPU s", "peer ÷ ours", "events"])
    try:
        fill(setup, table)
    except Missing as why:
        table.notes.append(f"NOT MEASURED: {why}")
    return table


def fill(setup, table):
    uftrace = tool("uftrace", "uftrace")
    calls = setup.compiled("peers/calls.c", "-pg")
    data = Path(setup.args.tmp) / "luatrace-bench-uftrace"
    wanted = min(setup.args.events, 5_000_000)  # Half a gigabyte as text.
    try:
        subprocess.run([uftrace, "record", "-d", data, "--no-libcall", calls,
                        str(wanted)], check=True, capture_output=True,
                       cwd=setup.scratch)
        events = events_of(uftrace, data)
        with synthetic(setup, NODES, events=events) as ours:
            for task, name, peer, mine in tasks(setup, ours, data):
                if not peer:
                    table.notes.append(f"NOT MEASURED: {task}: {name}")
                    continue
                cost = [min(measure(["sh", "-c", c], discard=True).cpu
                            for _ in range(setup.rounds(2))) for c in (peer, mine)]
                table.add(task, name, f"{cost[0]:.2f}", f"{cost[1]:.2f}",
                          f"{cost[0] / max(cost[1], 0.001):.1f}", f"{events:,}")
    finally:
        shutil.rmtree(data, ignore_errors=True)

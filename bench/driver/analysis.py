# SPDX-License-Identifier: MIT
"""Section analysis: events per second of luatrace-analyze on synthetic traces with call trees of
three sizes, and on loops of compiled code; the cost of histograms, the gain from threads, the cost of compressed traces; and bytes
per event of real traces."""
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from recording import trace_of
from runner import at_once, measure
from setup import Missing
from slowdown import WORKLOADS
from table import Table

NODES = {1_000: 80, 100_000: 25, 1_000_000: 15}  # call-tree nodes: target in M events/s
HISTOGRAMS = ["--report", "--fields", "calls,self,p50,p99"]


def turns(setup, commands, by="cpu"):
    """{name: command} -> {name: fastest run}; all commands in turn, round by round."""
    best = {}
    for _ in range(setup.rounds()):
        for name, command in commands.items():
            cost = measure(command)
            if name not in best or getattr(cost, by) < getattr(best[name], by):
                best[name] = cost
    return best


@contextmanager
def synthetic(setup, nodes, *options, events=None):
    """Path of a synthetic trace, which is removed afterwards."""
    path = Path(setup.args.tmp) / "luatrace-bench-synth.bin"
    try:
        measure([setup.product("luatrace-synth"), "--events", events or setup.args.events,
                 "--nodes", nodes, *options, "-o", path])
        yield path
    finally:
        path.unlink(missing_ok=True)


def trees(setup, table, nodes, aim):
    """Rows for one tree: sums, and sums with histograms."""
    events = setup.args.events
    analyze = [setup.product("luatrace-analyze"), "--jobs", 1]
    with synthetic(setup, nodes) as path:
        best = turns(setup, {"sums": [*analyze, path],
                             "histograms": [*analyze, *HISTOGRAMS, path]})
    base = best["sums"]
    for name, cost in best.items():
        more = "" if cost is base else f"{100 * (cost.cpu / base.cpu - 1):+.1f} %"
        table.add(f"{nodes:,} nodes, {name}", aim if cost is base else "",
                  f"{events / cost.cpu / 1e6:.1f}", more, f"{cost.peak_mib:.0f}", events)


def speed(setup):
    table = Table("Analysis: millions of events per second",
                  "per thread: 80 with 1,000 call-tree nodes, 25 with 100,000, 15 with 1,000,000; "
                  "histograms up to +10 %",
                  ["call tree", "aim", "per CPU second", "cost", "peak MiB", "events"])
    for nodes, aim in NODES.items():
        try:
            trees(setup, table, nodes, aim)
        except Missing as why:
            table.notes.append(f"NOT MEASURED: {nodes:,} nodes: {why}")
    return table


# Calls of an iteration, iterations of a word, words.
LOOPS = ((1, 500_000, 5_000), (20, 10_000, 5_000), (1, 1_000, 1_000_000), (1, 100, 1_000_000),
         (1, 10, 1_000_000))


def loop_trace(calls, iterations, words):
    """A compiled loop of calls, as text."""
    places = " ".join(f"@{2 * i}+{10 * i}" for i in range(calls + 1))
    events = " ".join("1:2 2:2" for _ in range(calls))
    yield ('#luatrace-text 1\nclock monotonic mult=1 shift=0\nprocess 1 pid=7 exe="/x"\n'
           "stream 1 process=1 tid=7 recording=1\n"
           'func 1:1 lua line=1 chunk="@x.lua" name="main"\n'
           'func 1:2 lua line=2 chunk="@x.lua" name="f"\n'
           f"segments 1:1 bytes={10 * calls} level=1 counts=1 marks=1 @0+0 {places} {events}\n"
           "1000 1 entry 1\n")
    step = 1 + 3 * calls * iterations
    for word in range(1, words + 1):
        yield f"{1000 + word * step} 1 segment {2 + calls} {iterations}\n"
    yield f"{1001 + words * step} 1 return 1\nend exit=0\n"


def loops(setup):
    table = Table("Analysis of balanced segments: millions of events per second", "500 per thread",
                  ["calls of an iteration", "iterations of a word", "per CPU second", "events"])
    with TemporaryDirectory(dir=setup.args.tmp) as folder:
        text, trace = Path(folder) / "loop.txt", Path(folder) / "loop.bin"
        for calls, iterations, words in LOOPS:
            with open(text, "w", encoding="ascii") as out:
                out.writelines(loop_trace(calls, iterations, words))
            measure([setup.product("luatrace-analyze"), f"--convert={trace}", "--force", text])
            cost = turns(setup, {"": [setup.product("luatrace-analyze"), "--jobs", 1, trace]})[""]
            events = 2 * calls * (iterations + 1) * words + 2
            table.add(f"{calls:,}", f"{iterations:,}", f"{events / max(cost.cpu, 1e-3) / 1e6:,.0f}", events)
    return table


GROUPED = ["--report", "--group-by", "thread"]
FILTERED = ["--report", "--tree", "-N", "f9*", "-t", "100"]
# Name, nodes, options of luatrace-synth, options of luatrace-analyze.
INPUTS = (("2 streams, 1,000 nodes", 1000, ["--streams", 2], []),
          ("4 streams, 100,000 nodes", 100_000, ["--streams", 4], []),
          ("2 streams, histograms", 1000, ["--streams", 2], HISTOGRAMS),
          ("2 streams, --group-by thread", 1000, ["--streams", 2], GROUPED),
          ("2 streams, -N f9* -t 100", 1000, ["--streams", 2], FILTERED),
          ("1 stream, 1,000 nodes", 1000, [], []),
          ("1 stream, compressed", 1000, ["--compress"], []),
          ("2 streams, compressed", 1000, ["--streams", 2, "--compress"], []))


def threads(setup):
    """Wall time by number of threads, of streams, and with compression. The machine's own limit is
    the speed of two processes at once, each of which does all of the work: two processors are
    seldom twice as fast as one."""
    table = Table("Analysis by several threads, and of compressed traces",
                  "2 threads: at least 1.6 times as fast, or 0.8 of what 2 processes at once do; "
                  "up to 2.5 bytes per event when compressed",
                  ["input", "1 job: M events per second", "2 jobs", "÷ 1 job", "CPU ÷ 1 job",
                   "2 processes ÷ 1", "÷ 2 processes", "bytes/event"])
    for name, nodes, synth, options in INPUTS:
        with synthetic(setup, nodes, *synth) as path:
            one, two = ([setup.product("luatrace-analyze"), "--jobs", n, *options, path]
                        for n in (1, 2))
            best, both = {}, []
            for _ in range(setup.rounds()):
                both.append(at_once(one, 2))
                for jobs, command in ((1, one), (2, two)):
                    cost = measure(command)
                    if jobs not in best or cost.wall < best[jobs].wall:
                        best[jobs] = cost
            size = path.stat().st_size / setup.args.events
        speed = best[1].wall / best[2].wall
        machine = 2 * best[1].wall / min(both)
        table.add(name, *(f"{setup.args.events / best[n].wall / 1e6:.1f}" for n in (1, 2)),
                  f"{speed:.2f}", f"{best[2].cpu / best[1].cpu:.2f}", f"{machine:.2f}",
                  f"{speed / machine:.2f}", f"{size:.2f}")
    return table


def rows(setup):
    """--format parquet, and the same trace without it in the same rounds: what reading alone costs."""
    table = Table("Parquet: millions of calls per CPU second, one thread, reading included",
                  "5 at up to 6 bytes a call",
                  ["trace", "calls", "reading alone", "Parquet", "÷ reading alone", "bytes/call", "peak MiB"])
    for name, *synth in (("1,000 functions",), ("1,000 functions, compressed", "--compress")):
        with synthetic(setup, 1000, *synth) as path, \
                TemporaryDirectory(dir=setup.args.tmp) as folder:
            analyze = [setup.product("luatrace-analyze"), "--jobs", 1, path]
            best = turns(setup, {"reading": analyze, "Parquet":
                                 [*analyze, "--format", "parquet", "--force", "-o", folder]}, "user")
            size = (Path(folder) / "calls.parquet").stat().st_size
        calls = setup.args.events // 2
        reading, parquet = best["reading"].user, best["Parquet"].user
        table.add(name, calls, f"{calls / reading / 1e6:.1f}", f"{calls / parquet / 1e6:.2f}",
                  f"{parquet / reading:.1f}", f"{size / calls:.2f}", f"{best['Parquet'].peak_mib:.0f}")
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

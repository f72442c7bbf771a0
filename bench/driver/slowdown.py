# SPDX-License-Identifier: MIT
"""Section slowdown: traced ÷ untraced in each mode of luatrace-record --times, compared with two
profilers that do the same on debug hooks, one in C and one in Lua; and bytes per event."""
from recording import recorder, trace_of
from runner import Variant, interleave, run
from setup import Missing
from table import Table, geomean

WORKLOADS = {"W1": ["fib"], "W2": ["objects"], "W3": ["pipeline"], "W4": ["json"],
             "W5": ["nbody", "spectral_norm"], "W6": ["errors"]}
TIMES = ("events", "segments", "auto")
PEERS = ("hookprof_c", "hookprof_lua")
PEER_TIMEOUT = 120
# Of which recordings the bytes per event are counted.
STORED = {"segments": ("segments", ()), "auto": ("auto", ()), "auto --compress": ("auto", ("--compress",))}
# What --times auto aims at, compiled.
AIMS = {**dict.fromkeys(("fib", "tak", "states", "life"), 1.25),
        **dict.fromkeys(("spectral_norm", "nbody", "objects"), 1.1)}
MEAN_AIM, BYTES_AIM = 1.25, 1.0


def peer_seconds(setup, name, program, jit):
    """Best CPU seconds under a hook profiler; nan if it takes too long."""
    variant = Variant(setup.luajit(""), jit, profiler=name)
    try:
        return min(run(variant, program, setup.size(program), 1, setup.scratch,
                       PEER_TIMEOUT).elapsed)
    except Missing as why:
        if "no end after" not in str(why):
            raise
        return float("nan")


def measure_program(setup, program, jit):
    """(best seconds untraced, in each mode, with the C hook, the Lua hook), events lost. Without
    compiled code all modes are the same: one is measured."""
    luajit, modes = setup.luajit(""), TIMES if jit else TIMES[:1]
    samples = interleave({"": Variant(luajit, jit),
                          **{times: Variant(luajit, jit, recorder(setup, times)) for times in modes}},
                         program, setup.size(program), setup.rounds(), setup.args.seconds,
                         equally=True)  # the first ones have a new ring
    peers = [] if setup.args.no_peers else [peer_seconds(setup, name, program, jit) for name in PEERS]
    return [s.best() for s in samples.values()] + peers, sum(s.lost for s in samples.values())


def ratios(seconds):
    return [s / seconds[0] for s in seconds[1:]]


def sizes(setup, program):
    """(bytes, events) of each recording in STORED of the compiled program."""
    found = (trace_of(setup, program, setup.size(program), True, 1, times, more)
             for times, more in STORED.values())
    return [(r.bytes, r.events) for r in found]


def sum_of(sizes_of_programs):
    return [tuple(map(sum, zip(*mode))) for mode in zip(*sizes_of_programs)]


def columns(setup):
    peers = [] if setup.args.no_peers else ["C hook", "Lua hook"]
    return ["program", *TIMES, *peers, "-joff", *(f"{peer} -joff" for peer in peers),
            "aim of auto", *(f"bytes/event: {stored}" for stored in STORED)]


def add_row(table, label, cells, aim, stored):
    sizes_text = [f"{size / max(events, 1):.3f}" for size, events in stored]
    table.add(label, *(f"{c:.2f}" for c in cells), f"≤ {aim}" if aim else "", *sizes_text)


def measure_all(setup):
    """{(name, jit): seconds}, {name: sizes}, events lost."""
    seconds, stored, lost = {}, {}, 0
    for program in setup.programs():
        for jit in (True, False):
            seconds[program.name, jit], n = measure_program(setup, program, jit)
            lost += n
        stored[program.name] = sizes(setup, program)
    return seconds, stored, lost


def section(setup):
    if not setup.args.no_peers:
        setup.compiled("peers/hookprof_c.c", "-shared", "-fPIC", f"-I{setup.lua_headers()}",
                       suffix=".so")
    table = Table("Slowdown: traced ÷ untraced",
                  f"below both profilers everywhere; auto: geometric mean ≤ {MEAN_AIM}, "
                  f"bytes per event over all programs ≤ {BYTES_AIM}", columns(setup))
    seconds, stored, lost = measure_all(setup)
    names = [p.name for p in setup.programs()]
    rows = {f"{label} {'+'.join(parts)}": parts for label, parts in WORKLOADS.items()
            if set(parts) <= set(names)}
    rows.update({name: [name] for name in names})
    for label, parts in rows.items():
        cells = []
        for jit in (True, False):
            cells += ratios([sum(s) for s in zip(*(seconds[name, jit] for name in parts))])
        add_row(table, label, cells, AIMS.get(label), sum_of([stored[name] for name in parts]))
    means = [geomean(r for r in column if r == r) for jit in (True, False)
             for column in zip(*(ratios(seconds[name, jit]) for name in names))]
    add_row(table, "**geometric mean**", means, MEAN_AIM, sum_of(stored.values()))
    table.notes.append("-joff: without compiled code all modes store events; bytes/event of the last "
                       "row: all programs together, descriptions and the rest of the file included")
    table.add_loss(lost)
    return table

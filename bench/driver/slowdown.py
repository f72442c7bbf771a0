# SPDX-License-Identifier: MIT
"""Section slowdown: traced ÷ untraced, compared with two profilers that do the same on debug
hooks, one in C and one in Lua."""
from recording import recorder
from runner import Variant, interleave, run
from setup import Missing
from table import Table, geomean

WORKLOADS = {"W1": ["fib"], "W2": ["objects"], "W3": ["pipeline"], "W4": ["json"],
             "W5": ["nbody", "spectral_norm"], "W6": ["errors"]}
PEER_TIMEOUT = 120


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
    """(best seconds untraced, traced, with the C hook, the Lua hook), events lost."""
    luajit, args = setup.luajit(""), setup.args
    both = interleave({"untraced": Variant(luajit, jit),
                       "traced": Variant(luajit, jit, recorder(setup))},
                      program, setup.size(program), setup.rounds(), args.seconds)
    peers = [peer_seconds(setup, name, program, jit) for name in ("hookprof_c", "hookprof_lua")]
    return [both["untraced"].best(), both["traced"].best(), *peers], both["traced"].lost


def ratios(seconds):
    return [s / seconds[0] for s in seconds[1:]]


def section(setup):
    setup.compiled("peers/hookprof_c.c", "-shared", "-fPIC", f"-I{setup.lua_headers()}",
                   suffix=".so")
    table = Table("Slowdown: traced ÷ untraced",
                  "below both profilers everywhere",
                  ["program", "luatrace", "C hook", "Lua hook", "luatrace -joff",
                   "C hook -joff", "Lua hook -joff"])
    seconds, lost = {}, 0
    for key in [(p, jit) for p in setup.programs() for jit in (True, False)]:
        seconds[key[0].name, key[1]], n = measure_program(setup, *key)
        lost += n
    rows = {}
    for label, parts in WORKLOADS.items():
        if all((name, True) in seconds for name in parts):
            rows[f"{label} {'+'.join(parts)}"] = parts
    rows.update({p.name: [p.name] for p in setup.programs()})
    for label, parts in rows.items():
        cells = []
        for jit in (True, False):
            cells += ratios([sum(s) for s in zip(*(seconds[name, jit] for name in parts))])
        table.add(label, *(f"{c:.2f}" for c in cells))
    means = [geomean(r for r in column if r == r) for jit in (True, False)
             for column in zip(*(ratios(seconds[p.name, jit]) for p in setup.programs()))]
    table.add("**geometric mean**", *(f"{m:.2f}" for m in means))
    table.add_loss(lost)
    return table

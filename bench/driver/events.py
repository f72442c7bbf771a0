# SPDX-License-Identifier: MIT
"""Section events: nanoseconds per event, over the floor of any event with a
time stamp (rdtsc and one 8-byte store, measured in the same run)."""
import subprocess

from recording import events_per_repetition, recorder
from runner import Variant, interleave
from setup import programs
from table import Table


def floor_ns(setup):
    """(rdtsc alone, rdtsc + store) in nanoseconds."""
    binary = setup.compiled("floor.c")
    out = subprocess.run([binary], capture_output=True, text=True, check=True).stdout
    figures = dict(line.split() for line in out.splitlines())
    return float(figures["rdtsc"]), float(figures["floor"])


def micro_programs():
    by_name = {p.name: p for p in programs("programs") + programs("events")}
    return [by_name[name] for name in ("fib", "methods", "floats")]


def samples_of(setup, program, jit):
    luajit = setup.luajit("")
    both = {"untraced": Variant(luajit, jit),
            "traced": Variant(luajit, jit, recorder(setup))}
    return interleave(both, program, setup.size(program), setup.rounds(), setup.args.seconds)


def section(setup):
    table = Table("Cost of an event ÷ floor",
                  "≤ 1.2 compiled, program included; ≤ 1.5 interpreted, net of the program",
                  ["program", "JIT", "÷ floor", "net ÷ floor", "ns/event", "net ns/event", "±",
                   "untraced ns/event", "events"])
    floors = [floor_ns(setup)]
    measured = []
    for program in micro_programs():
        for jit in (True, False):
            count = events_per_repetition(setup, program, setup.size(program), jit)
            measured.append((program, jit, count, samples_of(setup, program, jit)))
            floors.append(floor_ns(setup))
    rdtsc, floor = (min(column) for column in zip(*floors))
    for program, jit, count, samples in measured:
        traced, plain = samples["traced"], samples["untraced"]
        total, own = traced.best() / count * 1e9, plain.best() / count * 1e9
        spread = traced.spread_over(plain) * own
        table.add(program.name, "on" if jit else "off", f"{total / floor:.2f}",
                  f"{(total - own) / floor:.2f}", f"{total:.1f}", f"{total - own:.1f}",
                  f"{spread:.1f}", f"{own:.1f}", count)
    table.add_loss(sum(samples["traced"].lost for *_, samples in measured))
    table.notes.append(f"floor {floor:.2f} ns (rdtsc alone {rdtsc:.2f} ns)")
    return table

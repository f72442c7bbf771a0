# SPDX-License-Identifier: MIT
"""Section idle: what the patch costs while nobody traces. The patched build is compared with the
same upstream unpatched, in time and in instructions. In each round upstream runs twice: the ratio
between these two ("same") is the machine's own noise, below which a patched ratio means
nothing."""
import os
from concurrent.futures import ThreadPoolExecutor

from runner import Variant, instructions, interleave
from setup import BENCH, Program
from table import Table, geomean

ROUNDS = 25  # Differences of one percent need many rounds.
EMPTY = Program("empty", BENCH / "events" / "empty.lua", 0, 0)


def count_ratio(setup, jit, program, preload, empty):
    """Instructions patched / upstream, without the start of the process."""
    size = program.size if jit and not setup.args.tiny else program.small
    count = {name: instructions(v, program, size, preload) - empty[jit][name]
             for name, v in variants(setup, jit).items()}
    return count["patched"] / count["upstream"]


def variants(setup, jit):
    return {"upstream": Variant(setup.luajit("upstream"), jit),
            "patched": Variant(setup.luajit(""), jit)}


def count_all(setup, programs):
    """{(program name, jit): ratio}. Counting may share the machine, so it runs in parallel."""
    preload = setup.compiled("fixed_random.c", "-shared", "-fPIC", "-ldl", suffix=".so")
    empty = {jit: {name: instructions(v, EMPTY, 0, preload)
                   for name, v in variants(setup, jit).items()} for jit in (True, False)}
    work = [(p, jit) for p in programs for jit in (True, False)]
    with ThreadPoolExecutor(setup.args.jobs or os.cpu_count()) as pool:
        ratios = pool.map(lambda w: count_ratio(setup, w[1], w[0], preload, empty), work)
        return {(p.name, jit): ratio for (p, jit), ratio in zip(work, ratios)}


def time_one(setup, jit, program):
    """Ratios of CPU time: (patched / upstream, upstream / upstream)."""
    three = variants(setup, jit)
    three["again"] = three["upstream"]
    samples = interleave(three, program, setup.size(program), setup.rounds(ROUNDS),
                         setup.args.seconds, equally=True)
    upstream = samples["upstream"]
    return samples["patched"].over(upstream), samples["again"].over(upstream)


def section(setup):
    table = Table("Idle: patched ÷ unpatched, nobody traces",
                  "time: geometric mean ≤ 1.02, worst ≤ 1.05; instructions without the JIT: mean ≤ 1.005",
                  ["program", "JIT time", "same", "instr.", "-joff time", "same", "instr."])
    programs = setup.programs()
    counts = {} if setup.args.no_count else count_all(setup, programs)
    times = {(p.name, jit): time_one(setup, jit, p) for p in programs for jit in (True, False)}

    def count(name, jit):
        return f"{counts[name, jit]:.4f}" if counts else "-"

    for p in programs:
        cells = []
        for jit in (True, False):
            cells += [f"{ratio:.3f}" for ratio in times[p.name, jit]] + [count(p.name, jit)]
        table.add(p.name, *cells)
    summarize(table, times, counts)
    return table


def summarize(table, times, counts):
    for label, pick in (("**geometric mean**", geomean), ("**worst**", max)):
        cells = []
        for jit in (True, False):
            pairs = [pair for (_, j), pair in times.items() if j == jit]
            cells += [f"{pick(column):.3f}" for column in zip(*pairs)]
            cells.append(f"{pick([r for (_, j), r in counts.items() if j == jit]):.4f}"
                         if counts else "-")
        table.add(label, *cells)

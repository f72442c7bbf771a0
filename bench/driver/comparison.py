# SPDX-License-Identifier: MIT
"""Section comparison: four of the reference profilers, re-created from their descriptions (bench/comparison),
and ours on six programs of which it is known how often each function is called. Each fact is right or
wrong; a profiler without the row, or with several rows for one function, is wrong. docs/comparison.md
has the results."""
import os
import re
import subprocess

from setup import BENCH, Missing
from table import Table, geomean

FOLDER = BENCH / "comparison"
PROFILERS = {"ours": "luatrace, from inside", "r1": "R1 (C hook, one stack)", "r2": "R2 (Lua hook, a stack per coroutine)",
             "r4": "R4 (Lua hook, no stack)", "r5": "R5 (C hook, one stack)"}
PROGRAMS = ("recursion", "coroutines", "c_functions", "errors", "tail_calls", "closures")


class Rows:
    """What a profiler says of a program. A Lua function is asked for by its name in the source, a C function
    by "string.rep"."""

    def __init__(self, program, output):
        self.source = (FOLDER / "programs" / f"{program}.lua").read_text().splitlines()
        self.rows = []
        for line in re.findall(r"^row\t(.*)$", output, re.M):
            name, file, at, calls, inclusive, own = line.split("\t")
            if int(at) == 0 or file.endswith(f"{program}.lua"):
                self.rows.append((name, int(at), int(calls), float(inclusive), float(own)))
        self.elapsed = float(re.search(r"^elapsed\t([\d.]+)$", output, re.M)[1])

    def lines(self, name):
        pattern = r"\breturn function\(\) return n end" if name == "closure" else rf"\blocal function {name}\("
        return [n for n, text in enumerate(self.source, 1) if re.search(pattern, text)]

    def row(self, name, which=0):
        """The only row of the function, or None."""
        if "." in name:
            last = name.split(".")[1]
            found = [r for r in self.rows if r[1] == 0 and r[0] in (name, last)]
        else:
            line = self.lines(name)[which]
            found = [r for r in self.rows if r[1] == line]
        return found[0] if len(found) == 1 else (None, 0, -1, -1.0, -1.0)

    def calls(self, name, which=0):
        return self.row(name, which)[2]

    def inclusive(self, name):
        """Without the row: unknown, which no comparison holds for."""
        value = self.row(name)[3]
        return value if value >= 0 else float("nan")


# By program: what must be true.
FACTS = {
    "recursion": [lambda r: r.calls("fib") == 218910, lambda r: r.calls("begin") == 10,
                  lambda r: r.inclusive("begin") / 2 <= r.inclusive("fib") <= 1.1 * r.elapsed],
    "coroutines": [lambda r: r.calls("worker") == 2, lambda r: r.calls("step") == 2000, lambda r: r.calls("leaf") == 2000,
                   lambda r: r.calls("between") == 1000, lambda r: r.inclusive("step") < r.inclusive("between"),
                   lambda r: r.inclusive("worker") < r.inclusive("between")],
    "c_functions": [lambda r: r.calls("string.rep") == 300, lambda r: r.calls("table.sort") == 100,
                    lambda r: r.calls("string.gsub") == 100, lambda r: r.calls("compare") == 100,
                    lambda r: r.calls("replace") == 500, lambda r: r.inclusive("string.gsub") >= r.inclusive("replace")],
    "errors": [lambda r: r.calls("throws") == 1000, lambda r: r.calls("catches") == 200,
               lambda r: r.calls("base.pcall") == 200, lambda r: r.calls("base.error") == 200, lambda r: r.inclusive("throws") < r.inclusive("after")],
    "tail_calls": [lambda r: r.calls("first") == 1000, lambda r: r.calls("second") == 1000, lambda r: r.calls("loop") == 10000,
                   lambda r: r.inclusive("first") < r.inclusive("after"), lambda r: r.inclusive("loop") < r.inclusive("after")],
    "closures": [lambda r: r.calls("make") == 500, lambda r: r.calls("closure") == 500, lambda r: r.calls("named") == 400,
                 lambda r: r.calls("same", 0) == r.calls("same", 1) == 100],
}


def environment(setup):
    return dict(os.environ, LUA_INIT="", LUA_PATH=f"{FOLDER}/?.lua", LUATRACE_BIN=str(setup.build / "bin"),
                LUA_CPATH=f"{setup.scratch}/comparison/?.so;{setup.build}/lib/lua/?.so", TMPDIR=str(setup.args.tmp))


def run(setup, program, profiler):
    command = [setup.luajit(""), FOLDER / "run.lua", FOLDER / "programs" / f"{program}.lua", profiler]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment(setup))
    if done.returncode:
        raise Missing(f"{program} under {profiler}: {done.stderr.strip()[-300:]}")
    return Rows(program, done.stdout)


def compile_hooks(setup):
    """One library under the names of both profilers: the name selects the function."""
    folder = setup.scratch / "comparison"
    folder.mkdir(exist_ok=True)
    library = setup.compiled("comparison/hooks.c", "-shared", "-fPIC", f"-I{setup.lua_headers()}", suffix=".so")
    for name in ("r1", "r5"):
        link = folder / f"{name}.so"
        link.unlink(missing_ok=True)
        link.symlink_to(library)


def section(setup):
    compile_hooks(setup)
    table = Table("The references, re-created, and luatrace on six programs", "facts right (wall time with the profiler ÷ without)",
                  ["profiler", *(p.replace("_", " ") for p in PROGRAMS), "facts right", "slowdown"])
    rounds = range(setup.rounds(3))
    plain = {p: min(run(setup, p, "none").elapsed for _ in rounds) for p in PROGRAMS}
    for profiler, text in PROFILERS.items():
        right, ratios = [], []
        for program in PROGRAMS:
            results = [run(setup, program, profiler) for _ in rounds]
            right.append(sum(bool(fact(results[-1])) for fact in FACTS[program]))
            ratios.append(min(r.elapsed for r in results) / plain[program])
        cells = [f"{n}/{len(FACTS[p])} ({ratio:.1f})" for n, p, ratio in zip(right, PROGRAMS, ratios)]
        table.add(text, *cells, f"{sum(right)}/{sum(map(len, FACTS.values()))}", f"{geomean(ratios):.1f}")
    table.notes.append("not run: R3, a sampler, which counts no calls")
    return table

# SPDX-License-Identifier: MIT
"""Runs scripts/bench with the smallest sizes and checks the tables' form: every program is there,
every ratio is a positive number. No figure is checked. Skipped (77) if something it needs was not
built."""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ["fib", "json", "pipeline"]
NEEDED = {"idle": [], "events": ["luatrace-record", "luatrace-analyze"],
          "slowdown": ["luatrace-record"],
          "analysis": ["luatrace-record", "luatrace-analyze", "luatrace-synth"]}


def skip_unless_built(build):
    missing = [name for names in NEEDED.values() for name in names
               if not (build / "bin" / name).exists()]
    if not list(build.glob("luajit/*-upstream/luajit")):
        missing.append("luajit/<flavour>-upstream/luajit")
    if missing:
        print(f"SKIPPED: {build} has no {', '.join(sorted(set(missing)))}")
        sys.exit(77)


def bench(build, *arguments):
    command = [ROOT / "scripts" / "bench", "--tiny", "--build", build,
               "--only", ",".join(PROGRAMS), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280)
    print(done.stdout, done.stderr, sep="\n")
    return done


def tables(markdown):
    """{title: {first cell: other cells}} of the tables in a markdown text."""
    found, title = {}, None
    for line in markdown.splitlines():
        if line.startswith("### "):
            title = line[4:]
            found[title] = {}
        elif line.startswith("| ") and title and ":--" not in line:
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            found[title].setdefault(cells[0].strip("*"), []).append(cells[1:])
    return found


def check(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def check_ratios(table, names, columns):
    for name in names:
        check(name in table, f"no row {name!r} in {sorted(table)}")
        for cells in table[name]:
            for cell in cells[:columns]:
                check(re.fullmatch(r"\d+\.\d+", cell) and float(cell) > 0,
                      f"{name}: {cell!r} is no ratio")


def main():
    build = Path(sys.argv[1]).resolve()
    skip_unless_built(build)
    done = bench(build, "--markdown", "--no-count", "events", "slowdown", "analysis")
    check(done.returncode == 0, f"status {done.returncode}")
    # A peer that is not installed is a note; everything of ours has to be measured.
    ours = [line for line in done.stdout.splitlines()
            if "NOT MEASURED" in line and "is not installed" not in line]
    check(not ours, ours)
    found = tables(done.stdout)
    peers = [title for title in found if "uftrace" in title]
    for title in peers:
        rows = found.pop(title)
        check(len(rows) >= 6 or "is not installed" in done.stdout, f"{title}: {sorted(rows)}")
    events, slowdown, speed, loops, threads, size = found.values()
    for name in ("fib", "methods", "floats"):
        check(name in events, f"no row {name!r} in {sorted(events)}")
        check([cells[0] for cells in events[name]] == ["on", "off"], f"{name}: JIT on and off")
        check(all(re.fullmatch(r"\d+\.\d+", cells[1]) for cells in events[name]), events[name])
        check(all(int(cells[-1]) > 0 for cells in events[name]), f"{name}: no events")
    check_ratios(slowdown, [*PROGRAMS, "W1 fib", "W4 json", "geometric mean"], 8)
    check(sum("nodes" in name for name in speed) >= 6, sorted(speed))
    multiplied = [cells for name in loops if name.isdigit() for cells in loops[name]]
    check(len(multiplied) == 5, sorted(loops))
    check(all(float(cells[1].replace(",", "")) > 0 for cells in multiplied), multiplied)
    check(len(threads) >= 8, sorted(threads))
    for name, rows in threads.items():
        for cells in rows if name != "input" else []:
            check(all(re.fullmatch(r"\d+\.\d+", cell) for cell in cells[:6]), f"{name}: {cells}")
    check_ratios(size, ["fib", "json", "pipeline", "all"], 1)

    done = bench(build, "--markdown", "--no-count", "idle")
    check(done.returncode == 0, f"status {done.returncode}")
    (idle,) = tables(done.stdout).values()
    check_ratios(idle, [*PROGRAMS, "geometric mean", "worst"], 2)


if __name__ == "__main__":
    main()

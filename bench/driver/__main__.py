# SPDX-License-Identifier: MIT
"""scripts/bench: measures ratios in one run and prints a table per section.
Start reading here: one module per section, `runner` runs programs, `table` prints."""
import argparse
import os
import shlex
import sys

import analysis
import comparison
import events
import idle
import nginx
import peers
import sample
import shares
import slowdown
from setup import ROOT, Missing, Setup, machine

SECTIONS = {"idle": [idle.section], "events": [events.section],
            "slowdown": [slowdown.section], "comparison": [comparison.section], "parquet": [analysis.rows],
            "shares": [shares.section], "nginx": [nginx.section],
            "sample": [sample.cost, sample.stacks, sample.nginx, sample.published],
            "analysis": [analysis.speed, analysis.loops, analysis.threads, peers.section, analysis.size]}


def parse(argv):
    p = argparse.ArgumentParser(prog="scripts/bench", description=__doc__.split("\n", 1)[0])
    p.add_argument("sections", nargs="*", metavar="section",
                   help=f"{', '.join(SECTIONS)} (default: all)")
    p.add_argument("--markdown", action="store_true", help="print markdown")
    p.add_argument("--build", default=ROOT / "build", help="build folder")
    p.add_argument("--flavour", help="LuaJIT flavour (default: the first)")
    p.add_argument("--patched", help="patched luajit to use instead of the build's")
    p.add_argument("--upstream", help="unpatched luajit to use instead of the build's")
    p.add_argument("--only", help="programs, comma-separated (default: all)")
    p.add_argument("--rounds", type=int,
                   help="rounds of interleaved runs (default 25 for idle, else 5)")
    p.add_argument("--seconds", type=float, help="length of one run (default 0.05)")
    p.add_argument("--events", type=int, help="events of synthetic traces "
                   "(default: LUATRACE_BENCH_EVENTS or 20000000)")
    p.add_argument("--jobs", type=int, help="parallel instruction counts (default: all cores)")
    p.add_argument("--no-count", action="store_true", help="no instruction counts")
    p.add_argument("--no-peers", action="store_true", help="slowdown: without the hook profilers")
    p.add_argument("--tiny", action="store_true", help="smallest sizes, to check that it works")
    p.add_argument("--trace-file", default="/dev/null", help="output of timed recordings")
    p.add_argument("--tmp", default="/dev/shm", help="folder for traces that are read afterwards")
    args = p.parse_args(argv)
    unknown = [s for s in args.sections if s not in SECTIONS]
    if unknown:
        p.error(f"unknown section {unknown[0]!r}; choose from {', '.join(SECTIONS)}")
    return defaults(args)


def defaults(args):
    if args.seconds is None:
        args.seconds = 0.0 if args.tiny else 0.05
    if args.events is None:
        many = 60_000 if args.tiny else 20_000_000
        args.events = int(os.environ.get("LUATRACE_BENCH_EVENTS", many))
    args.sections = args.sections or list(SECTIONS)
    return args


def main(argv):
    args = parse(argv)
    setup = Setup(args)
    command = shlex.join(["scripts/bench", *argv])
    print(f"`{command}`\n\n{machine()}\n" if args.markdown else f"{command}\n{machine()}\n")
    status = 0
    for name in args.sections:
        for section in SECTIONS[name]:
            try:
                table = section(setup)
                print(table.markdown() if args.markdown else table.text(), flush=True)
            except Missing as why:
                print(f"== {name}: NOT MEASURED: {why}", flush=True)
                status = 2
            print(flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

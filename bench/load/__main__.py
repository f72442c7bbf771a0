# SPDX-License-Identifier: MIT
"""scripts/load: attaches to an nginx under load and detaches, by each method; prints what that
costs and fails if any effect remains. Start reading here; `sections` defines the checks, `server`
and `recorders` carry them out."""
import argparse
import pathlib
import sys

from recorders import KINDS, check_usable
from sections import SECTIONS
from server import ROOT, Missing, Wrong


def parse(argv):
    p = argparse.ArgumentParser(prog="scripts/load", description=__doc__.split("\n", 1)[0])
    p.add_argument("sections", nargs="*", metavar="section", help=f"{', '.join(SECTIONS)} (default: all)")
    p.add_argument("--via", default=",".join(KINDS), help="methods, comma-separated (default: %(default)s)")
    p.add_argument("--cycles", type=int, help="attach/detach cycles (default: 1000; bpftrace 100)")
    p.add_argument("--kills", type=int, default=10, help="recorders to kill (default: %(default)s)")
    p.add_argument("--rounds", type=int, default=7, help="rounds of section speed (default: %(default)s)")
    p.add_argument("--window", type=float, default=2.0, help="seconds of one measurement (default: %(default)s)")
    p.add_argument("--minutes", type=float, default=30.0, help="length of section night (default: %(default)s)")
    p.add_argument("--settle", type=float, default=0.5, help="seconds before a measurement (default: %(default)s)")
    p.add_argument("--attached", type=float, default=0.05, help="seconds attached in one cycle (default: %(default)s)")
    p.add_argument("--checks", type=int, default=20, help="speed measurements in section cycles (default: %(default)s)")
    p.add_argument("--path", default="/page", help="requested path: /page or /render (default: %(default)s)")
    p.add_argument("--short", action="store_true", help="the form used by tests, which checks no figures")
    p.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="build folder")
    args = p.parse_args(argv)
    args.sections = args.sections or list(SECTIONS)
    for kind, known, given in (("section", SECTIONS, args.sections), ("method", KINDS, args.via.split(","))):
        unknown = [name for name in given if name not in known]
        if unknown:
            p.error(f"unknown {kind} {unknown[0]!r}; choose from {', '.join(known)}")
    args.build = args.build.resolve()
    args.strict = not args.short
    if args.short:
        args.cycles, args.kills, args.rounds, args.checks = args.cycles or 10, 2, 1, 2
        args.window, args.settle = 0.5, 0.2
    return args


def shown(value):
    return f"{value:.3f}" if isinstance(value, float) and value < 100 else f"{value:.0f}" if isinstance(value, float) else value


def main(argv):
    args = parse(argv)
    status = 0
    for via in args.via.split(","):
        for name in args.sections:
            try:
                check_usable(via, args.build)
                figures = SECTIONS[name](args, via)
                print(f"{via:9} {name:7}", ", ".join(f"{key} {shown(value)}" for key, value in figures.items()), flush=True)
            except Missing as why:
                print(f"{via:9} {name:7} NOT MEASURED: {why}", flush=True)
                status = max(status, 77)
            except Wrong as why:
                print(f"{via:9} {name:7} WRONG: {why}", flush=True)
                status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

# SPDX-License-Identifier: MIT
"""Records programs with luatrace-record and counts what was recorded."""
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from runner import Variant, run
from setup import Missing


def recorder(setup, times="events"):
    """Command prefix for timed recordings. times: of compiled code, as --times."""
    return (setup.product("luatrace-record"), "--times", times, "-o", setup.args.trace_file, "--")


@dataclass
class Recording:
    events: int
    lost: int
    bytes: int


def trace_of(setup, program, size, jit, repetitions, times="events", more=()):
    """Records into a temporary file and asks luatrace-analyze for its contents. The program
    waits rather than lose events, which are to be counted."""
    path = Path(setup.args.tmp) / f"luatrace-bench-{program.name}.bin"
    try:
        record = (setup.product("luatrace-record"), "--block", "--times", times, *more, "-o", path, "--")
        run(Variant(setup.luajit(""), jit, record), program, size, repetitions)
        command = [setup.product("luatrace-analyze"), "--json", path]
        out = subprocess.run(command, capture_output=True, text=True)
        if out.returncode:
            raise Missing(f"luatrace-analyze --json: {out.stderr[-500:]}")
        trust = json.loads(out.stdout)["trust"]
        return Recording(trust["events"], trust["lost"], path.stat().st_size)
    finally:
        path.unlink(missing_ok=True)


def events_per_repetition(setup, program, size, jit):
    """Events of one repetition, by difference, so that the start of the process does not count."""
    one, two = (trace_of(setup, program, size, jit, n) for n in (1, 2))
    return (two.events + two.lost) - (one.events + one.lost)

# SPDX-License-Identifier: MIT
"""nginx under wrk beside a recorder: requests/s while it records ÷ without it. The section nginx: what
recording costs in each mode of luatrace-record --times, and through bpf."""
import contextlib
import functools
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from setup import BENCH, Missing
from table import Table, quartile_spread

sys.path.append(str(BENCH / "load"))
import server as load  # noqa: E402

COLUMNS = ["requests/s", "±", "per processor time", "±"]
NOTE = "each recorded window is divided by the mean of the two beside it"
WAYS = {"events": ["--times", "events"], "auto": ["--times", "auto"], "segments": ["--times", "segments"],
        "bpf (events)": ["--via", "bpf", "--times", "events"], "bpf (auto)": ["--via", "bpf"]}


@contextlib.contextmanager
def running(setup):
    """nginx under wrk: (wrk, pid of the worker, a folder)."""
    with tempfile.TemporaryDirectory(prefix="luatrace-bench.") as scratch:
        try:
            target = load.Server(setup.build, pathlib.Path(scratch))
        except (load.Missing, load.Wrong) as why:
            raise Missing(str(why)) from why
        wrk = load.Load(target, "/page", 3600)
        try:
            yield wrk, target.pid, scratch
        finally:
            wrk.process.kill()
            wrk.process.wait()
            target.stop()


def ratios(setup, wrk, recorders):
    """recorders: by kind, what makes one that records until stop(). Cells of COLUMNS by kind."""
    window = 0.5 if setup.args.tiny else 4
    found = {kind: [] for kind in recorders}
    wrk.window(window)
    off = wrk.window(window)
    for _ in range(setup.rounds(9)):
        for kind, begin in recorders.items():
            recorder = begin()
            try:
                on = wrk.window(window)
                recorder.stop()
            finally:
                recorder.close()
            after = wrk.window(window)
            found[kind].append([2 * a / (b + c) for a, b, c in zip(on, off, after)])
            off = after
    return {kind: [cell for column in zip(*rows) for cell in
                   (f"{statistics.median(column):.3f}", f"{quartile_spread(list(column)):.3f}")]
            for kind, rows in found.items()}


class Recorder:
    """luatrace-record of a process, into /dev/null unless the arguments say otherwise."""

    def __init__(self, setup, pid, way):
        command = [str(setup.product("luatrace-record")), "-q", *WAYS[way], "-o", setup.args.trace_file, "-p", str(pid)]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=True)
        time.sleep(0.7)
        if self.process.poll() is not None:
            raise Missing(f"{way}: {self.process.stderr.read()}")

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        if self.process.wait(30):
            raise Missing(f"luatrace-record: {self.process.stderr.read()}")

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def section(setup):
    if os.geteuid() != 0:
        raise Missing("attaching needs root")
    table = Table("nginx under wrk: recorded ÷ unrecorded", "requests/s ≥ 0.97 with auto", ["times", *COLUMNS])
    with running(setup) as (wrk, pid, _):
        recorders = {way: functools.partial(Recorder, setup, pid, way) for way in WAYS}
        for way, cells in ratios(setup, wrk, recorders).items():
            table.add(way, *cells)
    table.notes.append(NOTE)
    return table

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A large trace on a small machine: makes a trace with luatrace-synth, analyzes it within a
memory limit, and prints how long that took and how much memory it needed. The trace is removed
afterwards.

    bench/big_trace.py                        # 20 GB with 2 GB of memory: takes minutes, and disk space
    bench/big_trace.py --size 200M --limit 300M --nodes 20000

The limit is that of a memory control group of its own (version 2 or 1; needs root), in which the
page cache counts, too. Without permission for that it is RLIMIT_AS, which counts addresses: half
a GB is added for what threads only reserve. Exit status 1 if the analysis fails or its sums are
not those of the trace, 2 if there is not enough disk space."""
import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESERVED = 512 << 20  # Addresses of stacks and heaps of threads.
UNITS = {"K": 10**3, "M": 10**6, "G": 10**9}


def amount(text):
    """'20G' -> bytes."""
    unit = UNITS.get(text[-1:].upper())
    return int(float(text[:-1]) * unit) if unit else int(text)


class Group:
    """A memory control group: version 2, or 1."""

    def __init__(self, limit):
        base = Path("/sys/fs/cgroup")
        version2 = (base / "cgroup.controllers").exists()
        self.path = (base if version2 else base / "memory") / f"luatrace-big-{os.getpid()}"
        self.path.mkdir()
        try:
            if version2:
                self.write("memory.max", limit)
                self.write("memory.swap.max", 0, may_miss=True)
            else:
                self.write("memory.limit_in_bytes", limit)
                self.write("memory.memsw.limit_in_bytes", limit, may_miss=True)
        except OSError:
            self.path.rmdir()
            raise
        self.peak_file = "memory.peak" if version2 else "memory.max_usage_in_bytes"

    def write(self, name, value, may_miss=False):
        if may_miss and not (self.path / name).exists():
            return
        (self.path / name).write_text(str(value))

    def enter(self):
        self.write("cgroup.procs", os.getpid())

    def peak(self):
        file = self.path / self.peak_file
        return int(file.read_text()) if file.exists() else None

    def close(self):
        for _ in range(50):  # An ended process may still be listed for a moment.
            try:
                return self.path.rmdir()
            except OSError:
                time.sleep(0.1)
        return None


def limited(command, limit):
    """Runs the command within the limit. Returns (status, seconds, peak resident set in bytes,
    peak memory of the group in bytes or None, kind of limit)."""
    try:
        group, how = Group(limit), "control group"
        enter = group.enter
    except OSError:
        group, how = None, "RLIMIT_AS"

        def enter():
            resource.setrlimit(resource.RLIMIT_AS, (limit + RESERVED, limit + RESERVED))
    start = time.monotonic()
    try:
        child = subprocess.Popen(command, preexec_fn=enter)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - start
        peak = group.peak() if group else None
    finally:
        if group:
            group.close()
    return child.returncode, seconds, usage.ru_maxrss * 1024, peak, how


def check(report, events):
    trace, trust = report["trace"], report["trust"]
    sums = trace["self_ns"] + trace["idle_ns"] + trace["gap_ns"] + trace["filtered_ns"]
    assert sums == trace["traced_ns"], f"sums: {sums} is not {trace['traced_ns']}"
    assert trust["anomalies"] == 0, trust
    assert abs(trust["events"] - events) < 10000, (trust["events"], events)
    calls = sum(f["calls"] for f in report["functions"])
    assert 2 * calls <= trust["events"] <= 2 * calls + 10000, "calls are missing"
    pruned = [f for f in report["functions"] if f["kind"] == "pruned"]
    return sum(f["self_ns"] for f in pruned) / max(1, trace["traced_ns"])


def parse(argv):
    p = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    p.add_argument("--size", type=amount, default=amount("20G"), help="size of the trace (default 20G)")
    p.add_argument("--limit", type=amount, default=amount("2G"), help="memory limit (default 2G)")
    p.add_argument("--nodes", type=int, default=1_000_000, help="nodes of the call tree (default 1000000)")
    p.add_argument("--streams", type=int, default=2, help="Lua VMs (default 2)")
    p.add_argument("--dir", type=Path, default=Path("/var/tmp"), help="folder for the trace")
    p.add_argument("--build", type=Path, default=ROOT / "build", help="build folder")
    p.add_argument("options", nargs="*", help="options of luatrace-analyze, after --")
    return p.parse_args(argv)


def main(argv):
    args = parse(argv)
    free = shutil.disk_usage(args.dir).free
    if free < args.size * 1.05 + 10**9:
        print(f"big_trace: {args.dir} has {free / 1e9:.1f} GB free, which is not enough", file=sys.stderr)
        return 2
    trace = args.dir / f"luatrace-big-{os.getpid()}.bin"
    result = trace.with_suffix(".json")
    events = args.size // 8
    try:
        subprocess.run([args.build / "bin/luatrace-synth", "--events", str(events), "--nodes",
                        str(args.nodes), "--streams", str(args.streams), "-o", trace], check=True)
        size = trace.stat().st_size
        status, seconds, rss, peak, how = limited(
            [args.build / "bin/luatrace-analyze", "--progress", f"--json={result}", *args.options,
             trace], args.limit)
        if status:
            print(f"big_trace: luatrace-analyze ended with status {status}", file=sys.stderr)
            return 1
        report = json.loads(result.read_text())
        pruned = check(report, events)
    finally:
        trace.unlink(missing_ok=True)
        result.unlink(missing_ok=True)
    group = f", with the page cache {peak / 1e6:.0f} MB" if peak else ""
    print(f"trace {size / 1e9:.2f} GB, {report['trust']['events']:,} events, {args.streams} "
          f"streams, {report['trace']['nodes']:,} nodes ({100 * pruned:.1f} % of the time pruned): "
          f"{seconds:.1f} s, {size / seconds / 1e6:.0f} MB/s, "
          f"{report['trust']['events'] / seconds / 1e6:.1f} M events/s; limit "
          f"{args.limit / 1e6:.0f} MB ({how}), peak resident set {rss / 1e6:.0f} MB{group}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

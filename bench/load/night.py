# SPDX-License-Identifier: MIT
"""Section `night` of scripts/load: a flight recorder at an nginx under light load, for half an hour
(--minutes); near the end one slow request. Its memory, and the disk, must be flat, and the
snapshot must have that request with its tree."""
import json
import pathlib
import re
import subprocess
import tempfile
import time
import urllib.request

from recorders import Bpf, Direct
from server import Missing, Server, Wrong, wait_until

WINDOW = 4 << 20  # bytes
LIMIT_MS = 100
SPINS = 400_000_000


def flight_of(kind, window):
    class Flight(kind):
        def command(self, build, pid, output):
            return super().command(build, pid, output) + ["--flight", str(window), "--slow", f"*spin={LIMIT_MS}ms"]
    return Flight


def resident(pid):
    """Without the rings, which are shared memory that is touched little by little."""
    return int(re.search(r"RssAnon:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1])


def get(server, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}{path}", timeout=60) as answer:
        return answer.read()


def light_load(server, recorder, seconds):
    """Pages, twenty a second; returns the recorder's own memory in KB in each tenth of the time."""
    memory, begin, requests = [], time.monotonic(), 0
    while (passed := time.monotonic() - begin) < seconds:
        get(server, f"/page?n={requests}")
        requests += 1
        time.sleep(0.05)
        if len(memory) < int(10 * passed / seconds):
            memory.append(resident(recorder.process.pid))
    return memory, requests


def check_tree(args, name):
    """The slow call has what called it, up to the request's main chunk."""
    out = subprocess.run([args.build / "bin/luatrace-analyze", "--json", "--callers", "*spin", name], check=True, capture_output=True).stdout
    callers = [row["name"] for row in json.loads(out)["callers"]]
    if not any(caller.startswith("content_by_lua") for caller in callers):
        raise Wrong(f"the slow call has no tree: {callers}")


def check_snapshot(args, name):
    out = subprocess.run([args.build / "bin/luatrace-analyze", "--json", name], check=True, capture_output=True).stdout
    report = json.loads(out)
    check_tree(args, name)
    spins = [f for f in report["functions"] if f["name"].endswith("spin") and f["kind"] == "lua"]
    if len(spins) != 1 or spins[0]["calls"] != 1 or spins[0]["max_ns"] < LIMIT_MS * 1e6:
        raise Wrong(f"the slow request is not in the snapshot: {spins}")
    bad = {key: report["trust"][key] for key in ("unbalanced", "truncated", "bad_records", "undescribed")}
    if any(bad.values()):
        raise Wrong(f"the snapshot is not sound: {bad}")
    return spins[0]["max_ns"] / 1e6


def night(args, via):
    kinds = {"direct": Direct, "bpf": Bpf}
    if via not in kinds:
        raise Missing("a flight recorder is luatrace-record's")
    seconds = 15 if args.short else args.minutes * 60
    with tempfile.TemporaryDirectory(prefix="luatrace-night.") as scratch:
        scratch = pathlib.Path(scratch)
        server = Server(args.build, scratch)
        name = scratch / "night.bin"
        try:
            recorder = flight_of(kinds[via], WINDOW if not args.short else WINDOW // 8)(args.build, server, name)
            try:
                recorder.wait_attached()
                memory, requests = light_load(server, recorder, seconds)
                if name.exists():
                    raise Wrong("a snapshot was written before anything was slow")
                growth = memory[-1] - memory[len(memory) // 2]
                if growth > 2000:
                    raise Wrong(f"the recorder's memory has grown: {memory} KB")
                get(server, f"/spin?n={SPINS}")
                wait_until(lambda: "spin took" in recorder.messages(), "the snapshot", 30)
                slow_ms = check_snapshot(args, name)
                recorder.stop()
            finally:
                recorder.close()
        finally:
            server.stop()
        disk = sum(f.stat().st_size for f in scratch.glob("night.bin*"))
        if disk > 3 * WINDOW:
            raise Wrong(f"{disk} bytes of snapshots")
        return {"minutes": seconds / 60, "requests": requests, "recorder's memory in KB": memory[-1],
                "growth in the second half": growth, "disk in KB": disk // 1000, "slow request in ms": slow_ms}

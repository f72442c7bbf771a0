# SPDX-License-Identifier: MIT
"""The target: Debian's nginx with the application of tests/nginx, and wrk. Nothing is installed:
the packages are unpacked below the build folder and nginx gets our library by LD_LIBRARY_PATH.
Every process that is started is ended by its process id."""
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
NGINX_TESTS = ROOT / "tests/nginx"


class Missing(Exception):
    """Something that this machine lacks."""


class Wrong(Exception):
    """A failed check."""


def wait_until(condition, what, seconds=10.0):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise Wrong(f"waited {seconds:g} s for {what}")
        time.sleep(0.01)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """An nginx with `workers` workers. `pid` is the first worker's."""

    def __init__(self, build, scratch, workers=1):
        for program in ("wrk", "apt-get", "nm"):
            if not shutil.which(program):
                raise Missing(f"{program} is not installed (scripts/deps --test)")
        if not (build / "lib/libluajit-5.1.so.2").exists():
            raise Missing(f"{build}/lib/libluajit-5.1.so.2 is not built (scripts/build)")
        root = build / "nginx/root"
        try:
            subprocess.run([NGINX_TESTS / "unpack", root], check=True, timeout=300)
        except subprocess.CalledProcessError as failure:
            raise Missing("Debian's nginx cannot be downloaded") from failure
        self.port = free_port()
        self.scratch = scratch
        self.log = open(scratch / "nginx.log", "w+")
        conf = subprocess.run([NGINX_TESTS / "configure", "--port", str(self.port), "--run", scratch, "--app",
                               NGINX_TESTS / "app", "--root", root, "--workers", str(workers)],
                              check=True, capture_output=True, text=True).stdout
        # Workers run as their master's user: they must be able to read the scratch folder.
        (scratch / "nginx.conf").write_text(("user root;\n" if os.getuid() == 0 else "") + conf)
        libraries = [build / "lib", root / "usr/lib/x86_64-linux-gnu", root / "lib/x86_64-linux-gnu"]
        self.process = subprocess.Popen(
            [root / "usr/sbin/nginx", "-p", scratch, "-c", scratch / "nginx.conf", "-e", "stderr",
             "-g", "daemon off;"], stderr=self.log, stdin=subprocess.DEVNULL,
            env={**os.environ, "LD_LIBRARY_PATH": ":".join(map(str, libraries))})
        try:
            wait_until(self.answers, "nginx")
        except Wrong:
            self.stop()
            raise Wrong("nginx does not start: " + (scratch / "nginx.log").read_text()[-500:])
        self.pid = self.workers()[0]
        try:
            out = subprocess.run([NGINX_TESTS / "switches", "--address", str(self.pid)], check=True, capture_output=True)
        except subprocess.CalledProcessError as failure:
            self.stop()
            raise Wrong(failure.stderr.decode())
        self.address = int(out.stdout)

    def answers(self):
        try:
            return self.stats() is not None
        except OSError:
            return False

    def stats(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/stats", timeout=5) as answer:
            return json.load(answer)

    def workers(self):
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(pid) for pid in children.split()]

    def cpu_seconds(self):
        """Processor time that the worker has used."""
        return int(pathlib.Path(f"/proc/{self.pid}/schedstat").read_text().split()[0]) / 1e9

    def memory(self):
        """The worker's resident memory in KB, its mappings, its open files."""
        status = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        resident = int(re.search(r"VmRSS:\s+(\d+)", status)[1])
        maps = pathlib.Path(f"/proc/{self.pid}/maps").read_text().count("\n")
        return resident, maps, len(os.listdir(f"/proc/{self.pid}/fd"))

    def switches(self):
        """(tracers of the probes, direct recorder)"""
        with open(f"/proc/{self.pid}/mem", "rb", 0) as memory:
            events, ring, _, blocks, segments = struct.unpack("<HBBHB", os.pread(memory.fileno(), 7, self.address))
        return events + blocks + segments, ring

    def problems(self):
        """Lines of nginx's log that report a problem."""
        lines = (self.scratch / "nginx.log").read_text().splitlines()
        return [line for line in lines if re.search(r"\[(error|crit|alert|emerg)\]", line)]

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()


class Load:
    """wrk, which checks every answer; it ends by itself after `seconds`, or by stop()."""

    def __init__(self, server, path, seconds, connections=8):
        self.server = server
        self.process = subprocess.Popen(
            ["wrk", "-t1", f"-c{connections}", f"-d{seconds}", "-s", NGINX_TESTS / "check.lua",
             f"http://127.0.0.1:{server.port}/", "--", path],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        time.sleep(0.3)

    def snapshot(self):
        """(clock, processor time of the worker, requests) now."""
        if self.process.poll() is not None:
            raise Wrong("wrk ended early: " + self.process.stdout.read()[-500:])
        return time.monotonic(), self.server.cpu_seconds(), self.server.stats()["requests"]

    def since(self, before):
        """(requests per second, requests per second of the worker's processor time) since
        `before`, which on a busy machine can be longer ago than intended."""
        while True:
            clock, cpu, requests = (b - a for a, b in zip(before, self.snapshot()))
            if requests > 0 and cpu > 0:
                return requests / clock, requests / cpu
            if clock > 30:
                raise Wrong("no request was answered in 30 seconds")
            time.sleep(0.1)

    def window(self, seconds):
        before = self.snapshot()
        time.sleep(seconds)
        return self.since(before)

    def stop(self):
        """(requests, failed, errors) since its start."""
        self.process.send_signal(signal.SIGINT)
        out = self.process.communicate(timeout=30)[0]
        line = re.search(r"requests=(\d+) failed=(\d+) errors=(\d+)", out)
        if not line:
            raise Wrong("wrk: " + out[-500:])
        return tuple(int(n) for n in line.groups())

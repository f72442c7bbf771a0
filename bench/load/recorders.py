# SPDX-License-Identifier: MIT
"""The three methods of tracing a running process. Each recorder is started for a process id,
counts as attached when the target's switches show it, and ends on SIGINT."""
import os
import re
import shutil
import signal
import subprocess

from server import ROOT, Missing, Wrong, wait_until


class Recorder:
    """One recording. `output` is a file name; a kept one is read by events()."""
    seconds_to_attach = 60.0
    logs_first_event = True

    def __init__(self, build, server, output):
        self.server, self.output = server, output
        self.before = server.switches()
        self.errors = open(server.scratch / f"{self.via}.err", "w+")
        self.process = subprocess.Popen(self.command(build, server.pid, output), stdin=subprocess.DEVNULL,
                                        stdout=self.errors, stderr=subprocess.STDOUT)

    def messages(self):
        self.errors.seek(0)
        return self.errors.read()[-2000:]

    def wait_attached(self):
        def attached():
            if self.process.poll() is not None:
                raise Wrong(f"{self.via}: ended with status {self.process.returncode}: {self.messages()}")
            return self.is_attached(self.server.switches())
        wait_until(attached, f"{self.via} to attach", self.seconds_to_attach)
        # A worker that gets no processor cannot answer.
        if self.logs_first_event:
            wait_until(lambda: "first event" in self.messages() or attached() is None, f"{self.via}: the first event", 60)

    def is_attached(self, switches):
        return switches[0] > self.before[0]

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.wait()

    def wait(self):
        try:
            self.process.wait(90)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Wrong(f"{self.via}: does not end within 90 s of SIGINT: {self.messages()}")
        if self.process.returncode not in (0, -signal.SIGINT):
            raise Wrong(f"{self.via}: status {self.process.returncode}: {self.messages()}")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        if self.process.poll() is None:
            self.kill()
        self.errors.close()

    def events(self):
        """What the recorder reported as recorded."""
        found = re.search(r"([\d,]+) events", self.messages())
        return int(found[1].replace(",", "")) if found else 0


class Direct(Recorder):
    via = "direct"

    def command(self, build, pid, output):
        return [build / "bin/luatrace-record", "--via", self.via, "-p", str(pid), "-o", output]

    def is_attached(self, switches):
        return switches[1] != 0


class Bpf(Direct):
    via = "bpf"
    is_attached = Recorder.is_attached


class Bpftrace(Recorder):
    via = "bpftrace"
    logs_first_event = False

    def command(self, build, pid, output):
        script = ROOT / "probes/lua-calls.bt"
        if not script.exists():
            raise Missing("probes/lua-calls.bt is not there")
        return ["bpftrace", "-p", str(pid), "-o", output, script]

    def events(self):
        """One or more lines per event; shows at least that there are some."""
        return os.stat(self.output).st_size if os.path.isfile(self.output) else 1


KINDS = {kind.via: kind for kind in (Direct, Bpf, Bpftrace)}


def check_usable(via, build):
    """Raises Missing with the reason if this machine cannot record that way."""
    if via == "bpftrace" and not shutil.which("bpftrace"):
        raise Missing("bpftrace is not installed (apt-get install bpftrace)")
    if via != "direct" and os.getuid() != 0:
        raise Missing("kernel probes need root")
    if via != "bpftrace":
        recorder = build / "bin/luatrace-record"
        if not recorder.exists():
            raise Missing(f"{recorder} is not built (scripts/build)")

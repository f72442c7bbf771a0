# SPDX-License-Identifier: MIT
"""The checks of scripts/load. Each section takes (args, via), starts a server of its own and
returns a dictionary of figures; a failed check raises Wrong. Speeds are given twice: requests per
second, which is what users notice and which is affected by wrk and the recorder using the same
processors, and requests per second of the worker's own processor time, which other load on the
machine hardly affects."""
import contextlib
import pathlib
import statistics
import tempfile
import time

from night import night
from recorders import KINDS
from server import Load, Server, Wrong, wait_until


@contextlib.contextmanager
def target(args, seconds):
    """A server under load; what wrk saw is checked at the end."""
    with tempfile.TemporaryDirectory(prefix="luatrace-load.") as scratch:
        server = Server(args.build, pathlib.Path(scratch))
        load = Load(server, args.path, seconds)
        try:
            yield server, load
            requests, failed, errors = load.stop()
            if failed or errors:
                raise Wrong(f"{failed} of {requests} requests failed, {errors} connections broke")
            if server.problems():
                raise Wrong("nginx's log: " + server.problems()[0])
        finally:
            if load.process.poll() is None:
                load.process.kill()
                load.process.wait()
            server.stop()


@contextlib.contextmanager
def recording(args, via, server, output="/dev/null"):
    recorder = KINDS[via](args.build, server, output)
    try:
        recorder.wait_attached()
        yield recorder
    finally:
        recorder.close()


def wait_off(server, what):
    wait_until(lambda: server.switches() == (0, 0), f"the switches to be 0 after {what}", 60)


def speed(args, via):
    """Traced ÷ untraced: rounds of off, on, off; each `on` is divided by the mean of its neighbours."""
    wall, cpu, after = [], [], []
    with target(args, 3600) as (server, load):
        load.window(args.window)  # warm up: everything is compiled
        off = load.window(args.window)
        for _ in range(args.rounds):
            with recording(args, via, server) as recorder:
                load.window(args.settle)
                on = load.window(args.window)
                recorder.stop()
            wait_off(server, via)
            load.window(args.settle)
            next_off = load.window(args.window)
            wall.append(2 * on[0] / (off[0] + next_off[0]))
            cpu.append(2 * on[1] / (off[1] + next_off[1]))
            after.append(next_off[1] / off[1])
            off = next_off
    return {"requests/s traced/untraced": statistics.median(wall),
            "per processor time": statistics.median(cpu),
            "after/before": statistics.median(after), "untraced requests/s": off[0]}


class MemoryGrowth:
    """The worker's memory: compared between the first tenth and the last of the cycles."""

    def __init__(self, server, cycles):
        self.server, self.warm, self.first = server, max(cycles // 10, 3), []
        self.last = []

    def sample(self, cycle):
        (self.first if cycle < self.warm else self.last).append(self.server.memory())
        del self.last[:-self.warm]

    def growth(self):
        """(KB, mappings, open files) by which the median of the last cycles exceeds that of the first."""
        def middle(rows):
            return [statistics.median(column) for column in zip(*rows)]
        return [b - a for a, b in zip(middle(self.first), middle(self.last or self.first))]


def one_cycle(args, via, server):
    with recording(args, via, server) as recorder:
        time.sleep(args.attached)
        recorder.stop()
        events = recorder.events()
    wait_off(server, "a detach")
    return events


class Control:
    """A second server, which is never traced. The speed of the first one is taken as its ratio
    to this one's in the same seconds, so that neither other load nor a hotter machine affects
    it."""

    def __init__(self, args, load, scratch):
        self.args, self.load = args, load
        self.server = Server(args.build, pathlib.Path(scratch))
        self.first = None

    def ratio(self):
        control = Load(self.server, self.args.path, 3600)
        try:
            control.window(self.args.settle)
            before = self.load.snapshot(), control.snapshot()
            time.sleep(self.args.window)
            ratio = self.load.since(before[0])[1] / control.since(before[1])[1]
            control.stop()
        finally:
            control.process.kill()
            control.process.wait()
        return ratio

    def compare(self):
        """Speed now ÷ speed at the first call."""
        if self.first is None:
            self.ratio()  # warm up: everything is compiled
            self.first = statistics.median(self.ratio() for _ in range(5 if self.args.strict else 1))
        return self.ratio() / self.first


def cycles(args, via):
    """Attach, record a moment, detach; again and again; between batches, check that it is as fast as before."""
    count = args.cycles or (100 if via == "bpftrace" else 1000)
    ratios, empty = [], 0
    with tempfile.TemporaryDirectory(prefix="luatrace-control.") as scratch, target(args, 7200) as (server, load):
        control = Control(args, load, scratch)
        try:
            control.compare()
            memory = MemoryGrowth(server, count)
            batch = max(count // args.checks, 1)
            for cycle in range(count):
                empty += one_cycle(args, via, server) == 0
                memory.sample(cycle)
                if cycle % batch == batch - 1:
                    ratios.append(control.compare())
        finally:
            control.server.stop()
    return check_cycles(args, count, ratios, empty, memory.growth())


def check_cycles(args, count, ratios, empty, growth):
    if growth[0] > 2048 or growth[1] > 8 or growth[2] > 2:
        raise Wrong("the worker grew by %d KB, %d mappings, %d open files" % tuple(growth))
    if empty:
        raise Wrong(f"{empty} of {count} recordings were empty")
    if args.strict and statistics.median(ratios) < 0.97:
        raise Wrong(f"after {count} detaches the speed is {statistics.median(ratios):.3f} of that before")
    return {"cycles": count, "after/before": statistics.median(ratios), "worst": min(ratios),
            "grown KB": growth[0], "mappings": growth[1], "files": growth[2]}


def killed(args, via):
    """The recorder dies: the target must notice, and the next recording must work."""
    count = args.kills
    with target(args, 3600) as (server, load):
        load.window(args.window)
        before = load.window(args.window)[1]
        for _ in range(count):
            with recording(args, via, server) as recorder:
                time.sleep(args.attached)
                recorder.kill()
            start = time.monotonic()
            wait_until(lambda: server.switches() == (0, 0), f"{via}: the switches to be 0 after kill -9", 60)
            noticed = time.monotonic() - start
            if one_cycle(args, via, server) == 0:
                raise Wrong(f"{via}: nothing is recorded after a recorder was killed")
        load.window(args.settle)
        after = load.window(args.window)[1] / before
    return {"kills": count, "noticed after s": noticed, "after/before": after}


def two(args, via):
    """Two recorders at once: both record, or the second is refused with a message; then everything is off."""
    with target(args, 3600) as (server, load):
        load.window(args.window)
        with recording(args, via, server) as first:
            second = KINDS[via](args.build, server, "/dev/null")
            try:
                time.sleep(1 + args.attached)
                refused = second.process.poll() not in (None, 0)
                if refused and not second.messages():
                    raise Wrong("the second recorder is refused without a message")
                if not refused:
                    second.stop()
                result = "refused" if refused else "both record"
                if not first.is_attached(server.switches()):
                    raise Wrong("the end of the second recorder ended the first")
            finally:
                second.close()
            first.stop()
            if not first.events():
                raise Wrong("the first of two recorders recorded nothing")
        wait_off(server, "two recorders")
        one_cycle(args, via, server)
    return {"two at once": result}


SECTIONS = {"speed": speed, "cycles": cycles, "killed": killed, "two": two, "night": night}

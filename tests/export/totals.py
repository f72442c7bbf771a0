# SPDX-License-Identifier: MIT
"""totals.py LUATRACE_ANALYZE TRACE SLACK: every format has the same self times, whatever the filter.

SLACK: ns by which the sum over a function may differ for each of its calls (formats that contain single
calls round each of them): 0 for traces whose clock counts nanoseconds, else 1.
"""
import csv
import io
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter

import readers

FILTERS = [[], ["-D", "2"], ["-H", "/^(work|any|equal) /"], ["-N", "/^(inner|checksum) /"],
           ["-F", "/^(work|round) /"], ["-C", "/^(inner|quote) /"],
           ["-r", "20%~70%"], ["-r", "30%~80%"], ["--kind", "lua"]]
# Of a long trace: those in which calls are decided on late, or cut.
FILTERS_LONG = [[], ["-D", "2"], ["-t", "25"], ["-C", "/^(inner|quote) /"], ["-r", "30%~80%"]]


def by_csv_name(sums, labels):
    """With the names that csv has, where those of several functions may be equal."""
    named = Counter()
    for name, ns in sums.items():
        bare = re.sub(r" #\d+$", "", name)
        named[labels.get(bare, bare)] += ns
    return named


def compare(what, got, wanted, slack):
    for name in got.keys() | wanted.keys():
        difference = abs(got[name] - wanted[name])
        assert difference <= slack(name), f"{what}: {name}: {got[name]} ns, csv says {wanted[name]} ns"


class Trace:
    def __init__(self, analyze, path, slack, directory):
        self.analyze, self.path, self.slack, self.directory = analyze, path, slack, directory
        self.nodes = len(self.run("--format", "folded", "-o", "-").splitlines()) + 10

    def run(self, *arguments):
        run = subprocess.run([self.analyze, "-q", *arguments, self.path], capture_output=True)
        assert run.returncode == 0, f"{arguments}: {run.stderr.decode()}"
        return run.stdout

    def export(self, form, filters, binary=False):
        path = f"{self.directory}/out.{form}"
        self.run("--format", form, "--force", "-o", path, *filters)
        with open(path, "rb") as file:
            data = file.read()
        return data if binary else data.decode()

    def check(self, filters, all_formats=True, calls_too=True):
        """Each format against the csv; returns the sum. Not all_formats: only those that are read
        without another program. Not calls_too: only those that are made from the report."""
        text = self.export("csv", filters)
        wanted = readers.totals(text)
        names = readers.labels(text)
        calls, places = Counter(), Counter()
        for row in csv.DictReader(io.StringIO(text)):
            calls[row["function"]] += int(row["calls"]) + 2
            places[readers.plain(row["file"]) or "?", row["line"]] += int(row["calls"])
        all_calls = sum(calls.values())

        def exact(_):
            return 0

        # Time of a coroutine, thread or Lua VM without a call is in no call.
        groups = [row["function"] for row in csv.DictReader(io.StringIO(text)) if row["kind"] == "group"]
        roots = {name for name in groups if name.split()[0] in ("coroutine", "[coroutines]", "thread", "Lua")}
        of_calls = Counter({name: ns for name, ns in wanted.items() if name not in roots})

        # Each slice is rounded, and those of its callees are taken away from it.
        def by_call(_):
            return self.slack * 2 * all_calls

        # Self times are exact for each function of the file; the report rounds in each place of the tree.
        def by_place(_):
            return self.slack * self.nodes

        compare(f"folded {filters}", readers.folded(self.export("folded", filters), names),
                wanted, exact)
        for form in ("speedscope", "luaprofile"):
            got = getattr(readers, form)(self.export(form, filters))
            compare(f"{form} {filters}", by_csv_name(got, names), wanted, exact)
        assert +readers.xmake(self.export("xmake", filters)) == +places, f"xmake {filters}"
        for form in ("chrome", "luaprofiler") if calls_too else ():
            got = getattr(readers, form)(self.export(form, filters))
            compare(f"{form} {filters}", by_csv_name(got, names), of_calls,
                    by_call if form == "chrome" else by_place)
        if all_formats:
            self.check_foreign(filters, wanted, exact, names)
        if all_formats and calls_too:
            got = readers.perfetto(self.export("perfetto", filters, True))
            compare(f"perfetto {filters}", by_csv_name(got, names), of_calls, by_call)
        return sum(wanted.values())

    def lost(self):
        return json.loads(self.run("--json"))["trust"]["lost"]

    def check_foreign(self, filters, wanted, exact, names):
        got = readers.pprof(self.export("pprof", filters, True))
        compare(f"pprof {filters}", by_csv_name(got, names), wanted, exact)
        stacks = self.export("folded", filters)
        if stacks:
            total, boxes = readers.flamegraph(stacks)
            assert total == sum(wanted.values()), f"flamegraph.pl {filters}: {total}, {sum(wanted.values())}"
            chains = {";".join(way[:n]) for way in (line.rsplit(" ", 1)[0].split(";") for line in stacks.splitlines())
                      for n in range(1, len(way) + 1)}
            assert boxes == len(chains) + 1, f"flamegraph.pl {filters}: {boxes} boxes, {len(chains)} call paths"
        self.export("callgrind", filters)
        total = readers.callgrind(f"{self.directory}/out.callgrind")
        assert total == sum(wanted.values()), f"callgrind {filters}: {total}, {sum(wanted.values())}"

    def check_json(self, filters, self_ns):
        """The trace's own sums, and those of its views."""
        data = json.loads(self.run("--json", "--report", "--tree", "--limit", "0", *filters))
        trace = data["trace"]
        parts = [trace[part] for part in ("self_ns", "idle_ns", "gap_ns", "filtered_ns")]
        assert sum(parts) == trace["traced_ns"], f"{filters}: {parts} is not {trace['traced_ns']}"
        assert trace["self_ns"] == self_ns, f"{filters}: json {trace['self_ns']}, csv {self_ns}"
        for what in ("functions", "report", "tree"):
            got = sum(row["self_ns"] for row in data[what])
            assert got == self_ns, f"{filters}: {what} has {got} ns, the trace {self_ns}"


def main():
    analyze, path, slack = sys.argv[1], sys.argv[2], int(sys.argv[3])
    with tempfile.TemporaryDirectory() as directory:
        trace = Trace(analyze, path, slack, directory)
        for filters in FILTERS_LONG if slack else FILTERS:
            total = trace.check(filters)
            assert total, f"{filters}: nothing is left"
            print(f"{' '.join(filters) or 'no filter'}: {total} ns")


if __name__ == "__main__":
    main()

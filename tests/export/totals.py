# SPDX-License-Identifier: MIT
"""totals.py LUATRACE_ANALYZE TRACE SLACK: every format has the same self times, whatever the filter.

SLACK: ns by which the sum over a function may differ for each of its calls (formats that tell single
calls round each of them): 0 for traces whose clock counts nanoseconds, else 1.
"""
import csv
import io
import subprocess
import sys
import tempfile
from collections import Counter

import readers

ANALYZE, TRACE, SLACK = sys.argv[1], sys.argv[2], int(sys.argv[3])
FILTERS = [[], ["-D", "2"], ["-H", "/^(work|any|equal) /"], ["-N", "/^(inner|checksum) /"],
           ["-F", "/^(work|round) /"], ["-C", "/^(inner|quote) /"],
           ["-r", "20%~70%"], ["-r", "30%~80%"], ["--kind", "lua"]]


# Of a long trace: those in which calls are decided on late, or cut.
if SLACK:
    FILTERS = [[], ["-D", "2"], ["-t", "25"], ["-C", "/^(inner|quote) /"], ["-r", "30%~80%"]]


def export(form, filters, directory, binary=False):
    path = f"{directory}/out.{form}"
    run = subprocess.run([ANALYZE, "-q", "--format", form, "-o", path, *filters, TRACE],
                         capture_output=True, text=True)
    assert run.returncode == 0, f"{form} {filters}: {run.stderr}"
    with open(path, "rb") as file:
        data = file.read()
    return data if binary else data.decode()


def compare(what, got, wanted, slack):
    for name in got.keys() | wanted.keys():
        difference = abs(got[name] - wanted[name])
        assert difference <= slack(name), f"{what}: {name}: {got[name]} ns, csv says {wanted[name]} ns"


def check(filters, directory):
    text = export("csv", filters, directory)
    wanted = readers.totals(text)
    assert wanted, f"{filters}: nothing is left"
    calls = Counter()
    places = Counter()
    for row in csv.DictReader(io.StringIO(text)):
        calls[row["function"]] += int(row["calls"]) + 2
        places[readers.plain(row["file"]) or "?", row["line"]] += int(row["calls"])
    all_calls = sum(calls.values())

    def exact(_):
        return 0

    # Each slice is rounded, and those of its callees are taken away from it.
    def by_call(_):
        return SLACK * 2 * all_calls

    compare(f"folded {filters}", readers.folded(export("folded", filters, directory), readers.labels(text)),
            wanted, exact)
    for form in ("speedscope", "luaprofile"):
        compare(f"{form} {filters}", getattr(readers, form)(export(form, filters, directory)), wanted, exact)
    compare(f"pprof {filters}", readers.pprof(export("pprof", filters, directory, True)), wanted, exact)
    export("callgrind", filters, directory)
    total = readers.callgrind(f"{directory}/out.callgrind")
    assert total == sum(wanted.values()), f"callgrind {filters}: {total}, {sum(wanted.values())}"
    assert +readers.xmake(export("xmake", filters, directory)) == +places, f"xmake {filters}"
    for form in ("chrome", "luaprofiler"):
        compare(f"{form} {filters}", getattr(readers, form)(export(form, filters, directory)), wanted, by_call)
    compare(f"perfetto {filters}", readers.perfetto(export("perfetto", filters, directory, True)), wanted, by_call)
    print(f"{' '.join(filters) or 'no filter'}: {sum(wanted.values())} ns in {len(wanted)} functions")


def main():
    with tempfile.TemporaryDirectory() as directory:
        for filters in FILTERS:
            check(filters, directory)


main()

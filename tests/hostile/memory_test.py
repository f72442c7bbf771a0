# SPDX-License-Identifier: MIT
"""memory_test.py ANALYZE HOSTILE_TRACES [-v]: luatrace-analyze uses up to 100 MB plus 20 times its
input.

linear_test.py shows how memory grows, with small traces. Here the most demanding traces of
hostile-traces are so large that tables of a fixed size do not matter, and the test checks the
process's peak memory, as the system accounts it.
"""
import os
import subprocess
import sys
import tempfile

FREE_BYTES, BYTES_PER_BYTE = 100_000_000, 20
EVENTS = 1_000_000
FEWER = {"deep_distinct": 250_000}  # Each has a function of its own: 64 bytes for each event, not 8.
PAGE = ["--page=/dev/null"]
TREE = ["--tree", "--limit", "0"]
RUNS = {
    "deep": [PAGE, ["--report"], ["--folded=/dev/null"], ["--format", "chrome", "-o", "/dev/null"]],
    "comb": [PAGE, [*TREE, "--csv=/dev/null"]],
    "deep_distinct": [PAGE, ["--report", *TREE]],
    "coroutines_suspended": [PAGE, ["--report"], ["--report", "--group-by", "coroutine"], ["--format", "perfetto", "-o", "/dev/null"]],
    "requests_short": [PAGE, ["--turns"], ["--requests", "--json=/dev/null"]],
    "requests_waiting": [PAGE, ["--requests"], ["--turns"]],
    "deep_and_moved": [PAGE],
    "chain_and_switches": [["--slow", "f2", "--coroutines", "--waits", "--threads", "--timeline"]],
}


def peak(analyze, path, words):
    """The peak resident memory of luatrace-analyze, in bytes."""
    with subprocess.Popen([analyze, "--jobs", "1", path, *words], stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{path}, {' '.join(words)}: status {process.returncode}")
    return usage.ru_maxrss * 1024


def main():
    analyze, make = [word for word in sys.argv[1:] if word != "-v"]
    bad = 0
    with tempfile.TemporaryDirectory() as directory:
        for shape, outputs in RUNS.items():
            path = f"{directory}/{shape}"
            subprocess.run([make, shape, str(FEWER.get(shape, EVENTS)), path], check=True)
            size = os.path.getsize(path)
            for words in outputs:
                took, limit = peak(analyze, path, words), FREE_BYTES + BYTES_PER_BYTE * size
                bad += took > limit
                if took > limit or "-v" in sys.argv:
                    print(f"{shape} ({size:,} bytes), {' '.join(words)}: {took:,} bytes, "
                          f"{'more than' if took > limit else 'of'} {limit:,}", flush=True)
            os.remove(path)
    if bad:
        sys.exit(f"{bad} of them take too much memory")
    print("memory: up to 100 MB plus 20 times the input")


main()

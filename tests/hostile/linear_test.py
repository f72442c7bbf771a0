# SPDX-License-Identifier: MIT
"""linear_test.py COUNTED HOSTILE_TRACES [-v] [SHAPE...]: what luatrace-analyze costs grows with its input.

Each output is made of each shape of hostile-traces at two sizes, one four times the other, and the
work is counted (work_counter.cc): steps of the program and bytes on its heap, not seconds. What an
empty trace costs is taken off. It fails if four times the input costs more than 1.3 x 4 times as
much, or more than a step or byte of the input may cost at all. -v prints the table of the worst.
"""
import os
import subprocess
import sys
import tempfile

SMALL, TIMES, GROWTH = 2000, 4, 1.3
# Tables of the heap that begin larger than the smaller input fills them; the same for steps.
SLACK_STEPS, SLACK_BYTES = 1_000_000, 4 << 20
# For each byte of the input, beside 100 MB: what docs/security.md promises.
MOST_STEPS, MOST_BYTES = 4000, 400

OUTPUTS = {
    "tables": ["--report", "--tree", "--callers", "f2", "--callees", "*", "--limit", "0"],
    "callers of all": ["--callers", "*"],
    "histograms, JSON, CSV": ["--hist", "*", "--json=/dev/null", "--csv=/dev/null"],
    "slow, coroutines, threads, timeline": ["--slow", "f2", "--coroutines", "--threads", "--timeline"],
    "page": ["--page=/dev/null"],
    "page, -t": ["--page=/dev/null", "-t", "1us"],
    "page, -C": ["--page=/dev/null", "-C", "f2"],
    "page, -r, -H": ["--page=/dev/null", "-r", "10%~60%", "-H", "f2"],
    "-N, by file": ["--report", "-N", "f3", "--group-by", "file"],
    "-D, by coroutine": ["--report", "-D", "3", "--group-by", "coroutine"],
    "merged coroutines, -F": ["--report", "--coroutines=merged", "-F", "f*"],
    "chrome": ["--format", "chrome", "-o", "/dev/null"],
    "perfetto": ["--format", "perfetto", "-o", "/dev/null"],
    "luaprofiler": ["--format", "luaprofiler", "-o", "/dev/null"],
    "callgrind": ["--format", "callgrind", "-o", "/dev/null"],
    "speedscope": ["--format", "speedscope", "-o", "/dev/null"],
    "folded": ["--folded=/dev/null"],
    "pprof": ["--format", "pprof", "-o", "/dev/null"],
    "dump": ["--dump"],
    "dump=calls": ["--dump=calls"],
    "diff": ["--diff", "TRACE", "--tree", "--page=/dev/null"],
    "save-profile": ["--save-profile", "SAVED"],
    "saved profile": ["SAVED", "--report", "--tree", "--page=/dev/null"],
}
# Those write whole stacks: any tree gets 32 MB, which a larger input has to exceed first.
WHOLE_STACKS = {"folded": 4, "pprof": 4}
SATURATE = {"callers of all": 2}


class Counter:
    def __init__(self, analyze, make, directory):
        self.analyze, self.make, self.directory = analyze, make, directory
        self.traces = {}

    def trace(self, shape, n):
        path = f"{self.directory}/{shape}.{n}"
        if path not in self.traces:
            subprocess.run([self.make, shape, str(n), path], check=True)
            self.traces[path] = os.path.getsize(path)
        return path, self.traces[path]

    def cost(self, shape, n, output):
        """Steps and bytes that the output takes, and the size of the trace."""
        path, size = self.trace(shape, n)
        words = [word.replace("SAVED", path + ".saved").replace("TRACE", path) for word in OUTPUTS[output]]
        if OUTPUTS[output][0] != "SAVED":
            words.insert(0, path)
        counts = self.directory + "/counts"
        done = subprocess.run([self.analyze, "--jobs", "1", "--width", "200", *words], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, env={**os.environ, "LUATRACE_WORK": counts}, text=True)
        if done.returncode not in (0, 1):  # 1: no such function in this shape.
            sys.exit(f"{shape}, {output}: status {done.returncode}: {done.stderr[-500:]}")
        with open(counts) as file:
            steps, heap = map(int, file.read().split())
        os.remove(counts)
        return steps, heap, size


def main():
    words = [word for word in sys.argv[1:] if word != "-v"]
    analyze, make, *shapes = words
    every = subprocess.run([make], check=True, capture_output=True, text=True).stdout.split()
    shapes = shapes or every
    bad, worst = [], {}
    with tempfile.TemporaryDirectory() as directory:
        counter = Counter(analyze, make, directory)
        for output in OUTPUTS:
            empty = None
            for shape in shapes:
                small = SMALL * WHOLE_STACKS.get(output, SATURATE.get(output, 1))
                if output == "saved profile":
                    for n in (0, small, TIMES * small):
                        counter.cost(shape if n else "deep", n, "save-profile")
                if empty is None:
                    empty = counter.cost("deep", 0, output)
                low = counter.cost(shape, small, output)
                high = counter.cost(shape, TIMES * small, output)
                low, high = ([a - b for a, b in zip(x, empty)] for x in (low, high))
                for i, (what, slack, most) in enumerate(
                        [("steps", SLACK_STEPS, MOST_STEPS), ("bytes of heap", SLACK_BYTES, MOST_BYTES)]):
                    if high[i] > GROWTH * TIMES * low[i] + slack:
                        bad.append(f"{shape}, {output}: {what} {low[i]:,} -> {high[i]:,} "
                                   f"(x {high[i] / max(low[i], 1):.1f}) for {TIMES} times the input")
                    if high[i] > most * high[2] + slack:
                        bad.append(f"{shape}, {output}: {high[i] / high[2]:.0f} {what} for each byte of the input")
                    worst.setdefault(output, {})[what, shape] = high[i] / high[2]
    if "-v" in sys.argv:
        for output, costs in worst.items():
            line = [output]
            for what in ("steps", "bytes of heap"):
                ratio, shape = max((ratio, shape) for (kind, shape), ratio in costs.items() if kind == what)
                line.append(f"{shape} {ratio:.0f}")
            print(" | ".join(line))
    if bad:
        sys.exit("\n".join(bad))
    print(f"{len(shapes)} shapes, {len(OUTPUTS)} outputs: linear")


main()

# SPDX-License-Identifier: MIT
"""linear_test.py COUNTED HOSTILE_TRACES [-v] [--part I/N] [SHAPE...]: the costs of luatrace-analyze
are proportional to its input.

Each output is made from each shape of hostile-traces (some only from those that can matter to them,
those of importers from import_shapes.py) at two sizes, one four times the other, and the work is
counted (work_counter.cc): steps of the program and bytes on its heap, not seconds. The cost of an
empty trace is subtracted. The test fails if four times the input costs more than 1.3 x 4 times as
much, or more than a step or byte of the input may cost. -v prints the table of the worst. --part
takes every Nth output, from the Ith of 1..N; the environment's OUTPUTS those that it names.
"""
import argparse
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # In the source tree.
import import_shapes  # noqa: E402

SMALL, TIMES, GROWTH = 1000, 4, 1.3
# Allowance for tables that begin larger than the small input needs, and for steps of that kind.
SLACK_STEPS, SLACK_BYTES = 1_000_000, 4 << 20
# For each byte of the input, as docs/security.md promises it; and in addition to that in any case (there: 100 MB).
STEPS_PER_BYTE, HEAP_PER_BYTE = 2500, 600
FREE_STEPS, FREE_BYTES = 60_000_000, 16 << 20

OUTPUTS = {
    "tables": ["--report", "--tree", "--callers", "f2", "--callees", "*", "--limit", "0"],
    "callers of all": ["--callers", "*"],
    "histograms, JSON, CSV": ["--hist", "*", "--json=/dev/null", "--csv=/dev/null"],
    "requests": ["--requests", "--limit", "0", "--json=/dev/null"],
    "turns": ["--turns", "--limit", "0", "--json=/dev/null"],
    "turns by coroutine": ["--turns", "--request-by", "@coroutines"],
    "requests by call": ["--request-by", "f2", "--limit", "0"],
    "slow, coroutines, waits, threads, timeline": ["--slow", "f2", "--coroutines", "--waits", "--threads", "--timeline"],
    "waits, --hide": ["--waits", "--hide", "f2"],
    "page": ["--page=/dev/null"],
    "page, -t": ["--page=/dev/null", "-t", "1us"],
    "page, -C": ["--page=/dev/null", "-C", "f2"],
    "page, -r, -H": ["--page=/dev/null", "-r", "10%~60%", "-H", "f2"],
    "-N, by file": ["--report", "-N", "f3", "--group-by", "file"],
    "-D, by coroutine": ["--report", "-D", "3", "--group-by", "coroutine"],
    "by phase": ["--tree", "--group-by", "phase"],
    "by request": ["--tree", "--group-by", "request:0"],
    "by request, -F": ["--report", "-F", "f*", "--group-by", "request:0", "--request-by", "f2"],
    "by request, by coroutine": ["--folded=/dev/null", "--group-by", "request", "--request-by", "@coroutines"],
    "by label": ["--tree", "--group-by", "label:k"],
    "-H, by plugin": ["--report", "-H", "f3", "--group-by", "plugin", "--plugin", "*"],
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
    "diff": ["TRACE", "--diff", "TRACE", "--tree", "--page=/dev/null"],
    "save-profile": ["--save-profile", "SAVED"],
    "saved profile": ["SAVED", "--report", "--tree", "--page=/dev/null"],
    "saved profile and trace, merged": ["SAVED", "TRACE", "--tree", "--save-profile=/dev/null"],
    "diff, JSON": ["TRACE", "--diff", "TRACE", "--normalize", "--report", "--json=/dev/null"],
    "diff, condition": ["TRACE", "--diff", "TRACE", "--fail-if", "change(calls(*)) > 1%"],
    "views, JSON": ["TRACE", "--json=/dev/null", "--report", "--tree", "--callers", "*", "--slow", "f*", "--coroutines",
                    "--waits", "--threads", "--timeline"],
    "--compensate": ["TRACE", "--compensate", "--report", "--tree", "--json=/dev/null"],
    "--symbols": ["TRACE", "--symbols", "--limit", "0", "--json=/dev/null"],
    "--info": ["TRACE", "--info", "--json=/dev/null"],
    "--jobs 4": ["TRACE", "--jobs", "4", "--report", "--tree"],
    "compressed": ["PACKED", "--report", "--tree"],
    "text": ["TEXT", "--report"],
    "text to binary": ["TEXT", "--convert=/dev/null"],
    "bpftrace": ["TRACE", "--report"],
    "stap": ["TRACE", "--report"],
}
# The shapes that can matter to an output or a reader.
SHAPES = {
    "waits, --hide": "chain_and_waits deep_and_resumed".split(),
    "saved profile and trace, merged": "undescribed long_names_deep equal_functions deep_distinct wide_in_turns".split(),
    "diff, JSON": "undescribed long_names_deep equal_functions many_chunks deep_distinct".split(),
    "diff, condition": "many_functions undescribed many_chunks".split(),
    "views, JSON": "undescribed long_names chain_and_switches chain_and_threads chain_ends deep_and_moved coroutines_created_apart".split(),
    "--compensate": "deep_recursion unmatched_returns all_pairs deep_distinct undescribed".split(),
    "--symbols": "maps maps_nested maps_of_holes map_files processes many_functions".split(),
    "--info": "notes processes streams streams_undescribed maps small_blocks recordings".split(),
    "--jobs 4": "streams streams_undescribed processes chain_and_switches".split(),
    "compressed": "small_blocks unmatched_returns long_names streams".split(),
    "text": "described_late long_names_deep maps streams notes marks undescribed_far losses".split(),
    "text to binary": "described_late long_names_deep small_blocks streams".split(),
    "bpftrace": list(import_shapes.SHAPES),
    "stap": list(import_shapes.SHAPES),
}
# Those write whole stacks: any tree gets 32 MB, in pprof 4 M locations (analyzer/report/stack_limit.h).
WHOLE_STACKS = ["folded", "pprof"]
STACK_STEPS = 60_000_000
# What the machine limits to 1,024 steps for each word (analyzer/machine/machine.h) has to need more of them.
LIMITED = {"unmatched_returns": 6}


class Counter:
    def __init__(self, analyze, make, directory):
        self.analyze, self.make, self.directory = analyze, make, directory
        self.traces = {}

    def trace(self, shape, n, output, form="TRACE"):
        """Path and size of a trace in the form that the output reads; of a compressed one the size before."""
        tracer = output if output in ("bpftrace", "stap") else ""
        path = f"{self.directory}/{tracer}{shape}.{n}.{form}"
        if path not in self.traces:
            if tracer:
                import_shapes.write(tracer, shape, n, path)
            elif form == "TEXT":
                with open(path, "w") as text:
                    subprocess.run([self.analyze, "--dump", self.trace(shape, n, output)[0]], check=True, stdout=text)
            else:
                environment = {**os.environ, "HOSTILE_COMPRESS": "1"} if form == "PACKED" else None
                subprocess.run([self.make, shape, str(n), path], check=True, env=environment)
            size = self.trace(shape, n, output)[1] if form == "PACKED" else os.path.getsize(path)
            self.traces[path] = path, size
        return self.traces[path]

    def cost(self, shape, n, output):
        """Steps and bytes that the output takes, and the size of the trace."""
        words = OUTPUTS[output]
        if words[0] not in ("SAVED", "TRACE", "PACKED", "TEXT"):
            words = ["TRACE", *words]
        path, size = self.trace(shape, n, output, words[0] if words[0] != "SAVED" else "TRACE")
        files = {"SAVED": path + ".saved", "TRACE": path, "PACKED": path, "TEXT": path}
        words = [files.get(word, word) for word in words]
        if "--jobs" not in words:
            words += ["--jobs", "1"]
        counts = self.directory + "/counts"
        done = subprocess.run([self.analyze, "--width", "200", *words], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, env={**os.environ, "LUATRACE_WORK": counts}, text=True)
        # 1: no such function in this shape.
        if done.returncode and not (done.returncode == 1 and ": no function " in done.stderr):
            sys.exit(f"{shape}, {output}: status {done.returncode}: {done.stderr[-500:]}")
        with open(counts) as file:
            steps, heap = map(int, file.read().split())
        os.remove(counts)
        return steps, heap, size


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("analyze")
    parser.add_argument("make")
    parser.add_argument("-v", dest="verbose", action="store_true")
    parser.add_argument("--part", default="1/1")
    parser.add_argument("shapes", nargs="*")
    words = parser.parse_args()
    analyze, make, chosen = words.analyze, words.make, words.shapes
    first, step = map(int, words.part.split("/"))
    outputs = os.environ.get("OUTPUTS", ";".join(OUTPUTS)).split(";")[first - 1::step]
    every = subprocess.run([make], check=True, capture_output=True, text=True).stdout.split()
    bad, worst = [], {}
    with tempfile.TemporaryDirectory() as directory:
        counter = Counter(analyze, make, directory)
        for output in outputs:
            empty = None
            for shape in chosen or SHAPES.get(output, every):
                small = SMALL * (4 if output in WHOLE_STACKS else 1) * LIMITED.get(shape, 1)
                if OUTPUTS[output][0] == "SAVED":
                    for n in (0, small, TIMES * small):
                        counter.cost(shape if n else "deep", n, "save-profile")
                if empty is None:
                    empty = counter.cost("deep", 0, output)
                low = counter.cost(shape, small, output)
                high = counter.cost(shape, TIMES * small, output)
                low, high = ([a - b for a, b in zip(x, empty)] for x in (low, high))
                for i, (what, slack, per_byte, free) in enumerate(
                        [("steps", STACK_STEPS if output in WHOLE_STACKS else SLACK_STEPS, STEPS_PER_BYTE, FREE_STEPS),
                         ("bytes of heap", SLACK_BYTES, HEAP_PER_BYTE, FREE_BYTES)]):
                    if high[i] > GROWTH * TIMES * low[i] + slack:
                        bad.append(f"{shape}, {output}: {what} {low[i]:,} -> {high[i]:,} "
                                   f"(x {high[i] / max(low[i], 1):.1f}) for {TIMES} times the input")
                        print(bad[-1], flush=True)
                    if high[i] > per_byte * high[2] + free:
                        bad.append(f"{shape}, {output}: {high[i] / high[2]:.0f} {what} for each byte of the input")
                        print(bad[-1], flush=True)
                    worst.setdefault(output, {})[what, shape] = high[i] / high[2]
            if words.verbose:
                line = [output]
                for what in ("steps", "bytes of heap"):
                    ratio, shape = max((ratio, shape) for (kind, shape), ratio in worst[output].items() if kind == what)
                    line.append(f"`{shape}` {ratio:.0f}")
                print("| " + " | ".join(line) + " |", flush=True)
    if bad:
        sys.exit(f"{len(bad)} costs grow too fast or are too high")
    print(f"{len(every)} shapes, {len(outputs)} outputs: linear")


main()

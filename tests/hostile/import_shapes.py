# SPDX-License-Identifier: MIT
"""Input for the importers (docs/import-format.md), shaped to cost them more than its length: text
of lua-calls.bt and records of lua-calls.stp, of the same hits.

Invariant: a file's size is proportional to n, like the shapes of hostile_traces.cc.
"""
import struct

START = 0x100000000000


class Hits:
    """Collects hits as tuples; each thread numbers its own."""

    def __init__(self):
        self.hits, self.functions, self.seq, self.now = [], {}, {}, 0

    def hit(self, kind, function=0, frame=8, state=0x5000, thread=70, process=7, jump=0):
        self.seq[thread] = self.seq.get(thread, 0) + 1 + jump
        self.now += 100
        self.hits.append((kind, START + self.now, process, thread, self.seq[thread], state, function, frame))

    def describe(self, count, name="f"):
        self.functions.update({i: f"{name}{i}" for i in range(1, count + 1)})


def deep(h, n):
    h.describe(9)
    for i in range(n):
        h.hit("E", 1 + i % 9, 8 * (i + 1))


def unwinds(h, n):
    h.describe(2)
    for i in range(n // 2):
        h.hit("E", 1, 8 * (i + 1))
    for i in range(n // 4):
        h.hit("E", 2, 8 * (n + i)), h.hit("U", 0, 8 * (n // 2))


def returns(h, n):
    """Of calls that are not open, below many that are."""
    h.describe(2)
    for i in range(n // 2):
        h.hit("E", 1, 8 * (i + 1))
    for i in range(n // 2):
        h.hit("R", 2, 8 * (n + i))


def threads(h, n):
    h.describe(1)
    for i in range(n // 2):
        h.hit("E", 1, thread=70 + i), h.hit("R", 1, thread=70 + i)


def states(h, n):
    h.describe(1)
    for i in range(n // 2):
        h.hit("E", 1, state=0x5000 + 64 * i), h.hit("R", 1, state=0x5000 + 64 * i)


def coroutines(h, n):
    h.describe(1)
    h.hit("E", 1)
    for i in range(1, n // 3 + 1):
        inner, outer = 0x5000 + 64 * i, 0x5000 + 64 * (i - 1)
        h.hit("c", i, inner, state=outer), h.hit("r", i, inner, state=outer), h.hit("E", 1, state=inner)


def processes(h, n):
    for i in range(n // 2):
        h.hit("E", 1, thread=70 + i, process=7 + i, state=0x5000), h.hit("R", 1, thread=70 + i, process=7 + i)


def jumps(h, n):
    """Each number is a loss, or damaged: the next hits show which."""
    h.describe(1)
    for i in range(n // 2):
        h.hit("E", 1, jump=i % 3), h.hit("R", 1, jump=3 * (i % 5 == 0))


def backwards(h, n):
    h.describe(1)
    for i in range(n // 2):
        h.hit("E", 1), h.hit("R", 1)
    h.hits.reverse()


def undescribed(h, n):
    for i in range(n // 2):
        h.hit("E", i + 1), h.hit("R", i + 1)


def functions(h, n):
    h.describe(n)
    for i in range(n // 4):
        h.hit("E", i + 1), h.hit("R", i + 1)


def long_name(h, n):
    h.functions[1] = "n" * (40 * n)
    for _ in range(n // 4):
        h.hit("E", 1), h.hit("R", 1)


SHAPES = {f.__name__: f for f in (deep, unwinds, returns, threads, states, coroutines, processes, jumps,
                                  backwards, undescribed, functions, long_name)}


def parts(text, length):
    return [text[at:at + length] for at in range(0, max(len(text), 1), length)]


def bpftrace(h):
    nonce = f"{START:x}"
    quoted = f"{nonce}:{{}}{nonce}".format
    lines = [f"#luatrace-bt 1 {nonce} 1"]
    for i, name in h.functions.items():
        lines += [f"F 7 {i:x} beef {i:x}", f"C 7 {i:x} beef 0 {quoted('@h.lua')}"]
        lines += [f"N 7 {i:x} beef {quoted(name)}"] if len(name) < 64 else \
            [f"C 7 {i:x} beef {part:x} {quoted(text)}" for part, text in enumerate(parts(name, 63))]
    for kind, time, process, thread, seq, state, function, frame in h.hits:
        more = f"{frame:x}" if kind == "U" else f"{frame:x} {function:x}" if kind in "cr" else \
            f"{function:x} {frame:x} beef"
        lines.append(f"{kind} {time:x} {process:x} {thread:x} {seq:x} {state:x} {more}")
    lines += [f"@seq[{thread}]: {seq}" for thread, seq in h.seq.items()]
    return ("\n".join(lines + [f"@beat: {START + h.now}"]) + "\n").encode()


def stap(h):
    def record(kind, form, *values):
        return (kind.encode() + struct.pack("<" + form, *values)).ljust(40, b"\0")
    out = [record("H", "BHIQQI", 0x4C, 1, 0x50545354, START, 0, 0)]
    for thread, process in {(hit[3], hit[2]): 0 for hit in h.hits}:
        out.append(record("P", "BHIII16s", 0x4C, 0, thread, process, 0, b"hostile"))
    for i, name in h.functions.items():
        texts = parts(name.encode(), 28)
        out += [record("T", "BBBII28s", 0x4C, 1, len(text), i, part, text) for part, text in enumerate(texts)]
        out.append(record("F", "BBBIIIIIQHH", 0x4C, 0, 0, i, 7, i, i, 1, 0, 0, min(len(texts), 65535)))
    for kind, time, _, thread, seq, state, function, frame in h.hits:
        out.append(record(kind, "BHIQIIQQ", 0x4C, 0, seq, time, thread, function, state, frame))
    out += [record("N", "BHIIxxxxQ", 0x4C, 0, thread, seq, START + h.now) for thread, seq in h.seq.items()]
    out.append(record("Z", "BHIQQQII", 0x4C, 0, 0, len(h.hits), 0, START + h.now, len(h.seq), len(h.functions)))
    return b"".join(out)


def write(tracer, shape, n, path):
    """The output of `tracer` (bpftrace or stap) for about n hits of this shape."""
    h = Hits()
    SHAPES[shape](h, n)
    with open(path, "wb") as file:
        file.write({"bpftrace": bpftrace, "stap": stap}[tracer](h))

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the samples of a trace, one a line: thread, what it did, and its stack, the outermost first.

  samples.py TRACE [--request] [--labels]

  TID STATE[,off-cpu][,truncated] FRAME;FRAME;...

--request: after the state, the host's word of the coroutine, 0: none. --labels: after the state, its
number and its labels, KEY=VALUE,...
A frame is L:CHUNK:LINE:NAME, C:ADDRESS (a C function that Lua called), builtin#NAME, [GC], [JIT],
K:NAME (kernel), N:FILE (native code), coroutine:ID, or unknown. A second reader of the format beside
the analyzer, so that the tests of the recorder do not depend on that one."""
import struct
import sys

STATES = ["native", "interpreter", "compiled", "C", "collector", "compiler"]
GC, JIT = 0xffff0001, 0xffff0002


def text(b):
    return b.decode("utf-8", "backslashreplace").replace(";", ",").replace(" ", "_")


class Trace:
    def __init__(self, data):
        self.functions, self.maps, self.process_of = {}, {}, {}
        self.samples, self.end = [], None
        at = struct.unpack_from("<I", data, 12)[0]
        while at + 64 <= len(data):
            sync, kind, _, stream, size = struct.unpack_from("<QHHII", data, at)
            assert sync == 0x4b4c42545ca5c35a, "no block at %d" % at
            self.block(kind, stream, data[at + 64:at + 64 + size])
            at += 64 + (size + 7) // 8 * 8

    def block(self, kind, stream, data):
        if kind == 2:
            self.each(data, lambda r: self.function(stream, r))
        elif kind == 3:
            self.process_of[stream] = struct.unpack_from("<I", data)[0]
            assert struct.unpack_from("<I", data, 4)[0] & 0x200, "not a stream of samples"
        elif kind == 5:
            self.each(data, lambda r: self.mapping(stream, r))
        elif kind == 8:
            self.end = struct.unpack_from("<QQ", data)
        elif kind == 9:
            self.each(data, lambda r: self.samples.append(self.sample(stream, r)))

    def each(self, data, take):
        at = 0
        while at < len(data):
            size = struct.unpack_from("<I", data, at)[0]
            take(data[at:at + size])
            at += size

    def function(self, stream, r):
        _, kind, _, number, first, _, ffid, address, chunk, name = struct.unpack_from("<IHHIIIIQHH", r)
        chunk_text = text(r[40:40 + chunk])
        name_text = text(r[41 + chunk:41 + chunk + name])
        if kind == 5:
            self.functions[stream, number] = "%s=%s" % (chunk_text, name_text)
            return
        shown = {1: "L:%s:%d:%s" % (chunk_text, first, name_text), 2: "C:%x" % address,
                 3: {GC: "[GC]", JIT: "[JIT]"}.get(ffid, "builtin#" + name_text.removeprefix("builtin#")), 4: "K:" + name_text}[kind]
        self.functions[stream, number] = shown

    def mapping(self, process, r):
        _, length, _, _, start, end = struct.unpack_from("<IHBBQQ", r)
        self.maps.setdefault(process, []).append((start, end, text(r[64:64 + length])))

    def sample(self, stream, r):
        _, n, state, flags, tick, weight, tid, co = struct.unpack_from("<IHBBQQiI", r)
        frames = struct.unpack_from("<%dQ" % n, r, 48)
        labels = [self.functions[stream, f >> 4] for f in frames if f & 15 == 5]
        return (stream, tid, state, flags, weight, [f for f in frames if f & 15 != 5],
                struct.unpack_from("<Q", r, 40)[0], co, labels)

    def frame(self, stream, f):
        kind, value = f & 15, f >> 4
        if kind == 1:
            return self.functions[stream, value & 0xffffffff]
        if kind in (2, 3):
            for start, end, path in self.maps.get(self.process_of[stream], []):
                if start <= value < end:
                    return "N:" + path
            return "N:?"
        return "coroutine:%d" % value if kind == 4 else "unknown"


def main():
    with open(sys.argv[1], "rb") as f:
        trace = Trace(f.read())
    with_request, with_labels = "--request" in sys.argv, "--labels" in sys.argv
    for stream, tid, state, flags, weight, frames, request, co, labels in trace.samples:
        what = STATES[state] + (",off-cpu" if flags & 1 else "") + (",truncated" if flags & 2 else "")
        if with_request:
            what += " %d" % (request - 1 if request else 0)
        if with_labels:
            what += " %d %s" % (co, ",".join(labels) or "-")
        print(tid, what, ";".join(trace.frame(stream, f) for f in reversed(frames)))
    print("lost %d, end %s" % (trace.end[1] if trace.end else -1, "yes" if trace.end else "no"), file=sys.stderr)


main()

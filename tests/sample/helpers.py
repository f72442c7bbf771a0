#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which functions of the kernel the BPF program of --sample calls: only those that Linux 5.15 has, but for one that
is left out there (bpf_find_vma, see stack_end() in sample.bpf.c).

  helpers.py sample.bpf.o"""
import struct
import sys

LAST = 175  # bpf_task_pt_regs, of Linux 5.15
OPTIONAL = {180}  # bpf_find_vma, of Linux 5.17
CALL, EXECUTABLE = 0x85, 4


def code(data):
    """The sections of the ELF file that are programs."""
    at = struct.unpack_from("<Q", data, 40)[0]
    size, count = struct.unpack_from("<HH", data, 58)
    for i in range(count):
        _, kind, flags, _, offset, length = struct.unpack_from("<IIQQQQ", data, at + i * size)
        if kind == 1 and flags & EXECUTABLE:
            yield data[offset:offset + length]


def helpers(data):
    found = set()
    for section in code(data):
        for at in range(0, len(section), 8):
            op, registers, _, value = struct.unpack_from("<BBhi", section, at)
            if op == CALL and registers >> 4 == 0:  # 1: a function of the program
                found.add(value)
    return found


def main():
    with open(sys.argv[1], "rb") as f:
        found = helpers(f.read())
    print("helpers:", *sorted(found))
    if not {1, 112, 113, 130} <= found:
        sys.exit("FAIL: this is not that program")
    newer = {n for n in found if n > LAST} - OPTIONAL
    if newer:
        sys.exit("FAIL: helpers that Linux 5.15 has not: %s" % sorted(newer))


main()

# SPDX-License-Identifier: MIT
"""Compares samples with the stack that a program keeps itself, in the word of the host that each
sample contains (bench/sample/shadow.lua)."""
import re

RESULTS = ["right", "one more", "one less", "unknown", "storing", "wrong"]


def read_tree(text):
    """What the program printed: {node: lines of its functions, the outermost first}."""
    below, line = {}, {}
    for row in text.splitlines():
        node, parent, first = map(int, row.split())
        below[node], line[node] = parent, first
    paths = {}
    for node in below:
        path, at = [], node
        while below.get(at):
            path.append(line[at])
            at = below[at]
        paths[node] = path[::-1]
    return paths


def functions_in(stack, lines):
    """(lines of the program's functions, the outermost first; is a part of the stack unknown? is the
    innermost function one of those that store the stack?)"""
    seen, unknown, storing = [], False, False
    for frame in stack.split(";"):
        if frame == "unknown":
            unknown = True
        found = re.fullmatch(r"L:.*shadow\.lua:(\d+):.*", frame)
        if not found:
            continue
        line = int(found[1])
        storing = line != 0 and line not in lines
        if line in lines:
            seen.append(line)
    return seen, unknown, storing


def compare(seen, unknown, true):
    """One of RESULTS. A function stores its number after it was called and before it returns: its frame
    may be there a moment before and after ("one more"). What compiled code has inlined is known from
    one snapshot to the next only ("one less")."""
    if seen == true:
        return "right"
    if seen[:-1] == true:
        return "one more"
    if seen == true[:-1]:
        return "one less"
    if unknown and all(line in true for line in seen):
        return "unknown"
    return "wrong"


def count(samples, tree):
    """{state: {result: samples}} of what samples.py --request printed."""
    paths = read_tree(tree)
    lines = {line for path in paths.values() for line in path}
    counts = {}
    for row in samples.splitlines():
        _, state, node, stack = row.split(" ", 3)
        seen, unknown, storing = functions_in(stack, lines)
        true = paths.get(int(node))
        result = "storing" if true is None or storing else compare(seen, unknown, true)
        counts.setdefault(state, dict.fromkeys(RESULTS, 0))[result] += 1
    return counts

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints each function that is longer than 60 lines and each class that declares more than 30
methods (public and private; constructors, destructors and deleted ones do not count).

    sizes.py ROOT

ctags finds the ends of definitions in C, C++, Python and SystemTap, but not in the other languages,
where a function ends at the first closing line with the indentation of its first line. A script's
lines outside functions are not a function."""
import json
import os
import re
import subprocess
import sys

MAX_LINES, MAX_METHODS = 60, 30
# "FILE: CLASS"; the aim is to have none. An exception that is no longer needed is an error, too.
EXCEPTIONS = {"analyzer/collect/filtered_profile.h: FilteredProfile", "analyzer/machine/machine.h: StackMachine"}

TAGGED = (".c", ".cc", ".cpp", ".h", ".hpp", ".py", ".stp", ".stpm")
CTAGS = ["ctags", "-L", "-", "-f", "-", "--output-format=json", "--fields=+neKS", "--kinds-C=+p", "--kinds-C++=+p",
         "--langmap=C++:+.h", "--languages=C,C++,Python,SystemTap", "--pattern-length-limit=0"]
# How a function begins, and the beginning of its last line.
SHELL = (re.compile(r"^(\s*)(?:function\s+)?([\w:.-]+)\s*\(\)\s*[{(]\s*(?:#.*)?$"), ("}", ")"))
LUA = (re.compile(r"^(\s*).*\bfunction\b\s*([\w.:]*)\s*\((?!.*\bend\b)"), ("end",))
BRACES = (re.compile(r"^(\s*)(?!if|for|while|switch|catch|else|do\b)(.*(?:\)|=>|END|BEGIN|/)) \{$"), ("}",))
INDENTED = {".sh": SHELL, ".lua": LUA, ".js": BRACES, ".mjs": BRACES, ".awk": BRACES, ".bt": BRACES}


def indented_functions(path, text, rule):
    begin, ends = rule
    lines = text.split("\n")
    for first, line in enumerate(lines):
        match = begin.match(line)
        if not match:
            continue
        close = tuple(match[1] + end for end in ends)
        last = next((n for n in range(first + 1, len(lines)) if lines[n].startswith(close)), None)
        if last is not None:
            yield path, match[2].strip(), last - first + 1


def tags(root, paths):
    out = subprocess.run(CTAGS, input="\n".join(paths), cwd=root, check=True, capture_output=True, text=True).stdout
    found = (json.loads(line) for line in out.splitlines())
    return [tag for tag in found if tag["_type"] == "tag"]


def tagged_functions(all_tags):
    for tag in all_tags:
        # "member" is a method in Python, and data in C++.
        kinds = ("function", "member") if tag["path"].endswith(".py") else ("function", "probe")
        if "end" in tag and tag["kind"] in kinds:
            yield tag["path"], tag["name"], tag["end"] - tag["line"] + 1


def classes(all_tags):
    """Each class, and how many methods its body declares."""
    methods = {}
    for tag in all_tags:
        declared = tag["kind"] in ("function", "prototype", "member") and tag.get("scope") and "signature" in tag
        if declared and not re.search(r"=\s*delete\b", tag["pattern"]):
            methods.setdefault((tag["path"], tag["scope"].split("::")[-1]), []).append(tag)
    for tag in all_tags:
        if tag["kind"] in ("class", "struct") and "end" in tag:
            own = methods.get((tag["path"], tag["name"]), [])
            inside = [m for m in own if tag["line"] <= m["line"] <= tag["end"] and m["name"].strip("~ ") != tag["name"]]
            yield f"{tag['path']}: {tag['name']}", len(inside)


def shell_script(path, text):
    return "." not in os.path.basename(path) and re.match(r"#!.*\b(ba)?sh\b", text)


def main(root):
    listed = subprocess.run([os.path.join(root, "scripts/files")], check=True, capture_output=True, text=True)
    paths = listed.stdout.split()
    all_tags = tags(root, [p for p in paths if p.endswith(TAGGED)])
    functions = list(tagged_functions(all_tags))
    for path in paths:
        with open(os.path.join(root, path), errors="replace") as file:
            text = file.read()
        rule = SHELL if shell_script(path, text) else INDENTED.get(os.path.splitext(path)[1])
        if rule:
            functions.extend(indented_functions(path, text, rule))
    found = [f"{path}: {name} has {lines} lines, more than {MAX_LINES}"
             for path, name, lines in functions if lines > MAX_LINES]
    counts = dict(classes(all_tags))
    large = {name for name, count in counts.items() if count > MAX_METHODS}
    found += [f"{name} has {counts[name]} methods, more than {MAX_METHODS}" for name in sorted(large - EXCEPTIONS)]
    found += [f"{name} is an exception that is not needed" for name in sorted(EXCEPTIONS & counts.keys() - large)]
    kinds = {}
    for path, _, _ in functions:
        kind = "c" if path.endswith((".c", ".h", ".cc", ".cpp")) else os.path.splitext(path)[1][1:] or "sh"
        kinds[kind] = kinds.get(kind, 0) + 1
    return found, f"{len(counts)} classes; functions: " + " ".join(f"{k}={n}" for k, n in sorted(kinds.items()))


found, summary = main(sys.argv[1])
print("\n".join(found))
print(summary, file=sys.stderr)
sys.exit(1 if found else 0)

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Includes (imports, in JavaScript and Python) and the libraries that targets link to go in one
direction: prints each cycle between files, and each edge between folders or between targets that
goes against the order.

    directions.py ROOT ORDER

The file ORDER (see tests/repo/order) lists which folder may include which. A target belongs to the
highest folder of its sources. Files outside the project (system headers, LuaJIT's own) are no edges,
but a name that could be two files of the project is an error."""
import os
import re
import subprocess
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]', re.M)
JS_IMPORT = re.compile(r'^(?:import|export|\})[^;"]*"(\./[^"]+|\.\./[^"]+)";', re.M)
PY_IMPORT = re.compile(r"^(?:from|import)\s+(\w+)", re.M)
CODE = (".c", ".cc", ".cpp", ".h", ".hpp", ".js", ".mjs", ".py")


class Order:
    """The folders' places: (part, line), and the parts that each part sees."""

    def __init__(self, path):
        self.place, self.sees, self.loose = {}, {}, []
        part = None
        for number, line in enumerate(open(path)):
            line = line.split("#")[0].strip()
            if line.startswith("["):
                part, _, others = line.strip("[]").partition(":")
                self.sees[part] = set(others.split())
            elif line:
                for folder in line.split():
                    if folder.endswith("/*"):
                        self.loose.append(folder[:-1])
                    self.place[folder] = (part, number)

    def of(self, folder):
        loose = next((f + "*" for f in self.loose if folder.startswith(f)), None)
        return self.place.get(folder) or self.place.get(loose)

    def refuses(self, folder, to):
        """Why `folder` may not include `to`; None if it may."""
        if folder == to:
            return None
        a, b = self.of(folder), self.of(to)
        if a is None or b is None:
            return f"{folder if a is None else to} is not in the order"
        if a[0] != b[0]:
            return None if b[0] in self.sees[a[0]] else f"[{a[0]}] does not see [{b[0]}]"
        if b[1] < a[1] or (folder not in self.place and to not in self.place):
            return None
        return f"{to} does not stand above {folder}"


def commands(text):
    """The commands of a CMake file: name, arguments."""
    text = re.sub(r"#.*", "", text)
    for name, arguments in re.findall(r"(\w+)\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)", text):
        yield name.lower(), arguments.replace('"', "").split()


class Tree:
    def __init__(self, root):
        self.root = root
        listed = subprocess.run([os.path.join(root, "scripts/files")], check=True, capture_output=True, text=True)
        self.files = set(listed.stdout.split("\n")) - {""}
        self.names = {os.path.basename(f) for f in self.files}
        self.links, self.folders_of, self.include_folders = {}, {}, {}
        self.found = []
        for path in sorted(f for f in self.files if os.path.basename(f) == "CMakeLists.txt"):
            self.read_cmake(path)
        self.includes = {f: self.edges(f) for f in sorted(self.files) if f.endswith(CODE)}

    def text(self, path):
        with open(os.path.join(self.root, path), errors="replace") as file:
            return file.read()

    def read_cmake(self, path):
        here = os.path.dirname(path)
        variables = {"PROJECT_SOURCE_DIR": [""], "CMAKE_SOURCE_DIR": [""], "CMAKE_CURRENT_SOURCE_DIR": [here]}

        def resolve(words):
            for word in words:
                name, rest = re.fullmatch(r"(?:\$\{(\w+)\})?(.*)", word).groups()
                for start in variables.get(name, []) if name else [here]:
                    yield os.path.normpath(os.path.join(start, rest.lstrip("/") if name else rest))

        for name, words in commands(self.text(path)):
            if name == "set":
                variables[words[0]] = list(resolve(words[1:]))
            elif name in ("add_library", "add_executable", "target_sources"):
                folders = self.folders_of.setdefault(words[0], set())
                folders.update(os.path.dirname(f) for f in resolve(words[1:]) if f in self.files)
                if name == "add_executable":  # its sources may all be elsewhere (cli/main.cc)
                    folders.add(here)
            elif name == "target_link_libraries":
                self.links.setdefault(words[0], set()).update(words[1:])
            elif name == "target_include_directories":
                self.include_folders.setdefault(here, []).extend(resolve(words[1:]))

    def edges(self, path):
        here, text = os.path.dirname(path), self.text(path)
        if path.endswith(".py"):
            near = [os.path.join(here, f"{name}.py") for name in PY_IMPORT.findall(text)]
            return [f for f in near if f in self.files]
        if path.endswith("js"):
            near = [os.path.normpath(os.path.join(here, name)) for name in JS_IMPORT.findall(text)]
            return [f for f in near if f in self.files]
        return [f for kind, name in INCLUDE.findall(text) for f in self.included(path, kind, name)]

    def included(self, path, kind, name):
        here = os.path.dirname(path)
        own = self.include_folders.get(here, [])
        others = sorted({f for folders in self.include_folders.values() for f in folders})
        for folders in [[here] if kind == '"' else [], [""], own, others]:
            matches = {os.path.normpath(os.path.join(f, name)) for f in folders} & self.files
            if len(matches) == 1:
                return matches
            if matches:
                self.found.append(f"{path}: {name} could be {' or '.join(sorted(matches))}")
                return []
        if kind == '"' and os.path.basename(name) in self.names:
            self.found.append(f"{path}: {name} is not found, but a file of the project has this name")
        return []


def cycles(graph):
    """One cycle for each strongly connected group: by a search along paths, each node finished once."""
    finished = set()
    for start in graph:
        path, stack = [], [(start, iter(graph[start]))] if start not in finished else []
        if stack:
            path.append(start)
        while stack:
            node, edges = stack[-1]
            to = next(edges, None)
            if to is None:
                finished.add(node)
                path.pop()
                stack.pop()
            elif to in path:
                yield path[path.index(to):] + [to]
            elif to not in finished and to in graph:
                path.append(to)
                stack.append((to, iter(graph[to])))


def check(tree, order):
    found = list(tree.found)
    found += [f"files include each other: {' -> '.join(c)}" for c in cycles(tree.includes)]
    folders, why = {}, {}
    for path, includes in tree.includes.items():
        a = os.path.dirname(path)
        for to in includes:
            b = os.path.dirname(to)
            if a != b:
                folders.setdefault(a, set()).add(b)
                reason = order.refuses(a, b)
                if reason:
                    found.append(f"{path} includes {to}: {reason}")
    found += [f"folders include each other: {' -> '.join(c)}" for c in cycles(folders)]
    found += check_targets(tree, order)
    present = {os.path.dirname(f) for f in tree.files}
    found += [f"the order names {f}, which does not exist" for f in order.place if f[-1] != "*" and f not in present]
    return found, len(folders)


def check_targets(tree, order):
    highest = {t: max(filter(order.of, f), key=lambda x: order.of(x)[1], default=None)
               for t, f in tree.folders_of.items()}
    found = []
    for target, libraries in tree.links.items():
        for library in libraries:
            a, b = highest.get(target), highest.get(library)
            reason = a and b and order.refuses(a, b)
            if reason:
                found.append(f"{target} links to {library}: {reason}")
    graph = {t: sorted(l & tree.folders_of.keys()) for t, l in tree.links.items()}
    return found + [f"targets link to each other: {' -> '.join(c)}" for c in cycles(graph)]


tree = Tree(sys.argv[1])
found, folders = check(tree, Order(sys.argv[2]))
print("\n".join(found))
edges = sum(map(len, tree.includes.values()))
print(f"{edges} includes, {folders} folders, {len(tree.links)} targets", file=sys.stderr)
sys.exit(1 if found else 0)

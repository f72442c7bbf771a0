# SPDX-License-Identifier: MIT
"""Paths of the builds, the programs, the tools, and small C helpers that are compiled on first
use into BUILD/bench."""
import os
import platform
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BENCH = ROOT / "bench"


class Missing(Exception):
    """A section cannot run; the text says what is missing and how to get it."""


def tool(name, package):
    """Path of an installed program; package is its Debian package."""
    path = shutil.which(name)
    if not path:
        raise Missing(f"{name} is not installed (apt-get install {package})")
    return path


@dataclass(frozen=True)
class Program:
    """A benchmark program and its two sizes, from its `-- bench:` line."""

    name: str
    path: Path
    size: int
    small: int

    @staticmethod
    def read(path):
        found = re.search(r"^-- bench: size=(\d+) small=(\d+)$", path.read_text(), re.M)
        if not found:
            raise Missing(f"{path}: no line '-- bench: size=N small=N'")
        return Program(path.stem, path, int(found[1]), int(found[2]))


def programs(folder="programs"):
    return [Program.read(path) for path in sorted((BENCH / folder).glob("*.lua"))]


class Setup:
    """The command line's settings, resolved against the build folder."""

    def __init__(self, args):
        self.args = args
        self.build = Path(args.build).resolve()
        self.scratch = self.build / "bench"
        self.scratch.mkdir(parents=True, exist_ok=True)

    def size(self, program):
        return program.small if self.args.tiny else program.size

    def rounds(self, default=5):
        """Rounds of a section: as requested, else its default."""
        return self.args.rounds or (1 if self.args.tiny else default)

    def programs(self):
        """The programs of bench/programs that --only selects."""
        wanted = set(self.args.only.split(",")) if self.args.only else None
        chosen = [p for p in programs() if wanted is None or p.name in wanted]
        if not chosen or (wanted and len(chosen) != len(wanted)):
            names = ", ".join(p.name for p in programs())
            raise Missing(f"--only {self.args.only}: choose from {names}")
        return chosen

    def luajit(self, variant):
        """The patched ("") or unpatched ("upstream") interpreter."""
        given = self.args.upstream if variant else self.args.patched
        if given:
            path = Path(given).resolve()
        else:
            suffix = f"-{variant}" if variant else ""
            path = self.build / "luajit" / (self.flavour() + suffix) / "luajit"
        if not path.exists():
            raise Missing(f"{path} does not exist (build it first: see README.md)")
        return path

    def flavour(self):
        lines = (ROOT / "luajit-usdt/flavours.conf").read_text().splitlines()
        return self.args.flavour or next(line.split()[0] for line in lines if line[:1].isalpha())

    def product(self, name):
        path = self.build / "bin" / name
        if not path.exists():
            raise Missing(f"{path} does not exist (build it first: see README.md)")
        return path

    def compiled(self, source, *flags, suffix=""):
        """Compiles bench/SOURCE if it is newer than the executable, whose path is returned."""
        src = BENCH / source
        out = self.scratch / (src.stem + suffix)
        if not out.exists() or out.stat().st_mtime < src.stat().st_mtime:
            compiler = tool(os.environ.get("CC", "cc"), "gcc")
            subprocess.run([compiler, "-O2", "-Wall", "-Wextra", *flags, src, "-o", out],
                           check=True)
        return out

    def lua_headers(self):
        """Folder with lua.h for the patched interpreter, else the system's."""
        home = self.luajit("").parent
        for folder in (home / "include" / "luajit-2.1", home / "src", home,
                       Path("/usr/include/luajit-2.1")):
            if (folder / "lua.h").exists() and (folder / "luajit.h").exists():
                return folder
        raise Missing("lua.h is neither in the build nor installed "
                      "(apt-get install libluajit-5.1-dev)")


def machine():
    """One line: processor, cores, kernel, current load."""
    cpu = "unknown processor"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            cpu = line.split(":", 1)[1].strip()
            break
    load = os.getloadavg()[0]
    return (f"{cpu}, {os.cpu_count()} cores, {platform.machine()}, "
            f"Linux {platform.release()}, load {load:.1f}")

# SPDX-License-Identifier: MIT
"""Readers of the formats that luatrace-analyze writes, as strict as their consumers. Each returns
the self time in ns by name of function, without zeros; they share nothing with the writers.
"""
import csv
import gzip
import io
import json
import re
import subprocess
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
FLAMEGRAPH = "/usr/share/perl5/Devel/NYTProf/flamegraph.pl"  # Debian: libdevel-nytprof-perl


def plain(cell):
    """Without the apostrophe that keeps a spreadsheet from taking a name for a formula."""
    assert cell[:1] not in tuple("=+-@"), f"a formula: {cell}"
    return cell[1:] if cell[:1] == "'" and cell[1:2] in tuple("=+-@") else cell


def totals(text):
    """--format csv: the reference."""
    sums = Counter()
    for row in csv.DictReader(io.StringIO(text), strict=True):
        sums[plain(row["function"])] += int(row["self_ns"])
    return +sums


def labels(text):
    """From it: what functions are called where the place is part of the name."""
    names = {}
    for row in csv.DictReader(io.StringIO(text), strict=True):
        name, place = plain(row["function"]), plain(row["file"])
        if row["kind"] == "lua":
            place += ":" + row["line"]
        if row["kind"] == "lua" and name == plain(row["file"]):
            place = "main chunk"
        label = name if place in ("", name) else f"{name} ({place})"
        names[label.replace(";", ":")] = name
    return names


def folded(text, names):
    """As flamegraph.pl reads it: everything up to the last blank is the stack."""
    sums = Counter()
    for line in text.splitlines():
        match = re.fullmatch(r"(.*)\s+?(\d+(?:\.\d*)?)", line)
        assert match, f"flamegraph.pl would ignore: {line!r}"
        sums[names[re.sub(r" #\d+$", "", match[1].split(";")[-1])]] += int(match[2])
    return +sums


def flamegraph(text):
    """All that flamegraph.pl itself counts in folded stacks, and the number of its boxes. It must not
    ignore any line."""
    run = subprocess.run(["perl", FLAMEGRAPH, "--minwidth=0"], input=text.encode(), capture_output=True)
    assert run.returncode == 0 and not run.stderr, run.stderr.decode()
    titles = re.findall(r"<title>(.*) \(([\d,]+) samples, [\d.]+%\)</title>", run.stdout.decode())
    return max(int(count.replace(",", "")) for name, count in titles if name == "all"), len(titles)


def speedscope(text):
    data = json.loads(text)
    assert data["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    frames = data["shared"]["frames"]
    sums = Counter()
    for profile in data["profiles"]:
        assert profile["type"] == "evented" and profile["unit"] == "nanoseconds", profile["unit"]
        stack, before = [], profile["startValue"]
        for event in profile["events"]:
            assert event["at"] >= before, "time goes backwards"
            if stack:
                sums[frames[stack[-1]]["name"]] += event["at"] - before
            before = event["at"]
            if event["type"] == "O":
                stack.append(event["frame"])
            else:
                assert stack.pop() == event["frame"], "not closed in order"
        assert not stack and before == profile["endValue"]
    return +sums


class Slices:
    """Slices of tracks: checks their order, sums their own times."""

    def __init__(self):
        self.sums, self.open, self.last, self.markers = Counter(), {}, {}, Counter()

    def begin(self, track, ns, name, call):
        self._at(track, ns).append((name, call))
        if not call:
            self.markers[name] += 1

    def end(self, track, ns):
        self._at(track, ns).pop()

    def _at(self, track, ns):
        stack = self.open.setdefault(track, [])
        before = self.last.get(track, ns)
        assert ns >= before, f"track {track}: time goes backwards"
        if stack and stack[-1][1]:
            self.sums[stack[-1][0]] += ns - before
        self.last[track] = ns
        return stack

    def result(self):
        assert not any(self.open.values()), "slices that never end"
        return +self.sums


def chrome(text, slices=None):
    slices = slices or Slices()
    tracks, flows, last = set(), Counter(), {}
    for e in json.loads(text)["traceEvents"]:
        track = (e["pid"], e["tid"])
        if e["ph"] == "M":
            tracks.add(track)
            continue
        assert track in tracks, "a track without a name"
        ns = round(e["ts"] * 1000)
        if e["ph"] == "B":
            slices.begin(track, ns, e["name"], e["cat"] == "call")
        elif e["ph"] == "E":
            slices.end(track, ns)
        else:
            assert e["ph"] in "sf", e
            flows[e["id"], e["ph"]] += 1
            assert last.setdefault(e["id"], e["ts"]) == e["ts"], "an arrow takes time"
    for (flow, _), count in flows.items():
        assert count == 1 and flows[flow, "s"] == flows[flow, "f"] == 1, f"arrow {flow}"
    return slices.result()


def decode(data, message, proto):
    """Messages as nested dictionaries of lists, from what protoc prints."""
    run = subprocess.run(["protoc", f"-I{HERE}", f"--decode={message}", str(HERE / proto)],
                         input=data, capture_output=True)
    assert run.returncode == 0, run.stderr
    root = {}
    stack = [root]
    for line in run.stdout.decode().splitlines():
        word = line.strip()
        if word == "}":
            stack.pop()
        elif word.endswith(" {"):
            child = {}
            stack[-1].setdefault(word[:-2], []).append(child)
            stack.append(child)
        else:
            key, value = word.split(": ", 1)
            assert not key.isdigit(), f"a field that {message} does not have: {line}"
            if value.startswith('"'):
                value = re.sub(rb"\\([0-7]{3})|\\(.)", _unescape, value[1:-1].encode()).decode()
            stack[-1].setdefault(key, []).append(value)
    return root


def _unescape(match):
    if match[1]:
        return bytes([int(match[1], 8)])
    return {b"n": b"\n", b"t": b"\t", b"r": b"\r"}.get(match[2], match[2])


def perfetto(data, slices=None):
    slices = slices or Slices()
    names, tracks, threads, flows = {}, {}, set(), Counter()
    for packet in decode(data, "perfetto.Trace", "perfetto.proto").get("packet", []):
        for state in packet.get("interned_data", []):
            for name in state.get("event_names", []):
                names[name["iid"][0]] = name["name"][0]
        for track in packet.get("track_descriptor", []):
            uuid = track["uuid"][0]
            assert uuid not in tracks
            tracks[uuid] = track
            if "thread" in track:
                threads.add(uuid)
                assert "process" in tracks[track["parent_uuid"][0]]
            elif "process" not in track:
                assert track["parent_uuid"][0] in threads, "a coroutine that is under no thread"
        for event in packet.get("track_event", []):
            ns, uuid = int(packet["timestamp"][0]), event["track_uuid"][0]
            assert uuid in tracks and uuid not in threads
            kind = event["type"][0]
            if kind == "SLICE_BEGIN":
                call = "name_iid" in event
                slices.begin(uuid, ns, names[event["name_iid"][0]] if call else event["name"][0], call)
            elif kind == "SLICE_END":
                slices.end(uuid, ns)
            for flow in event.get("flow_ids", []):
                flows[flow, "s"] += 1
            for flow in event.get("terminating_flow_ids", []):
                flows[flow, "f"] += 1
    for flow, _ in flows:
        assert flows[flow, "s"] == flows[flow, "f"] == 1, f"flow {flow}"
    return slices.result()


def pprof(data):
    profile = decode(gzip.decompress(data), "pprof.Profile", "profile.proto")
    strings = profile["string_table"]
    assert strings[0] == ""
    types = [(strings[int(t["type"][0])], strings[int(t["unit"][0])]) for t in profile["sample_type"]]
    assert types == [("calls", "count"), ("time", "nanoseconds")], types
    functions = {f["id"][0]: strings[int(f["name"][0])] for f in profile["function"]}
    locations = {l["id"][0]: functions[l["line"][0]["function_id"][0]] for l in profile["location"]}
    sums = Counter()
    for sample in profile.get("sample", []):
        assert len(sample["value"]) == 2
        assert all(l in locations for l in sample["location_id"])
        sums[locations[sample["location_id"][0]]] += int(sample["value"][1])
    return +sums


def callgrind(path):
    """callgrind_annotate's own sums; the line follows each name."""
    run = subprocess.run(["callgrind_annotate", "--threshold=100", "--auto=no", "--show-percs=no", str(path)],
                         capture_output=True, text=True)
    assert run.returncode == 0 and not run.stderr, run.stderr
    sums, total = Counter(), None
    for line in run.stdout.splitlines():
        match = re.fullmatch(r"\s*([\d,]+) +(.*)", line)
        if not match:
            continue
        ns = int(match[1].replace(",", ""))
        if match[2].removesuffix(" (calculated)").endswith("PROGRAM TOTALS"):
            total = ns
        else:
            sums[match[2]] += ns
    if total is None:  # Nothing to annotate.
        assert not sums, run.stdout
        total = 0
    assert total == sum(sums.values()), f"totals {total}, functions {sum(sums.values())}"
    return total


def luaprofiler(text):
    lines = text.splitlines()
    assert lines[0].split("\t") == ["stack_level", "file_defined", "function_name", "line_defined",
                                    "current_line", "local_time", "total_time"], lines[0]
    sums = Counter()
    for line in lines[1:]:
        level, _, name, defined, current, local, total = line.split("\t")
        assert int(level) >= 1 and int(defined) >= 0 and int(current) == -1
        own, whole = (int(t.replace(".", "")) for t in (local, total))
        assert own <= whole + 2, line
        sums[plain(name)] += own
    return +sums


def luaprofile(text):
    rows = list(csv.reader(io.StringIO(text), strict=True))
    assert rows[0] == ["File Name", "Line", "Function Name", "Call Times", "Full Call Clock(Total)",
                       "Full Call Clock(Avg.)", "Inner Call Clock(Total)", "Inner Call Clock(Avg.)",
                       "Native Call Clock(Total)", "Native Call Clock(Avg.)"], rows[0]
    sums = Counter()
    for row in rows[1:]:
        full, inner, native = (int(row[i].replace(".", "")) for i in (4, 6, 8))
        assert full >= inner and full >= native, row
        sums[plain(row[2])] += inner
    return +sums


def xmake(text):
    """Calls by place: the format has no self times."""
    calls = Counter()
    for line in text.splitlines():
        match = re.fullmatch(r" *(\d+\.\d{3}), +(\d+\.\d{2})%, +(\d+), (.*) : (.*): (\d+)", line)
        assert match, f"not a line of xmake's: {line!r}"
        calls[match[5], match[6]] += int(match[3])
    return calls

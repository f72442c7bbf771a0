// SPDX-License-Identifier: MIT
// --format parquet: both engines read the same rows, and their sums are those of the report.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, test } from "node:test";
import { closeDuckdb, here, json, query, rows, write } from "./tables.mjs";

const scratch = (name) => path.join(process.env.SCRATCH, name);
const plain = (row) => Object.fromEntries(Object.entries(row).map(([k, v]) => [k, typeof v === "bigint" ? Number(v) : v]));
const key = (row) => JSON.stringify(plain(row));
after(closeDuckdb);

// The tables as both engines read them, which must be the same: {calls, functions, requests}.
async function tables(folder) {
  const out = {};
  for (const name of ["calls", "functions", "requests"]) {
    const file = path.join(folder, `${name}.parquet`);
    const [ours, theirs] = [await rows(file), await query(`SELECT * FROM '${file}'`)];
    assert.equal(ours.length, theirs.length, name);
    assert.deepEqual(ours.map(key), theirs.map(key), name);
    out[name] = ours.map(plain);
  }
  return out;
}
function sums(calls, field) {
  const all = {};
  for (const c of calls) all[c.function] = (all[c.function] ?? 0) + c[field];
  return all;
}

// The sums of the functions with these tables; slack: ns by which the report may differ, which rounds in
// each place of the call tree.
async function check(trace, args = [], slack = 0) {
  const folder = scratch(`t${readdirSync(process.env.SCRATCH).length}`);
  const ran = write(trace, folder, args);
  assert.deepEqual([ran.status, ran.stderr], [0, ""]);
  assert.deepEqual(readdirSync(folder).sort(), ["calls.parquet", "functions.parquet", "requests.parquet"]);
  const t = await tables(folder), report = json(trace, args.filter((a) => a !== "--label" && !a.startsWith("host=")));
  const self = sums(t.calls, "self_ns"), functions = Object.fromEntries(t.functions.map((f) => [f.function, f]));
  assert.equal(Object.keys(functions).length, t.functions.length);
  for (const f of report.functions.filter((f) => f.self_ns || f.calls)) {
    const names = Object.values(functions).filter((o) => o.kind === f.kind && o.line === (f.kind === "lua" ? f.line : 0) &&
      (f.name === "" || o.name.includes(f.name.replace(/[\n\t]/g, ""))) || o.name === f.name);
    if (names.length !== 1) continue;  // Names that are shown otherwise: in the sum below.
    assert.ok(Math.abs((self[names[0].function] ?? 0) - f.self_ns) <= slack, `${f.name}: ${self[names[0].function]}, ${f.self_ns}`);
  }
  const total = Object.values(self).reduce((a, b) => a + b, 0);
  assert.ok(Math.abs(total - report.trace.self_ns) <= slack * report.functions.length, `${total}, ${report.trace.self_ns}`);
  return { ...t, report, folder };
}

test("each call of a small trace", async () => {
  const { calls } = await check(path.join(here, "../export/simple.txt"), ["--label", "host=gw7"]);
  const short = calls.map((c) => [c.function, c.caller, c.coroutine, c.start_ns, c.inclusive_ns, c.self_ns, c.suspended_ns, c.beginning, c.end]);
  const [main, work, inner, gsub] = ["main (dir/x.lua:10)", "work (dir/x.lua:20)", "inner (dir/x.lua:30)", "string.gsub"];
  assert.deepEqual(short, [
    [gsub, main, 1, 50, 50, 50, 0, "seen", "return"],
    [inner, work, 2, 30, 20, 20, 70, "seen", "return"],
    [work, main, 2, 25, 30, 10, 70, "seen", "return"],
    [main, "", 1, 0, 150, 70, 0, "seen", "return"],
  ]);
  for (const c of calls) assert.deepEqual([c.host, c.process, c.thread, c.vm, c.request, c.labels], ["gw7", 7, 7, 1, 0, "{}"]);
});

test("coroutines, errors, calls that were open", async () => {
  const { calls } = await check(path.join(here, "../export/coroutines.txt"));
  assert.deepEqual([...new Set(calls.map((c) => c.end))].sort(), ["error", "open", "return", "tail call"]);
  assert.ok(calls.some((c) => c.beginning === "unseen") && calls.every((c) => c.start_ns >= 1700000000000000000));
  assert.equal(new Set(calls.map((c) => `${c.process}:${c.thread}:${c.vm}`)).size, 2);
});

test("calls inside compiled segments are marked", async () => {
  const { calls } = await check(path.join(here, "../views/data/segments.txt"));
  assert.deepEqual(calls.map((c) => [c.function.split(" ")[0], c.inside]), [["work", 1], ["work", 1], ["work", 1], ["exact", 0], ["main", 0]]);
});

test("labels and requests", async () => {
  const { calls } = await check(path.join(here, "../views/data/labels.txt"));
  const handles = calls.filter((c) => c.function.startsWith("handle")).map((c) => c.labels);
  assert.deepEqual(handles, ['{"other":"zoe","user":"alice"}', '{"other":"zoe"}', '{"other":"zoe","user":"carol"}']);
  const nginx = await check(path.join(here, "../views/data/nginx.txt"));
  const wanted = json(path.join(here, "../views/data/nginx.txt"), ["--requests", "--limit", "0"]).requests;
  assert.ok(wanted.length === 5 && nginx.requests.length === 5);
  for (const r of nginx.requests) {
    const w = wanted.find((o) => o.id === r.id);
    assert.deepEqual([r.wall_ns, r.running_ns, r.wait_ns, r.others_ns, r.unattributed_ns],
      [w.wall_ns, w.running_ns, w.waits_ns ?? w.wait_ns, w.others_ns, w.unattributed_ns]);
    const own = nginx.calls.filter((c) => c.vm === r.vm && c.request === r.request);
    assert.equal(own.reduce((sum, c) => sum + c.self_ns, 0), r.running_ns, `request ${r.id}`);
  }
});

// A trace up to tick 20, in which coroutine 2 has called outer(). clock: its rate.
const inOuter = (clock) => `#luatrace-text 1
clock monotonic ${clock} start=0 mono=0 real=0
process 1 pid=10 exe="/x" cmd="x"
stream 1 process=1 tid=10 recording=1 luajit="LuaJIT 2.1"
func 1:1 lua line=1 last=9 chunk="@a.lua" name="outer"
func 1:2 lua line=2 last=3 chunk="@a.lua" name="inner"
0 1 ringblock co=1 tid=10 rec=1
0 1 start rec=1 flags=0x1
0 1 create 2
10 1 resume 2
20 1 entry 1
`;

// Calls that end one after the other are taken in runs, which belong to one request.
test("a request that is given to a coroutine while a call is open", async () => {
  const trace = scratch("given.txt");
  const calls = Array.from({ length: 50 }, (_, i) => `${100 + 10 * i} 1 entry 2\n${105 + 10 * i} 1 return 2\n`);
  writeFileSync(trace, `${inOuter("mult=1 shift=0")}50 1 request 2 0xa000
${calls.join("")}900 1 return 1
910 1 suspend done
920 1 stop close
end exit=0
`);
  const { calls: rows, requests } = await check(trace);
  assert.equal(requests.length, 1);
  assert.deepEqual(rows.map((c) => c.request), Array(51).fill(requests[0].request));
});

test("filters apply", async () => {
  const trace = path.join(here, "../export/coroutines.txt");
  for (const args of [["-D", "2"], ["-H", "/^(work|any|equal) /"], ["-N", "/^inner /"], ["-F", "/^work /"], ["--kind", "lua"], ["-r", "20%~70%"]])
    await check(trace, args);
});

test("many rows: several groups of rows, every encoding", async () => {
  const trace = scratch("synth.bin");
  execFileSync(process.env.SYNTH, ["-o", trace, "--events", "300000", "--functions", "300", "--streams", "2"]);
  const { calls, report } = await check(trace, [], 2000);
  assert.ok(calls.length > 140000, `${calls.length} calls`);
  assert.equal(calls.filter((c) => c.beginning === "seen").length, report.functions.reduce((sum, f) => sum + f.calls, 0));
});

test("several files: a function is one, and so is each row", async () => {
  const trace = path.join(here, "../export/simple.txt"), folder = scratch("two");
  const copy = scratch("copy.txt");
  execFileSync("cp", [trace, copy]);
  assert.equal(write(trace, folder, [copy]).status, 0);
  const { calls, functions } = await tables(folder);
  assert.deepEqual([calls.length, functions.length, new Set(calls.map((c) => c.file)).size], [8, 4, 2]);
});

test("complete or nothing", async () => {
  const trace = path.join(here, "../export/simple.txt");
  writeFileSync(scratch("file"), "");
  const profile = scratch("saved.profile");
  execFileSync(process.env.ANALYZE, ["-q", trace, "--save-profile", profile]);
  const refused = [
    [write(profile, scratch("none")), 1, /saved.profile: a saved profile has no events, which --format parquet needs/],
    [write(trace, "-"), 1, /give it a directory/],
    [write(trace, "/proc/nowhere/x"), 2, /cannot write: No such file/],
    [write(trace, scratch("file")), 2, /cannot write: calls.parquet: Not a directory/],
  ];
  for (const [ran, status, message] of refused) {
    assert.equal(ran.status, status, ran.stderr);
    assert.match(ran.stderr, message);
  }
  // No table is there before all are: a directory is in the way of one.
  const folder = scratch("partly");
  mkdirSync(path.join(folder, "requests.parquet"), { recursive: true });
  const ran = write(trace, folder);
  assert.equal(ran.status, 2);
  assert.deepEqual(readdirSync(folder), ["requests.parquet"]);
  // What is no table of ours stays.
  const other = scratch("other"), file = path.join(other, "functions.parquet");
  mkdirSync(other);
  for (const text of ["mine", "PAR1 of another program PAR1"]) {
    writeFileSync(file, text);
    const kept = write(trace, other);
    assert.deepEqual([kept.status, readdirSync(other), readFileSync(file, "utf8")], [2, ["functions.parquet"], text]);
    assert.match(kept.stderr, /functions.parquet: it exists and is not /);
  }
  assert.equal(write(trace, other, ["--force"]).status, 0);
  assert.equal(write(trace, other).status, 0);
});

// Of ticks that are no whole ns, in runs and in calls that are taken one by one.
test("times are rounded one by one: what was not suspended has no suspended time", async () => {
  const trace = scratch("thirds.txt"), mult = 715827883n, ns = (ticks) => Number((BigInt(ticks) * mult) >> 31n);
  const lines = [], expected = [];
  let t = 100;
  for (let i = 0; i < 400; i++) {
    const begin = t + 1 + (i % 5), length = 1 + (i % 11), away = i % 100 === 50 ? 1000 + i : 0;
    lines.push(`${begin} 1 entry 2`);
    if (away) lines.push(`${begin} 1 suspend yield`, `${begin + away} 1 resume 2`);
    t = begin + away + length;
    lines.push(i % 7 ? `${t} 1 return 2` : `${t} 1 tail 2`);
    expected.push(["inner", ns(begin), ns(length), ns(away), i % 7 ? "return" : "tail call"]);
  }
  writeFileSync(trace, `${inOuter(`mult=${mult} shift=31`)}${lines.join("\n")}
${t + 10} 1 return 1
${t + 20} 1 suspend done
${t + 30} 1 stop close
end exit=0
`);
  const { calls } = await check(trace, [], 1);
  const outer = calls.pop(), away = 4 * 1000 + 50 + 150 + 250 + 350;
  // Self times are rounded so that their sum is exact: by up to 1 ns up.
  calls.forEach((c, i) => (expected[i][2] = Math.max(expected[i][2], c.self_ns)));
  assert.deepEqual(calls.map((c) => [c.function.split(" ")[0], c.start_ns, c.inclusive_ns, c.suspended_ns, c.end]), expected);
  assert.deepEqual([outer.inclusive_ns, outer.suspended_ns], [ns(t + 10 - 20 - away), ns(away)]);
});

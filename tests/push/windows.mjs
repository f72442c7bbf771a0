// SPDX-License-Identifier: MIT
// luatrace-record --push --every: windows of a running program, one after the other; what ends them,
// and what happens to them while the server is away.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { GOOD, readPprof, run, start } from "./server.mjs";

const { RECORD, LUAJIT, SCRATCH } = process.env;
const program = path.join(SCRATCH, "program.lua");
writeFileSync(program, "local function work() local x = 0 for i = 1, 1e5 do x = x + i % 7 end return x end\n" +
  "local function loop() local t = os.clock() while os.clock() - t < 60 do work() end end\nloop()\n");
const until = async (what) => {
  while (!what()) await new Promise((done) => setTimeout(done, 20));
};

// A program that runs meanwhile, and the end of `luatrace-record --push`.
async function record(t, url, args) {
  const child = spawn(LUAJIT, [program], { stdio: "ignore" });
  t.after(() => child.kill("SIGKILL"));
  await new Promise((done) => setTimeout(done, 300));
  const ended = run(RECORD, ["--push", `${url}/push.v1.PusherService/Push`, "-p", String(child.pid), "--label", "host=gw7",
    "--push-wait", "0", ...args], { TMPDIR: SCRATCH });
  return { child, ended };
}
// The windows that the server has: [[calls, self time] of the program's functions].
const windows = (server) => server.requests.map(({ body }) => {
  const [series] = JSON.parse(body).series;
  assert.equal(series.labels.find((l) => l.name === "host").value, "gw7");
  return readPprof(Buffer.from(series.samples[0].rawProfile, "base64"));
});
const left = () => readdirSync(SCRATCH).filter((name) => name.startsWith("luatrace-push."));

test("windows of events, until the program ends", async (t) => {
  const server = await start(() => GOOD.connect);
  t.after(() => server.stop());
  const { child, ended } = await record(t, server.url, ["--every", "1s", "-d", "300ms"]);
  await until(() => server.requests.length >= 3);
  child.kill("SIGKILL");
  const { status, err } = await ended;
  assert.equal(status, 0, err);
  for (const p of windows(server).slice(0, 3)) {
    const of = (name) => p.samples.filter((s) => s.stack.at(-1).startsWith(name + " "));
    assert.ok(of("work").some((s) => s.values[0] > 0 && s.values[1] > 0), JSON.stringify(p.samples.slice(0, 5)));
  }
  const parts = windows(server).filter((p) => p.samples.length);
  for (let i = 1; i < parts.length; i++) {
    const [a, b] = [parts[i - 1], parts[i]];
    assert.ok(a.time + a.duration < b.time, `windows one after the other: ${a.duration} ns from ${a.time}, then ${b.time}`);
  }
  assert.deepEqual(left(), []);
});

test("windows of samples, until a signal", async (t) => {
  const server = await start(() => GOOD.connect);
  t.after(() => server.stop());
  const { child } = await record(t, server.url, ["--every", "1s", "-d", "100ms"]); // only the program
  const recorder = spawn(RECORD, ["--push", `${server.url}/push.v1.PusherService/Push`, "-q", "--sample", "499", "--every", "1s",
    "-p", String(child.pid), "--label", "host=sampled"], { stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, TMPDIR: SCRATCH } });
  let err = "";
  recorder.stderr.on("data", (text) => (err += text));
  const end = new Promise((done) => recorder.on("close", done));
  const sampled = () => server.requests.filter(({ body }) => JSON.parse(body).series[0].labels.some((l) => l.value === "sampled"));
  const early = await Promise.race([end, until(() => sampled().length >= 2)]);
  if (early !== undefined) return t.skip(`no sampling here: ${err}`);
  recorder.kill("SIGTERM");
  assert.equal(await end, 0, err);
  const [series] = JSON.parse(sampled()[0].body).series;
  const p = readPprof(Buffer.from(series.samples[0].rawProfile, "base64"));
  assert.ok(p.samples.some((s) => s.stack.some((f) => f.startsWith("loop "))), JSON.stringify(p.samples.slice(0, 5)));
});

test("the server is away: windows wait in the spool, and none is sent twice", async (t) => {
  let answer = { status: 503 };
  const server = await start(() => answer);
  t.after(() => server.stop());
  const spool = path.join(SCRATCH, "spool");
  const { child, ended } = await record(t, server.url, ["--every", "1s", "-d", "100ms", "--push-spool", spool]);
  await until(() => server.requests.length >= 2);
  const refused = server.requests.length;
  answer = GOOD.connect;
  await until(() => server.requests.length >= refused + 3);
  child.kill("SIGKILL");
  const { err } = await ended;
  const taken = windows(server).slice(refused).map((p) => p.time);
  assert.equal(new Set(taken).size, taken.length, "none twice");
  assert.match(err, /waiting: the next --push sends them first/);
  assert.deepEqual(left(), []);
});

test("windows that the server does not take: status 1", async (t) => {
  const server = await start(() => ({ status: 404 }));
  t.after(() => server.stop());
  const { child, ended } = await record(t, server.url, ["--every", "1s", "-d", "100ms"]);
  await until(() => server.requests.length >= 2);
  child.kill("SIGKILL");
  const { status, err } = await ended;
  assert.match(err, /0 windows pushed, [1-9]\d* not/);
  assert.equal(status, 1, err);
});

test("a full spool: what does not fit is missing, status 1", async (t) => {
  const server = await start(() => ({ status: 503 }));
  t.after(() => server.stop());
  const spool = path.join(SCRATCH, "small");
  const { child, ended } = await record(t, server.url, ["--every", "1s", "-d", "100ms", "--push-spool", spool, "--push-spool-limit", "1K"]);
  await new Promise((done) => setTimeout(done, 2500));
  child.kill("SIGKILL");
  const { status, err } = await ended;
  assert.match(err, /0 windows pushed, [1-9]\d* not/);
  assert.match(err, /full: \d+ bytes are in it, \d+ more are over the limit of 1024/);
  assert.equal(status, 1, err);
});

test("wrong options are refused before anything is recorded", async (t) => {
  for (const [url, args, message] of [
    ["http://127.0.0.1:1/nowhere", [], /it is not known what the server takes at '\/nowhere'/],
    ["ftp://127.0.0.1/ingest", [], /the URL must be http/],
    ["http://u:p@127.0.0.1:1/ingest", [], /--push-headers FILE/],
    ["http://127.0.0.1:1/ingest", ["--push-headers", "/nonexistent"], /cannot read: No such file/],
    ["http://127.0.0.1:1/ingest", ["--label", "x"], /--label: invalid value 'x'/]]) {
    const child = spawn(LUAJIT, [program], { stdio: "ignore" });
    t.after(() => child.kill("SIGKILL"));
    const recorder = spawn(RECORD, ["--push", url, "-p", String(child.pid), "--every", "20s", ...args],
      { stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, TMPDIR: SCRATCH } });
    t.after(() => recorder.kill("SIGKILL"));
    let err = "";
    recorder.stderr.on("data", (text) => (err += text));
    assert.equal(await new Promise((done) => recorder.on("close", done)), 125, err);
    assert.match(err, message);
    assert.doesNotMatch(err, /windows? pushed/);
    child.kill("SIGKILL");
  }
  assert.deepEqual(left(), []);
});

test("wrong use", async () => {
  for (const [args, message] of [
    [["--push", "http://127.0.0.1:1/ingest", "-o", "x", "-p", "1"], /--push excludes --output/],
    [["--push", "http://127.0.0.1:1/ingest"], /--push needs processes to attach to/],
    [["--every", "1s", "-p", "1", "-o", "x"], /need --push URL/],
    [["--push", "http://127.0.0.1:1/ingest", "-p", "1", "--every", "1s", "-d", "2s"], /longer than --every/]]) {
    const { status, err } = await run(RECORD, args);
    assert.equal(status, 125);
    assert.match(err, message);
  }
  const gone = await run(RECORD, ["--push", "http://127.0.0.1:1/ingest", "-p", "999999999"], { TMPDIR: SCRATCH });
  assert.ok([120, 125].includes(gone.status), `${gone.status} ${gone.err}`);
  assert.deepEqual(left(), []);
});

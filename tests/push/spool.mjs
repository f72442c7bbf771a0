// SPDX-License-Identifier: MIT
// --push-spool: profiles wait in it while the server is away; none is lost, none is sent twice.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, renameSync, statSync, truncateSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { analyze, GOOD, here, start } from "./server.mjs";

const trace = path.join(here, "../export/simple.txt");
let folders = 0;

// A spool of its own, and functions that use it.
function spool() {
  const folder = path.join(process.env.SCRATCH, `spool${++folders}`);
  const entries = () => readdirSync(folder).filter((name) => name !== "lock").sort();
  return {
    folder, entries,
    states: () => entries().map((name) => name.slice(name.indexOf("."))),
    push: (url, host, more, environment) => analyze(commandLine(folder, url, host, more), environment),
  };
}
const commandLine = (folder, url, host, more = []) => {
  const wait = more.includes("--push-wait") ? [] : ["--push-wait", "5s"];
  return ["-q", trace, "--push", `${url}/push.v1.PusherService/Push`, "--push-spool", folder, "--label", `host=${host}`, ...wait, ...more];
};
// The hosts whose profiles the server has, in the order of their arrival.
const hosts = (server) => server.requests.map(({ body }) =>
  JSON.parse(body).series[0].labels.find((l) => l.name === "host").value);
const away = { status: 503 };
const until = async (what) => {
  while (!what()) await new Promise((done) => setTimeout(done, 20));
};

test("the server is away, and comes back", async () => {
  const s = spool();
  let answer = away;
  const server = await start(() => answer);
  writeFileSync(path.join(process.env.SCRATCH, "headers"), "Authorization: Bearer s3cret\n");
  const secret = ["--push-headers", path.join(process.env.SCRATCH, "headers")];
  for (const host of ["a", "b", "c"]) {
    const { status, err } = await s.push(server.url, host, [...secret, "--push-wait", "0"], { LUATRACE_PUSH_HEADERS: "X: s3cret" });
    assert.equal(status, 5);
    assert.match(err, /waiting: the next --push sends them first/);
  }
  assert.deepEqual(s.states(), [".push", ".push", ".push"]);
  for (const name of s.entries()) {
    assert.equal(statSync(path.join(s.folder, name)).mode & 0o777, 0o600);
    assert.ok(!readFileSync(path.join(s.folder, name)).includes("s3cret"));
  }
  assert.equal(statSync(s.folder).mode & 0o777, 0o700);
  answer = GOOD.connect;
  server.requests.length = 0;
  const { status, err } = await s.push(server.url, "d", secret);
  await server.stop();
  assert.deepEqual([status, err], [0, ""]);
  assert.deepEqual(hosts(server), ["a", "b", "c", "d"]);
  assert.deepEqual(s.entries(), []);
});

test("the server restarts meanwhile", async () => {
  const s = spool(), first = await start(() => away);
  const running = s.push(first.url, "a", ["--push-wait", "20s"]);
  await until(() => first.answered() > 0); // the next attempt comes after a pause
  await first.stop();
  const second = await start(() => GOOD.connect, { port: first.port });
  const { status } = await running;
  await second.stop();
  assert.deepEqual([status, second.count(), s.entries().length], [0, 1, 0]);
});

test("what was being sent by a process that was killed is not sent again", async () => {
  const s = spool(), silent = await start(() => ({ ...GOOD.connect, delay: 60000 }));
  const child = spawn(process.env.ANALYZE, commandLine(s.folder, silent.url, "a", ["--push-wait", "60s"]));
  await until(() => silent.requests.length);
  child.kill("SIGKILL");
  await new Promise((done) => child.on("close", done));
  await silent.stop();
  assert.deepEqual(s.states(), [".sending"]);
  const server = await start(() => GOOD.connect);
  const { status } = await s.push(server.url, "b");
  assert.deepEqual([status, hosts(server), s.states()], [0, ["b"], [".unanswered"]]);
  // As the manual says, for those who would rather have it twice than not at all.
  const name = path.join(s.folder, s.entries()[0]);
  renameSync(name, name.replace(".unanswered", ".push"));
  assert.equal((await s.push(server.url, "c")).status, 0);
  await server.stop();
  assert.deepEqual([hosts(server), s.entries()], [["b", "a", "c"], []]);
});

test("no answer, and no", async () => {
  const s = spool(), answers = ["hang up", { status: 400, body: "bad" }, GOOD.connect];
  const server = await start((_, n) => answers[n - 1]);
  const lost = await s.push(server.url, "a"), refused = await s.push(server.url, "b"), good = await s.push(server.url, "c");
  await server.stop();
  assert.deepEqual([lost.status, refused.status, good.status], [5, 5, 0]);
  assert.match(lost.err, /\.unanswered: sent, but no answer came/);
  assert.match(refused.err, /HTTP status 400: bad\n.*\.refused: the server refused it/);
  assert.deepEqual([s.states(), server.count()], [[".unanswered", ".refused"], 3]);
});

test("wrong credentials: it waits", async () => {
  const s = spool(), server = await start((_, n) => (n === 1 ? { status: 401 } : GOOD.connect));
  assert.equal((await s.push(server.url, "a")).status, 5);
  assert.deepEqual(s.states(), [".push"]);
  assert.equal((await s.push(server.url, "b")).status, 0);
  await server.stop();
  assert.deepEqual(hosts(server), ["a", "a", "b"]);
});

test("a full spool", async () => {
  const s = spool(), server = await start(() => away);
  await s.push(server.url, "a", ["--push-wait", "0"]);
  const size = statSync(path.join(s.folder, s.entries()[0])).size;
  const { status, err } = await s.push(server.url, "b", ["--push-wait", "0", "--push-spool-limit", `${size + 100}`]);
  await server.stop();
  assert.equal(status, 2);
  assert.match(err, /full: \d+ bytes are in it, \d+ more are over the limit of \d+/);
  assert.equal(s.entries().length, 1);
});

test("several at once", async () => {
  const s = spool(), server = await start(() => ({ ...GOOD.connect, delay: 30 }));
  const names = ["a", "b", "c", "d", "e", "f"];
  const ran = await Promise.all(names.map((host) => s.push(server.url, host, ["--push-wait", "30s"])));
  await server.stop();
  assert.deepEqual(ran.map((r) => r.status), names.map(() => 0));
  assert.deepEqual(hosts(server).sort(), names);
});

test("damaged entries, those of other forms, and folders that cannot be", async () => {
  const s = spool();
  await s.push("http://127.0.0.1:1", "a", ["--push-wait", "0"]);
  await s.push("http://127.0.0.1:1", "b", ["--push-wait", "0"]);
  truncateSync(path.join(s.folder, s.entries()[0]), 300);
  writeFileSync(path.join(s.folder, "0.push.part"), "half");
  await analyze(["-q", trace, "--push", "http://127.0.0.1:1/ingest", "--push-spool", s.folder, "--push-wait", "0"]);
  const server = await start(() => GOOD.connect);
  const { status, err } = await s.push(server.url, "c");
  await server.stop();
  assert.deepEqual([status, hosts(server)], [0, ["b", "c"]]);
  assert.match(err, /1 damaged: not sent/);
  assert.match(err, /1 for servers of another form: not sent/);
  assert.deepEqual(s.states(), [".push", ".push"]);
  const none = await analyze(commandLine("/proc/nowhere", server.url, "d"));
  assert.equal(none.status, 2);
  assert.match(none.err, /--push-spool: '\/proc\/nowhere': No such file/);
  assert.ok(!existsSync("/proc/nowhere"));
});

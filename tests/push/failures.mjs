// SPDX-License-Identifier: MIT
// What happens if the server does not take the profile: sent again only if the server has surely not
// taken it, and a status and a message for each failure.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import net from "node:net";
import path from "node:path";
import { test } from "node:test";
import { analyze, GOOD, here, start } from "./server.mjs";

const trace = path.join(here, "../export/simple.txt");
const scratch = (name) => path.join(process.env.SCRATCH, name);
const ids = (server) => server.requests.map((r) => r.headers["idempotency-key"]);

// Pushes to a server that gives these answers, one after the other; the last one again and again.
async function pushed(answers, args = [], { form = "/push.v1.PusherService/Push", environment } = {}) {
  const server = await start((_, n) => answers[Math.min(n, answers.length) - 1]);
  const ran = await analyze(["-q", trace, "--push", server.url + form, ...args], environment);
  await server.stop();
  return { ...ran, server, count: server.count() };
}

test("errors that pass: again, with growing pauses or when the server says so", async () => {
  const { status, err, server, count } = await pushed(
    [{ status: 500 }, { status: 503 }, { status: 429, headers: { "Retry-After": "1" } }, GOOD.connect]);
  assert.deepEqual([status, err, count], [0, "", 4]);
  assert.equal(new Set(ids(server)).size, 1);
  assert.equal(new Set(server.requests.map((r) => r.body.toString())).size, 1);
});

test("until the time is over", async () => {
  const busy = { status: 503, body: "too busy\nsecond line" };
  const { status, err, count } = await pushed([busy], ["--push-wait", "700ms"]);
  assert.equal(status, 5);
  assert.match(err, /HTTP status 503: too busy$/m);
  assert.doesNotMatch(err, /second line/);
  assert.ok(count >= 1 && count <= 3, `${count} attempts`);
  const later = { status: 429, headers: { "Retry-After": "3600" } };
  assert.equal((await pushed([later])).count, 1);
  assert.equal((await pushed([busy], ["--push-wait", "0"])).count, 1);
});

test("a server that starts late", async () => {
  const first = await start(() => GOOD.connect), { port } = first;
  await first.stop();
  const running = analyze(["-q", trace, "--push", `${first.url}/push.v1.PusherService/Push`]);
  await new Promise((done) => setTimeout(done, 400));
  const second = await start(() => GOOD.connect, { port });
  const { status, err } = await running;
  await second.stop();
  assert.deepEqual([status, err, second.count()], [0, "", 1]);
});

// A trace whose profile is several megabytes, compressed.
function largeTrace() {
  const lines = ["#luatrace-text 1", "clock monotonic mult=1 shift=0", "process 1 pid=7", "stream 1 process=1 tid=7", "0 1 start"];
  for (let i = 1; i <= 60000; i++)
    lines.push(`func 1:${i} lua line=${i} chunk="@a.lua" name="${randomBytes(60).toString("hex")}"`, `${i} 1 entry ${i}`, `${i} 1 return ${i}`);
  writeFileSync(scratch("large.txt"), `${lines.join("\n")}\nend exit=0\n`);
  return scratch("large.txt");
}

test("a connection that breaks in the request: again", async () => {
  const real = await start(() => GOOD.parca);
  let connections = 0;
  const server = net.createServer({ pauseOnConnect: true }, (socket) => {
    socket.on("error", () => {});
    if (++connections <= 2) return setTimeout(() => socket.resetAndDestroy(), 200);
    const other = net.connect(real.port, "127.0.0.1");
    socket.pipe(other).pipe(socket);
    other.on("error", () => socket.destroy());
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const url = `http://127.0.0.1:${server.address().port}/profiles/writeraw`;
  const ran = await analyze(["-q", largeTrace(), "--push", url]);
  server.close();
  await real.stop();
  assert.deepEqual([ran.status, ran.err], [0, ""]);
  assert.deepEqual([connections, real.count()], [3, 1]);
  assert.ok(real.requests[0].body.length > 4e6, `${real.requests[0].body.length} bytes`);
});

test("a request whose answer is missing is not sent again", async () => {
  for (const [answer, args] of [["hang up", []], [{ ...GOOD.connect, delay: 5000 }, ["--push-wait", "1s"]]]) {
    const { status, err, count } = await pushed([answer, GOOD.connect], args);
    assert.deepEqual([status, count], [5, 1]);
    assert.match(err, /sent, but no answer came: whether the server has it is not known/);
  }
});

test("a slow answer is waited for", async () => {
  const { status, err, count } = await pushed([{ ...GOOD.connect, delay: 1500 }]);
  assert.deepEqual([status, err, count], [0, "", 1]);
});

test("what does not pass: once, with what the server says", async () => {
  for (const [code, body] of [[400, "invalid labels"], [401, "who are you"], [404, "page not found"], [413, "too large"], [501, "no"]]) {
    const { status, err, count } = await pushed([{ status: code, body }, GOOD.connect]);
    assert.deepEqual([status, count], [5, 1], `${code}`);
    assert.ok(err.includes(`HTTP status ${code}: ${body}`), err);
  }
  const other = await start(() => GOOD.connect);
  const moved = { status: 307, headers: { Location: `${other.url}/push.v1.PusherService/Push` } };
  const { status, count } = await pushed([moved]);
  await other.stop();
  assert.deepEqual([status, count, other.count()], [5, 1, 0]);
});

test("nonsense", async () => {
  const page = { status: 200, type: "text/html; charset=utf-8", body: "<html>" };
  for (const [answer, form, args, message] of [
    [page, "/ingest", [], "the answer is a page"],
    [{ status: 200, body: "ok" }, "/push.v1.PusherService/Push", [], "not a JSON object"],
    [{ status: 200, body: "\x0b\xff\xff" }, "/v1development/profiles", ["--push-as", "otlp-1.11"], "not an OTLP answer"],
    [{ status: 200, body: Buffer.from("\x0a\x0a\x08\x04\x12\x06too old", "latin1") }, "/v1development/profiles",
      ["--push-as", "otlp-1.11"], "not an OTLP answer"],
    [{ status: 200, body: Buffer.from("\x0a\x0b\x08\x04\x12\x07too old", "latin1") }, "/v1development/profiles",
      ["--push-as", "otlp-1.11"], "rejected 4 of 4 profiles: too old"]]) {
    const { status, err, count } = await pushed([answer], args, { form });
    assert.deepEqual([status, count], [5, 1], message);
    assert.ok(err.includes(message), err);
  }
  const escape = await pushed([{ status: 400, body: "\x1b[31mred" }]);
  assert.ok(escape.err.includes("\\x1b[31mred") && !escape.err.includes("\x1b"), escape.err);
});

test("secret headers come from a file and the environment", async () => {
  writeFileSync(scratch("headers"), "# for the gateway\n\nAuthorization: Bearer s3cret\r\n");
  const { status, err, server } = await pushed([GOOD.connect], ["--push-headers", scratch("headers")],
    { environment: { LUATRACE_PUSH_HEADERS: "X-Scope-OrgID: team-a" } });
  assert.deepEqual([status, err], [0, ""]);
  const { headers } = server.requests[0];
  assert.deepEqual([headers.authorization, headers["x-scope-orgid"]], ["Bearer s3cret", "team-a"]);
  writeFileSync(scratch("headers"), "s3cret without a name\n");
  const wrong = await pushed([GOOD.connect], ["--push-headers", scratch("headers")]);
  assert.deepEqual([wrong.status, wrong.count], [1, 0]);
  assert.match(wrong.err, /line 1 is not 'Name: value'/);
  assert.doesNotMatch(wrong.err, /s3cret/);
});

test("wrong usage", async () => {
  for (const [args, message] of [
    [["--push", "gw7:4040"], "the URL must be http"],
    [["--push", "http:///ingest"], "the URL must be http"],
    [["--push", "http://user:s3cret@gw7/ingest"], "use --push-headers FILE"],
    [["--push", "http://gw7/ingest?name=x"], "must end with its path"],
    [["--push", "http://gw7/other"], "say it with --push-as"],
    [["--push", "http://gw7"], "say it with --push-as"],
    [["--push", "http://gw7/v1development/profiles"], "--push-as otlp-1.11"],
    [["--push", "http://gw7", "--push-as", "otlp-1.10"], "choose pyroscope, pyroscope-connect, parca or otlp-1.11"],
    [["--push", "http://gw7/ingest", "--label", "host"], "write KEY=VALUE"],
    [["--push", "http://gw7/ingest", "--label", "__name__=x"], "write KEY=VALUE"],
    [["--push", "http://gw7/ingest", "--label", "host="], "has no value"],
    [["--push", "http://gw7/ingest", "--push-headers", "/nowhere"], "cannot read: No such file"],
    [["--push", "http://gw7/ingest", "--push-ca", "/nowhere"], "cannot read: No such file"],
    [["--push", "http://gw7/ingest", "--push-spool", "x", "--push-spool-limit", "much"], "not a size"],
    [["--push", "http://gw7/ingest", "--diff", trace], "cannot be combined"],
    [["--label", "host=x"], "--label needs --push URL"]]) {
    const { status, err } = await analyze(["-q", trace, ...args]);
    assert.equal(status, 1, `${args}: ${err}`);
    assert.ok(err.includes(message), err);
    assert.doesNotMatch(err, /s3cret/);
  }
  const nobody = await analyze(["-q", trace, "--push", "http://no-such-host.invalid/ingest", "--push-wait", "0"]);
  assert.equal(nobody.status, 5);
  assert.match(nobody.err, /resolve host/);
});

test("libcurl is loaded by --push only", async () => {
  const loads = async (args) => (await analyze(["-q", trace, ...args], { LD_DEBUG: "files" })).err.includes("libcurl");
  assert.equal(await loads(["--push", "http://127.0.0.1:1/ingest", "--push-wait", "0"]), true);
  assert.equal(await loads(["--folded=/dev/null"]), false);
});

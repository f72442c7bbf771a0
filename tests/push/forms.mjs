// SPDX-License-Identifier: MIT
// What each form of server gets: every field, and the same values as the other outputs have.
import assert from "node:assert/strict";
import path from "node:path";
import { test } from "node:test";
import zlib from "node:zlib";
import { analyze, decode, GOOD, here, readPprof, start } from "./server.mjs";

const trace = path.join(here, "../export/coroutines.txt");
const labels = ["--label", "host=gw7", "--label", "version=1.4,{x}"];

// Pushes the trace; returns the request.
async function push(form, place, args = labels) {
  const server = await start(() => GOOD[form]);
  try {
    const ran = await analyze(["-q", trace, "--push", server.url + place, ...args]);
    assert.deepEqual([ran.status, ran.err], [0, ""]);
    assert.equal(server.count(), 1);
    assert.equal(server.requests[0].method, "POST");
    return server.requests[0];
  } finally {
    await server.stop();
  }
}

// The sums of the report, and self time by stack as --folded has it.
async function report(args = []) {
  const { out } = await analyze(["-q", "--json", trace, ...args]);
  const { trace: sums, functions } = JSON.parse(out);
  const stacks = async (option) =>
    (await analyze(["-q", "--folded", ...option, trace, ...args])).out.trim().split("\n").map((line) => {
      const at = line.lastIndexOf(" ");
      return [line.slice(0, at), Number(line.slice(at + 1))];
    });
  const suspended = (await stacks(["--suspended"])).filter(([stack]) => stack.endsWith(";[suspended]"));
  return {
    calls: sum(functions.map((f) => f.calls)), self: sums.self_ns, duration: sums.duration_ns,
    suspended: sum(suspended.map(([, ns]) => ns)), folded: Object.fromEntries(await stacks([])),
  };
}
const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
// Names alone, as they are comparable with folded stacks of this trace.
const names = (stack) => stack.map((frame) => frame.slice(0, frame.lastIndexOf(" ")).trim());

// samples: {stack, values: calls, self, inclusive, suspended}
async function checkValues(samples) {
  const wanted = await report();
  const total = (n) => sum(samples.map((s) => s.values[n]));
  assert.ok(wanted.suspended > 0);
  assert.deepEqual([total(0), total(1), total(3)], [wanted.calls, wanted.self, wanted.suspended]);
  for (const s of samples) {
    const below = samples.filter((o) => s.stack.every((frame, i) => o.stack[i] === frame));
    assert.equal(s.values[2], sum(below.map((o) => o.values[1])), `inclusive of ${s.stack}`);
  }
  const selves = samples.map((s) => s.values[1]).filter(Boolean).sort((a, b) => a - b);
  assert.deepEqual(selves, Object.values(wanted.folded).sort((a, b) => a - b));
  assert.equal(new Set(samples.map((s) => s.stack.join("\n"))).size, samples.length);
  assert.ok(samples.some((s) => names(s.stack).join() === "main,work,inner"), JSON.stringify(samples));
}

async function checkPprof(bytes) {
  const p = readPprof(bytes), wanted = await report();
  assert.deepEqual(p.types,
    ["calls/count", "time/nanoseconds", "inclusive/nanoseconds", "suspended/nanoseconds"]);
  assert.equal(p.period, "time/nanoseconds 1");
  assert.equal(p.shown, "time");
  assert.equal(p.time, 1700000000000000000n);
  assert.equal(Number(p.duration), wanted.duration);
  assert.match(p.comment, /^trust: /);
  await checkValues(p.samples);
  return p;
}

// The parts of multipart/form-data: {name: {type, body}}.
function partsOf({ headers, body }) {
  const [, boundary] = headers["content-type"].match(/^multipart\/form-data; boundary=([\w-]+)$/);
  const pieces = body.toString("latin1").split(`--${boundary}`);
  assert.equal(pieces.shift(), "");
  assert.equal(pieces.pop(), "--\r\n");
  return Object.fromEntries(pieces.map((piece) => {
    const [, name, type, rest] = piece.match(
      /^\r\nContent-Disposition: form-data; name="(\w+)"; filename="\w+"\r\nContent-Type: (\S+)\r\n\r\n([^]*)\r\n$/);
    return [name, { type, body: Buffer.from(rest, "latin1") }];
  }));
}

test("Pyroscope: /ingest", async () => {
  const request = await push("pyroscope", "/ingest");
  const url = new URL(request.url, "http://x");
  assert.equal(url.pathname, "/ingest");
  assert.deepEqual(Object.fromEntries(url.searchParams), {
    name: "luajit{host=gw7,process=7,version=1.4__x_}", from: "1700000000", until: "1700000001",
    format: "pprof", spyName: "luatrace",
  });
  const parts = partsOf(request);
  assert.deepEqual(Object.keys(parts), ["profile", "sample_type_config"]);
  const config = JSON.parse(parts.sample_type_config.body);
  for (const [type, units] of [["calls", "count"], ["time", "nanoseconds"], ["inclusive", "nanoseconds"], ["suspended", "nanoseconds"]])
    assert.deepEqual(config[type], { units, aggregation: "sum", "display-name": type, sampled: false });
  assert.equal(Object.keys(config).length, 4);
  await checkPprof(parts.profile.body);
});

const pairs = { __name__: "luatrace", host: "gw7", process: "7", service_name: "luajit", version: "1.4,{x}" };
const listed = Object.entries(pairs).map(([name, value]) => ({ name, value }));

test("Pyroscope: Connect", async () => {
  const { url, headers, body } = await push("connect", "/push.v1.PusherService/Push");
  assert.equal(url, "/push.v1.PusherService/Push");
  assert.equal(headers["content-type"], "application/json");
  assert.equal(headers["connect-protocol-version"], "1");
  const message = JSON.parse(body);
  const { ID, rawProfile } = message.series[0].samples[0];
  assert.deepEqual(message, { series: [{ labels: listed, samples: [{ ID, rawProfile }] }] });
  assert.match(ID, /^[0-9a-f]{32}$/);
  assert.equal(headers["idempotency-key"], ID);
  await checkPprof(Buffer.from(rawProfile, "base64"));
});

test("Parca", async () => {
  const { url, headers, body } = await push("parca", "/profiles/writeraw");
  assert.equal(url, "/profiles/writeraw");
  assert.equal(headers["content-type"], "application/json");
  const message = JSON.parse(body), { raw_profile } = message.series[0].samples[0];
  assert.deepEqual(message,
    { series: [{ labels: { labels: listed }, samples: [{ raw_profile }] }], normalized: true });
  await checkPprof(Buffer.from(raw_profile, "base64"));
});

const otlp = (place, args) => push("otlp", place, ["--push-as", "otlp-1.11", ...args]);
const index = (fields, name) => Number(fields[name]?.[0] ?? 0n);
// The samples of all profiles by stack: {stack, values, labels}.
function otlpSamples(profiles, dictionary) {
  const text = (fields, name) => dictionary.string_table[index(fields, name)];
  const byStack = new Map();
  profiles.forEach((profile, n) => {
    for (const s of profile.samples ?? []) {
      const stack = dictionary.stack_table[index(s, "stack_index")].location_indices.map((at) => {
        const [line] = dictionary.location_table[Number(at)].lines;
        const f = dictionary.function_table[index(line, "function_index")];
        assert.equal(index(line, "line"), index(f, "start_line"));
        return `${text(f, "name_strindex")} ${text(f, "filename_strindex")}:${index(f, "start_line")}`;
      }).reverse();
      const key = stack.join("\n");
      if (!byStack.has(key)) byStack.set(key, { stack, values: [0, 0, 0, 0], labels: {} });
      byStack.get(key).values[n] = Number(s.values[0]);
      for (const at of s.attribute_indices ?? []) {
        const a = dictionary.attribute_table[Number(at)];
        byStack.get(key).labels[text(a, "key_strindex")] = a.value[0].string_value[0];
      }
    }
  });
  return [...byStack.values()];
}

test("OTLP", async () => {
  const { url, headers, body } = await otlp("/v1development/profiles", labels);
  assert.equal(url, "/v1development/profiles");
  assert.equal(headers["content-type"], "application/x-protobuf");
  assert.equal(headers["content-encoding"], "gzip");
  const message = decode(zlib.gunzipSync(body), path.join(here, "otlp.proto"), "otlp.ExportRequest");
  const [dictionary] = message.dictionary, [resource] = message.resource_profiles;
  // Entry 0 of each table is the zero value.
  for (const table of ["mapping", "location", "function", "link", "attribute", "stack"])
    assert.deepEqual(dictionary[`${table}_table`][0], {}, table);
  assert.equal(dictionary.string_table[0], "");
  for (const [name, table] of Object.entries(dictionary)) {
    const entries = table.map((entry) => JSON.stringify(entry, (_, v) => (typeof v === "bigint" ? `${v}` : v)));
    assert.equal(new Set(entries).size, entries.length, `${name} has an entry twice`);
  }
  assert.deepEqual(
    Object.fromEntries(resource.resource[0].attributes.map((a) => [a.key[0], a.value[0].string_value[0]])),
    { "host.name": "gw7", "process.pid": "7", "service.name": "luajit", "service.version": "1.4,{x}" });
  const [scope] = resource.scope_profiles, wanted = await report();
  assert.deepEqual(scope.scope[0], { name: ["luatrace"] });
  const text = (fields, name) => dictionary.string_table[index(fields, name)];
  const type = (v) => `${text(v, "type_strindex")}/${text(v, "unit_strindex")}`;
  assert.deepEqual(scope.profiles.map((p) => type(p.sample_type[0])),
    ["calls/count", "time/nanoseconds", "inclusive/nanoseconds", "suspended/nanoseconds"]);
  for (const p of scope.profiles) {
    assert.equal(p.time_unix_nano[0], 1700000000000000000n);
    assert.equal(index(p, "duration_nano"), wanted.duration);
    assert.equal(type(p.period_type[0]), type(p.sample_type[0]));
    assert.equal(p.period[0], 1n);
    const trust = dictionary.attribute_table[Number(p.attribute_indices[0])];
    assert.equal(text(trust, "key_strindex"), "luatrace.trust");
    assert.match(trust.value[0].string_value[0], /^45 events, none lost/);
  }
  await checkValues(otlpSamples(scope.profiles, dictionary));
});

test("groups are labels of samples", async () => {
  const byThread = ["--group-by", "thread"];
  const wanted = await report(byThread);
  const { body } = await push("connect", "/push.v1.PusherService/Push", byThread);
  const { samples } = readPprof(Buffer.from(JSON.parse(body).series[0].samples[0].rawProfile, "base64"));
  const threads = new Set(Object.keys(wanted.folded).map((stack) => stack.match(/^thread (\d+)/)[1]));
  assert.equal(threads.size, 2);
  for (const thread of threads) {
    const own = sum(samples.filter((s) => s.labels.thread === thread).map((s) => s.values[1]));
    assert.equal(own, sum(Object.entries(wanted.folded)
      .filter(([stack]) => stack.startsWith(`thread ${thread}`)).map(([, ns]) => ns)));
  }
  const packed = await otlp("/v1development/profiles", ["--group-by", "vm"]);
  const message = decode(zlib.gunzipSync(packed.body), path.join(here, "otlp.proto"), "otlp.ExportRequest");
  const grouped = otlpSamples(message.resource_profiles[0].scope_profiles[0].profiles, message.dictionary[0]);
  assert.deepEqual([...new Set(grouped.map((s) => `${s.labels.process}:${s.labels.vm}`))].sort(), ["7:1", "7:2"]);
});

test("a saved profile is pushed like its trace", async () => {
  const saved = path.join(process.env.SCRATCH, "saved");
  await analyze(["-q", trace, "--save-profile", saved]);
  const server = await start(() => GOOD.pyroscope);
  const ran = await analyze(["-q", saved, "--push", server.url, "--push-as", "pyroscope"]);
  await server.stop();
  assert.equal(ran.status, 0);
  assert.equal(new URL(server.requests[0].url, "http://x").pathname, "/ingest");
  await checkPprof(partsOf(server.requests[0]).profile.body);
});

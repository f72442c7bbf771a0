// SPDX-License-Identifier: MIT
// What is pushed is read by code that is not ours: Parca's own client (npm: @parca/client), which refuses
// fields that its schema does not have, and pprof-format. The sums are those of the report.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { test } from "node:test";
import zlib from "node:zlib";
import { GOOD, analyze, here, start } from "./server.mjs";

const { ANALYZE, MODULES, SCRATCH } = process.env;
const trace = path.join(here, "../views/data/labels.txt");
const require = createRequire(path.join(MODULES, "node_modules", "_"));

// The client's modules name others without ".js", as only bundlers understand it: a copy names them fully.
async function parcaClient() {
  const folder = path.join(SCRATCH, "client");
  cpSync(path.join(MODULES, "node_modules/@parca/client/dist"), folder, { recursive: true });
  symlinkSync(path.join(MODULES, "node_modules"), path.join(SCRATCH, "node_modules"));
  writeFileSync(path.join(folder, "package.json"), '{"type":"module"}');
  for (const name of readdirSync(folder, { recursive: true }).filter((n) => n.endsWith(".js"))) {
    const file = path.join(folder, name);
    writeFileSync(file, readFileSync(file, "utf8").replace(/(from\s+['"]\.[^'"]*?)(?:\.js)?(['"])/g, "$1.js$2"));
  }
  return import(path.join(folder, "parca/profilestore/v1alpha1/profilestore.js"));
}

async function push(place, good) {
  const server = await start(() => good);
  const { status, err } = await analyze(["-q", trace, "--label", "host=gw7", "--label", "version=1.4", "--push", server.url + place]);
  await server.stop();
  assert.deepEqual([status, err], [0, ""]);
  return server.requests[0].body;
}

// The sums of a profile's values, by name and unit.
function sums(gzipped) {
  const { Profile } = require("pprof-format");
  const p = Profile.decode(zlib.gunzipSync(gzipped)), text = (index) => p.stringTable.strings[Number(index)];
  return Object.fromEntries(p.sampleType.map((t, i) =>
    [`${text(t.type)} ${text(t.unit)}`, Number(p.sample.reduce((sum, s) => sum + BigInt(s.value[i]), 0n))]));
}
function check(gzipped) {
  const { functions, trace: all } = JSON.parse(execFileSync(ANALYZE, ["-q", "--json", trace]));
  const found = sums(gzipped);
  assert.deepEqual(Object.keys(found), ["calls count", "time nanoseconds", "inclusive nanoseconds", "suspended nanoseconds"]);
  assert.equal(found["calls count"], functions.reduce((sum, f) => sum + f.calls, 0));
  assert.equal(found["time nanoseconds"], all.self_ns);
}

test("Parca's client reads what Parca gets", async () => {
  const { WriteRawRequest } = await parcaClient();
  const body = (await push("/profiles/writeraw", GOOD.parca)).toString();
  const message = WriteRawRequest.fromJsonString(body, { ignoreUnknownFields: false });
  assert.throws(() => WriteRawRequest.fromJsonString(body.replace('"normalized"', '"normalised"'), { ignoreUnknownFields: false }));
  assert.equal(message.normalized, true);
  const labels = Object.fromEntries(message.series[0].labels.labels.map((l) => [l.name, l.value]));
  assert.deepEqual([labels.__name__, labels.host, labels.version], ["luatrace", "gw7", "1.4"]);
  check(message.series[0].samples[0].rawProfile);
});

test("pprof-format reads what Pyroscope gets", async () => {
  const { series } = JSON.parse(await push("/push.v1.PusherService/Push", GOOD.connect));
  check(Buffer.from(series[0].samples[0].rawProfile, "base64"));
});

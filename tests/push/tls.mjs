// SPDX-License-Identifier: MIT
// TLS: only a certificate of a trusted authority, for this host, and of today gets a request.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { analyze, GOOD, here, start } from "./server.mjs";

const trace = path.join(here, "../export/simple.txt");
const scratch = (name) => path.join(process.env.SCRATCH, name);
const openssl = (...args) => execFileSync("openssl", args, { stdio: ["ignore", "ignore", "pipe"] });

function authority(name) {
  openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", `/CN=${name}`,
    "-days", "2", "-keyout", scratch(`${name}.key`), "-out", scratch(`${name}.pem`));
}
// A certificate of the authority for these alternative names, valid for so many days.
function certificate(name, by, alternative, days) {
  openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", `/CN=${name}`,
    "-keyout", scratch(`${name}.key`), "-out", scratch(`${name}.csr`));
  writeFileSync(scratch(`${name}.ext`), `subjectAltName=${alternative}\n`);
  openssl("x509", "-req", "-in", scratch(`${name}.csr`), "-CA", scratch(`${by}.pem`), "-CAkey", scratch(`${by}.key`),
    "-CAcreateserial", "-days", `${days}`, "-extfile", scratch(`${name}.ext`), "-out", scratch(`${name}.pem`));
  return { key: readFileSync(scratch(`${name}.key`)), cert: readFileSync(scratch(`${name}.pem`)) };
}

test("TLS is verified", async () => {
  authority("ours");
  authority("theirs");
  const here127 = "IP:127.0.0.1";
  const ours = ["--push-ca", scratch("ours.pem")];
  for (const [name, tls, args, status] of [
    ["ours", certificate("good", "ours", here127, 1), ours, 0],
    ["not in the system's", certificate("unknown", "ours", here127, 1), [], 5],
    ["another authority", certificate("foreign", "theirs", here127, 1), ours, 5],
    ["another host", certificate("elsewhere", "ours", "DNS:example.org", 1), ours, 5],
    ["over", certificate("expired", "ours", here127, -1), ours, 5]]) {
    const server = await start(() => GOOD.pyroscope, { tls });
    const ran = await analyze(["-q", trace, "--push", `${server.url}/ingest`, ...args]);
    await server.stop();
    assert.deepEqual([ran.status, server.count()], [status, status ? 0 : 1], `${name}: ${ran.err}`);
    if (status) assert.match(ran.err, /certificate|subject/i, name);
    else assert.equal(ran.err, "");
  }
});

test("a server without TLS, and a file that is no authority", async () => {
  const server = await start(() => GOOD.pyroscope);
  const plain = await analyze(["-q", trace, "--push", `${server.url.replace("http:", "https:")}/ingest`, "--push-wait", "0"]);
  assert.deepEqual([plain.status, server.count()], [5, 0]);
  writeFileSync(scratch("nothing"), "nothing\n");
  const nothing = await analyze(["-q", trace, "--push", `${server.url.replace("http:", "https:")}/ingest`, "--push-ca", scratch("nothing")]);
  await server.stop();
  assert.equal(nothing.status, 5);
});

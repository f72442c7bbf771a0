// SPDX-License-Identifier: MIT
// A profiling server for tests on the loopback interface: it keeps the requests and answers as the
// test says. Also: running luatrace-analyze, and decoding messages by protoc with the schemas here and in tests/export.
import { execFileSync, spawn } from "node:child_process";
import http from "node:http";
import https from "node:https";
import path from "node:path";
import { fileURLToPath } from "node:url";
import zlib from "node:zlib";

export const here = path.dirname(fileURLToPath(import.meta.url));

// Answers of the forms to a push that succeeds.
export const GOOD = {
  pyroscope: { status: 200 },
  connect: { status: 200, type: "application/json", body: "{}" },
  parca: { status: 200, type: "application/json", body: "{}" },
  otlp: { status: 200, type: "application/x-protobuf", body: "" },
};

// answer(request, number of it from 1): what is answered, {status, type, body, headers, delay}; or
// "drop": the connection is closed as soon as the request begins, "hang up": after all of it came.
export async function start(answer, { tls, port = 0 } = {}) {
  const requests = [], sockets = new Set(), timers = new Set();
  let count = 0, answered = 0;
  const serve = (request, response) => {
    const number = ++count, parts = [];
    const wanted = answer(request, number);
    if (wanted === "drop") return request.socket.destroy();
    request.on("data", (part) => parts.push(part));
    request.on("end", () => {
      const { method, url, headers } = request;
      requests.push({ method, url, headers, body: Buffer.concat(parts) });
      if (wanted === "hang up") return request.socket.destroy();
      const send = () => {
        if (wanted.type) response.setHeader("Content-Type", wanted.type);
        response.writeHead(wanted.status, wanted.headers);
        response.end(wanted.body ?? "", () => answered++);
      };
      timers.add(setTimeout(send, wanted.delay ?? 0));
    });
  };
  const server = tls ? https.createServer(tls, serve) : http.createServer(serve);
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise((done) => server.listen(port, "127.0.0.1", done));
  return {
    requests,
    port: server.address().port,
    url: `${tls ? "https" : "http"}://127.0.0.1:${server.address().port}`,
    count: () => count,
    answered: () => answered,
    stop: () => new Promise((done) => {
      for (const timer of timers) clearTimeout(timer);
      server.close(done);
      for (const socket of sockets) socket.destroy();
    }),
  };
}

// Runs a program; resolves to its status and what it printed.
export function run(program, args, environment = {}) {
  return new Promise((done) => {
    const env = { ...process.env, ...environment };
    const child = spawn(program, args, { env, stdio: ["ignore", "pipe", "pipe"] });
    let out = "", err = "";
    child.stdout.on("data", (text) => (out += text));
    child.stderr.on("data", (text) => (err += text));
    child.on("close", (status, signal) => done({ status, signal, out, err }));
  });
}
export const analyze = (args, environment) => run(process.env.ANALYZE, args, environment);

// The JSON form of a message, from what protoc prints: {name: [values]}. A number is a BigInt. Throws
// for a field that the schema does not have.
function parse(lines) {
  const fields = {};
  for (let line; (line = lines.shift()) !== undefined && line !== "}";) {
    const [, name, rest] = line.match(/^([\w]+)(?:: | )(.*)$/) ?? [];
    if (!name || /^\d/.test(name)) throw new Error(`not in the schema: ${line}`);
    const value = rest === "{" ? parse(lines)
      : rest.startsWith('"') ? unquoted(rest)
      : /^-?\d+$/.test(rest) ? BigInt(rest) : rest;
    (fields[name] ??= []).push(value);
  }
  return fields;
}
// C's escapes, as protoc writes them: \n, \", octal numbers. UTF-8 again.
function unquoted(text) {
  const bytes = text.slice(1, -1).replace(/\\([0-7]{3}|.)/g, (_, what) =>
    what.length === 3 ? String.fromCharCode(parseInt(what, 8)) : { n: "\n", r: "\r", t: "\t" }[what] ?? what);
  return Buffer.from(bytes, "latin1").toString("utf8");
}
export function decode(bytes, schema, message) {
  const folder = path.dirname(schema);
  const text = execFileSync("protoc", [`-I${folder}`, `--decode=${message}`, schema],
    { input: bytes, maxBuffer: 1 << 28 }).toString();
  return parse(text.split("\n").map((line) => line.trim()).filter(Boolean));
}

// What a pprof profile says: {types, samples: [{stack, values, labels}], time, duration, comment}.
export function readPprof(zipped) {
  const p = decode(zlib.gunzipSync(zipped), path.join(here, "../export/profile.proto"), "pprof.Profile");
  const text = (n) => p.string_table[Number(n?.[0] ?? 0)];
  const only = (fields, name) => fields[name]?.[0] ?? 0n;
  const functions = new Map(p.function.map((f) => [only(f, "id"), f]));
  const locations = new Map(p.location.map((l) => [only(l, "id"), l]));
  const type = (v) => `${text(v.type)}/${text(v.unit)}`;
  if (p.string_table[0] !== "") throw new Error("string 0 is not empty");
  return {
    types: p.sample_type.map(type),
    period: `${type(p.period_type[0])} ${p.period[0]}`,
    shown: text(p.default_sample_type),
    time: only(p, "time_nanos"),
    duration: only(p, "duration_nanos"),
    comment: text(p.comment),
    samples: (p.sample ?? []).map((s) => ({
      stack: s.location_id.map((id) => {
        const [line] = locations.get(id).line, f = functions.get(line.function_id[0]);
        if (only(line, "line") !== only(f, "start_line")) throw new Error("line of the definition");
        return `${text(f.name)} ${text(f.filename)}:${only(f, "start_line")}`;
      }).reverse(),
      values: s.value.map(Number),
      labels: Object.fromEntries((s.label ?? []).map((l) => [text(l.key), text(l.str)])),
    })),
  };
}

// SPDX-License-Identifier: MIT
// Tables that --format parquet writes, read back by two engines that share nothing with the writer:
// DuckDB and hyparquet.
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

export const here = path.dirname(fileURLToPath(import.meta.url));
const require = createRequire(path.join(process.env.MODULES, "node_modules", "_"));
const load = async (name) => {
  const folder = path.join(process.env.MODULES, "node_modules", name);
  const { exports, module, main } = JSON.parse(readFileSync(path.join(folder, "package.json")));
  const entry = exports?.["."] ?? exports;
  const file = typeof entry === "string" ? entry : entry?.node ?? entry?.import ?? entry?.default ?? module ?? main;
  return import(pathToFileURL(path.join(folder, typeof file === "string" ? file : file.default)));
};

export function write(trace, folder, args = []) {
  return spawnSync(process.env.ANALYZE, ["-q", trace, "--format", "parquet", "-o", folder, ...args], { encoding: "utf8" });
}
export const json = (trace, args = []) =>
  JSON.parse(execFileSync(process.env.ANALYZE, ["-q", "--json", trace, ...args], { maxBuffer: 1 << 28 }));

let connection;
// The rows of a query, by DuckDB: objects; whole numbers are BigInts or numbers.
export async function query(sql) {
  const { DuckDBInstance } = require("@duckdb/node-api");
  connection ??= await (await DuckDBInstance.create(":memory:", { threads: "2" })).connect();
  return (await connection.runAndReadAll(sql)).getRowObjects();
}
export function closeDuckdb() {
  connection?.closeSync();
  connection = undefined;
}

// All rows of a file, by hyparquet.
export async function rows(file) {
  const { parquetReadObjects } = await load("hyparquet");
  const { compressors } = await load("hyparquet-compressors");
  const bytes = readFileSync(file);
  return parquetReadObjects({ file: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length), compressors });
}

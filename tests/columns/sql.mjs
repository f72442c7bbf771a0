// SPDX-License-Identifier: MIT
// The queries of docs/sql.md have the answers that it shows. UPDATE=1 prints the document with the answers
// of today.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, test } from "node:test";
import { closeDuckdb, here, query, write } from "./tables.mjs";

after(closeDuckdb);
const document = path.join(here, "../../docs/sql.md");

// As a text table: columns of equal width.
function table(found) {
  const names = Object.keys(found[0] ?? {});
  const cells = [names, ...found.map((row) => names.map((n) => `${row[n] ?? ""}`))];
  const width = names.map((_, i) => Math.max(...cells.map((row) => row[i].length)));
  const number = names.map((n) => found.every((row) => ["bigint", "number"].includes(typeof row[n])));
  return cells.map((row) => row.map((cell, i) => (number[i] ? cell.padStart(width[i]) : cell.padEnd(width[i]))).join("  ").trimEnd())
    .join("\n");
}

test("docs/sql.md", async () => {
  for (const [host, seed] of [["gw1", 1], ["gw2", 2]]) {
    const trace = path.join(process.env.SCRATCH, `${host}.txt`);
    writeFileSync(trace, execFileSync("python3", [path.join(here, "gateway.py"), `${seed}`]));
    const ran = write(trace, path.join(process.env.SCRATCH, host), ["--label", `host=${host}`]);
    assert.deepEqual([ran.status, ran.stderr], [0, ""]);
  }
  process.chdir(process.env.SCRATCH);
  const text = readFileSync(document, "utf8");
  let questions = 0, now = text;
  for (const [block, sql, shown] of text.matchAll(/```sql\n([^`]*)```\n(?:\n```\n([^`]*)```\n)?/g)) {
    const found = await query(sql);
    if (shown === undefined) continue;
    questions++;
    const answer = `${table(found)}\n`;
    now = now.replace(block, () => block.replace(shown, () => answer));
    if (!process.env.UPDATE) assert.equal(answer, shown, sql);
  }
  // Addresses of requests are used again: none has labels of the next one there.
  const mixed = await query("SELECT count(*) AS n FROM calls c JOIN requests r USING (file, vm, request) WHERE c.labels != r.labels");
  assert.equal(mixed[0].n, 0n);
  if (process.env.UPDATE) writeFileSync(document, now);
  assert.equal(questions, 10);
});

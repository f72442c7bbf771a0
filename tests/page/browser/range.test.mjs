// SPDX-License-Identifier: MIT
// A range that is chosen over time restricts the call tree and the table: the figures are those that
// luatrace-analyze -r has for the same range.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { after, before, test } from "node:test";
import { join } from "node:path";
import { openPage, outFolder, settle, startBrowser, textIn } from "./page.mjs";
import { writeFileSync } from "node:fs";
import { serverTrace } from "./workers.mjs";

const { ANALYZE, TRACES } = process.env;
let browser, server;
before(async () => {
  browser = await startBrowser();
  server = join(outFolder, "range.txt");
  writeFileSync(server, serverTrace(300, 8));
});
after(() => browser?.close());

function pageOf(name, ...words) {
  const file = join(outFolder, `range-${name}.html`);
  execFileSync(ANALYZE, ["-q", `--page=${file}`, ...words]);
  return file;
}

const figures = (page) => page.evaluate(() => luatracePage.functions
  .filter((f) => f.calls + f.self > 0).map((f) => [f.name, Math.round(f.calls), Math.round(f.inclusive), Math.round(f.self)]).sort());

// The call tree that is shown: [path, self] of all nodes with self time.
const stacks = (page) => page.evaluate(() => {
  const { calls, functions } = luatracePage;
  const path = [""];
  const list = [];
  for (let n = 1; n < calls.size; n++) {
    path[n] = `${path[calls.parent[n]]}/${functions[calls.func[n]].name}`;
    if (calls.self[n] > 0) list.push([path[n], Math.round(calls.self[n])]);
  }
  return list.sort();
});

test("the whole time as a range has the call tree and the figures of the whole trace", async (t) => {
  for (const [name, trace] of [["server", server], ["coroutines", join(TRACES, "coroutines.txt")]]) {
    const page = await openPage(t, browser, pageOf(`whole-${name}`, "--chart-limit", "0", trace));
    const [wantedFigures, wantedStacks] = [await figures(page), await stacks(page)];
    await page.evaluate(() => luatracePage.setRange({ x: 0, span: luatracePage.chart.end }));
    assert.ok(await page.evaluate(() => luatracePage.calls !== luatracePage.source.whole));
    assert.deepEqual(await stacks(page), wantedStacks, name);
    const times = (list) => list.map(([f, , inclusive, self]) => [f, inclusive, self]);
    const compared = name === "server" ? (list) => list : times;  // calls of no length are not drawn
    assert.deepEqual(compared(await figures(page)), compared(wantedFigures), name);
  }
});

test("a part of the time has the figures of -r; the chip shows everything again", async (t) => {
  const page = await openPage(t, browser, pageOf("part", "--chart-limit", "0", server));
  const whole = await figures(page);
  const { offset, end } = await page.evaluate(() => ({ offset: luatracePage.chart.offset, end: luatracePage.chart.end }));
  for (const [from, to] of [[0.1, 0.35], [0.5, 0.505], [0.7, 1]].map((pair) => pair.map((part) => Math.round(part * end)))) {
    const json = JSON.parse(execFileSync(ANALYZE, ["-q", "--json", "-r", `${from + offset}ns~${to + offset}ns`, server], { encoding: "utf8" }));
    const wanted = json.functions.filter((f) => f.inclusive_ns > 0).map((f) => [f.name, f.inclusive_ns, f.self_ns]).sort();
    await page.click("[data-view=chart]");
    await page.evaluate(([x, last]) => luatracePage.showRange(x, last - x), [from, to]);
    await page.click("[data-view=calls]");
    const shown = (await figures(page)).filter((row) => row[2] > 0).map(([name, , inclusive, self]) => [name, inclusive, self]);
    assert.deepEqual(shown, wanted, `${from} to ${to}`);
    assert.match(await textIn(page, "#scope"), / to .* ×$/);
    const rows = await page.$$eval("#rows td.name", (cells) => cells.length);
    assert.equal(rows, wanted.length, "the table has the range");
  }
  await page.click("#scope button");
  assert.deepEqual(await figures(page), whole);
  assert.equal(await textIn(page, "#scope"), "");
});

test("over time the table follows the range", async (t) => {
  const page = await openPage(t, browser, pageOf("follow", "--chart-limit", "0", server));
  const calls = () => page.$$eval("#rows td.number:nth-child(3)", (cells) => cells.reduce((sum, cell) => sum + Number(cell.textContent.replaceAll(",", "")), 0));
  const all = await calls();
  await page.click("[data-view=chart]");
  await page.evaluate(() => luatracePage.showRange(0, luatracePage.chart.end / 10));
  await page.waitForFunction(() => luatracePage.source.range);
  assert.ok((await calls()) < all / 5 && (await calls()) > all / 20, `${await calls()} of ${all}`);
  await page.keyboard.press("0");
  await page.waitForFunction(() => !luatracePage.source.range);
  assert.equal(await calls(), all);
});

test("calls that were open when the recording began are said to count in a range", async (t) => {
  const page = await openPage(t, browser, pageOf("open", join(TRACES, "coroutines.txt")));
  await page.evaluate(() => luatracePage.setRange({ x: 0, span: luatracePage.chart.end / 2 }));
  await settle(page);
  assert.match(await textIn(page, "#notes"), /^1 call that was open when the recording began, or after a gap, counts as a call in a range\./);
  const other = await openPage(t, browser, pageOf("not-open", server));
  await other.evaluate(() => luatracePage.setRange({ x: 0, span: luatracePage.chart.end / 2 }));
  assert.doesNotMatch(await textIn(other, "#notes"), /open when/);
});

test("calls that are not drawn are [short calls] of their callers, and no time is lost", async (t) => {
  const page = await openPage(t, browser, pageOf("short", "--chart-limit", "2000", server));
  const whole = await page.evaluate(() => luatracePage.calls.total[0]);
  await page.evaluate(() => luatracePage.setRange({ x: 0, span: luatracePage.chart.end }));
  const { total, short } = await page.evaluate(() => ({ total: luatracePage.calls.total[0], short: luatracePage.functions.find((f) => f.name === "[short calls]").self }));
  assert.ok(short > 0);
  assert.ok(total <= whole && total > whole * 0.97, `${total} of ${whole}: only coroutines without a slice are missing`);
  await settle(page);
  assert.match(await textIn(page, "#notes"), /\[short calls\] of their callers/);
});

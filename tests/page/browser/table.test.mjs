// SPDX-License-Identifier: MIT
// The table of functions: its numbers, its orders, and selecting.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { clickNode, makePage, openPage, startBrowser, textIn, textOf, pathOf } from "./page.mjs";
import { byFunction, percent, sample, totalTime } from "./model.mjs";

let browser, file;
before(async () => {
  browser = await startBrowser();
  file = makePage("table", { text: textOf(sample) });
});
after(() => browser?.close());

const names = (page) => page.$$eval("#rows td.name", (cells) => cells.map((c) => c.textContent));
const sortedNames = (compare) => byFunction(sample).sort(compare).map((f) => f.name);

test("calls, inclusive and self are those of the whole tree, recursion counted once", async (t) => {
  const page = await openPage(t, browser, file);
  const rows = await page.$$eval("#rows tr", (list) => list.map((row) => [...row.cells].map((c) => c.textContent)));
  const ms = (ns) => (ns >= 1e7 ? `${(ns / 1e6).toFixed(2)} ms` : ns >= 1e6 ? `${(ns / 1e6).toFixed(3)} ms` : `${(ns / 1e3).toFixed(1)} µs`);
  for (const f of byFunction(sample)) {
    const row = rows.find(([name]) => name === f.name);
    const total = totalTime(sample);
    const wanted = [String(f.calls), ms(f.inclusive), percent(f.inclusive, total), ms(f.self), percent(f.self, total)];
    assert.deepEqual(row.slice(2), wanted, f.name);
  }
  assert.equal(rows.find(([name]) => name === "beta")[1], "lib/b.lua:20");
});

test("a click on a heading sorts, a second one reverses the order", async (t) => {
  const page = await openPage(t, browser, file);
  assert.deepEqual(await names(page), sortedNames((a, b) => b.self - a.self), "largest self first");
  await page.click("th[data-key=calls] button");
  assert.deepEqual(await names(page), sortedNames((a, b) => b.calls - a.calls));
  assert.equal(await page.getAttribute("th[data-key=calls]", "aria-sort"), "descending");
  await page.click("th[data-key=calls] button");
  assert.deepEqual(await names(page), sortedNames((a, b) => a.calls - b.calls));
  assert.equal(await page.getAttribute("th[data-key=calls]", "aria-sort"), "ascending");
  await page.click("th[data-key=inclusive] button");
  assert.deepEqual(await names(page), sortedNames((a, b) => b.inclusive - a.inclusive));
  await page.click("th[data-key=name] button");
  assert.deepEqual(await names(page), sortedNames((a, b) => (a.name < b.name ? -1 : 1)));
});

test("a click on a row selects the widest box of the function, also outside of the zoom", async (t) => {
  const page = await openPage(t, browser, file);
  await clickNode(page, "worker");
  await page.click("#rows tr:has-text('beta')");
  assert.equal(await pathOf(page, "zoom"), "all", "the selected box was outside of the zoomed one");
  assert.equal(await pathOf(page, "selected"), "all/main/beta");
  assert.equal(await page.evaluate(() => luatracePage.functions[luatracePage.look.chosen].name), "beta");
  const beta = byFunction(sample).find((f) => f.name === "beta");
  assert.match(await textIn(page, "#details"), new RegExp(`^beta.*calls ${beta.calls}`));
  assert.deepEqual(await page.$$eval("tr.chosen td.name", (cells) => cells.map((c) => c.textContent)), ["beta"]);
  await page.keyboard.press("Escape");
  assert.equal(await page.$("tr.chosen"), null);
  assert.equal(await pathOf(page, "selected"), "");
});

test("many functions: the first rows are shown, a search finds the others", async (t) => {
  const functions = Array.from({ length: 400 }, (_, i) => ["lua", i + 1, "@many.lua", `fn${i}`]);
  const nodes = [[0, 0, 0, 0], ...functions.map((_, i) => [0, i, 1, 1000 + i])];
  const page = await openPage(t, browser, makePage("many", { text: textOf({ functions, nodes }) }));
  const shown = await names(page);
  assert.equal(shown[0], "fn399");
  const note = await textIn(page, "#rows tr.note");
  assert.equal(note, `${400 - shown.length} more: search to find them`);
  await page.fill("#search", "fn0");
  assert.deepEqual(await names(page), ["fn0"]);
});

test("where calls were suspended the table has their wall time, of the whole time only", async (t) => {
  assert.equal(await (await openPage(t, browser, file)).locator("th[data-key=wall]").count(), 0);
  const functions = [["lua", 1, "@a.lua", "waits"], ["lua", 2, "@a.lua", "runs"]];
  const text = `${textOf({ functions, nodes: [[0, 0, 0, 0], [0, 0, 1, 4000], [1, 1, 1, 3000]] })}times\t0\t9000\t7000\t1\ntimes\t1\t3000\t3000\t1\n`;
  const page = await openPage(t, browser, makePage("wall", { text }));
  await page.click("th[data-key=wall] button");
  assert.deepEqual(await page.$$eval("#rows tr", (all) => all.map((row) => [...row.children].map((cell) => cell.textContent))), [
    ["waits", "a.lua:1", "1", "9.000 µs", "7.000 µs", "100 %", "4.000 µs", "57.14 %"],
    ["runs", "a.lua:2", "1", "3.000 µs", "3.000 µs", "42.86 %", "3.000 µs", "42.86 %"],
  ]);
  await page.evaluate(() => luatracePage.setTransforms([{ type: "focus", func: 1 }]));
  assert.equal(await page.textContent("#rows tr td:nth-child(4)"), "–");
});

test("t hides and shows the table, the graph takes its space", async (t) => {
  const page = await openPage(t, browser, file);
  const height = () => page.evaluate(() => luatracePage.graph.box.clientHeight);
  const before_ = await height();
  await page.keyboard.press("t");
  assert.ok(await page.isHidden("#functions"));
  assert.ok((await height()) > before_ + 100);
  await page.keyboard.press("t");
  assert.equal(await height(), before_);
});

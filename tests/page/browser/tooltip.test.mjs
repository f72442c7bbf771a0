// SPDX-License-Identifier: MIT
// What the page shows of one box: the tooltip at the pointer, and the line below the graph.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { clickNode, hoverNode, makePage, openPage, startBrowser, textIn, textOf } from "./page.mjs";
import { byFunction, inclusive, percent, sample, totalTime } from "./model.mjs";

let browser, file;
before(async () => {
  browser = await startBrowser();
  file = makePage("tooltip", { text: textOf(sample) });
});
after(() => browser?.close());

// part: "dl:not(.more)" for the box, ".more" for the function in all its call paths.
async function tooltip(page, part = "dl:not(.more)") {
  const facts = await page.$$eval(`#tooltip ${part} > *`, (cells) => cells.map((c) => c.textContent));
  const pairs = {};
  for (let i = 0; i < facts.length; i += 2) pairs[facts[i]] = facts[i + 1];
  return { name: await textIn(page, "#tooltip .name"), where: await textIn(page, "#tooltip .where"), ...pairs };
}

test("the tooltip has name, location, kind, calls, times and shares", async (t) => {
  const page = await openPage(t, browser, file);
  await hoverNode(page, "main/alpha/beta");
  const time = inclusive(sample, "main/alpha/beta");
  assert.deepEqual(await tooltip(page), {
    name: "beta", where: "lib/b.lua:20 · Lua", calls: "20", inclusive: "4.500 ms",
    self: `3.000 ms (${percent(3_000_000, time)} of inclusive)`, "per call": "225.0 µs",
    "of all": percent(time, totalTime(sample)),
    "of the caller": percent(time, inclusive(sample, "main/alpha")),
  });
});

test("the tooltip has the function's sums and statistics of its calls", async (t) => {
  const text = `${textOf(sample)}times\t2\t99000000\t1000\t1\t200704\t599\t401408\t350\t1605632\t50\n`;
  const page = await openPage(t, browser, makePage("tooltip-times", { text }));
  await hoverNode(page, "main/alpha/beta");
  const beta = byFunction(sample).find((f) => f.name === "beta");
  const share = (ns) => percent(ns, totalTime(sample));
  const { name, where, ...facts } = await tooltip(page, ".more");
  assert.deepEqual(facts, {
    calls: String(beta.calls), inclusive: `9.800 ms (${share(beta.inclusive)})`, self: `7.000 ms (${share(beta.self)})`,
    "including suspended time": "99.00 ms", "average call": "341.0 µs", "shortest, longest": "1.000 µs, 1.606 ms",
    "median, p90": "200.7 µs, 401.4 µs", "p99, p99.9": "1.606 ms, 1.606 ms", "standard deviation": "305.2 µs",
  });
  assert.equal(beta.inclusive, 9_800_000);
});

test("times apportioned in compiled segments are said, and what is not known", async (t) => {
  const { ANALYZE, PAGE_OUT, TRACES } = process.env;
  const made = join(PAGE_OUT, "tooltip-segments.html");
  execFileSync(ANALYZE, ["-q", `--page=${made}`, join(TRACES, "../views/data/segments.txt")]);
  const page = await openPage(t, browser, made);
  await hoverNode(page, "main/work");
  const work = await tooltip(page, ".more");
  assert.equal(work["of it apportioned in compiled code, self"], "60 ns, 60 ns");
  assert.equal(work["shortest, longest"], "not known: calls inside compiled segments");
  await hoverNode(page, "main/exact");
  const exact = await tooltip(page, ".more");
  assert.equal(exact["of it apportioned in compiled code, self"], undefined);
  assert.equal(exact["shortest, longest"], "100 ns, 100 ns");
});

test("a name taken from a call is marked, and found without the mark", async (t) => {
  const page = await openPage(t, browser, makePage("hint", { text: textOf(sample).replace("\tbeta\n", "\tbeta\thint\n") }));
  await hoverNode(page, "main/alpha/beta?");
  const { name, where } = await tooltip(page);
  assert.deepEqual([name, where], ["beta?", "lib/b.lua:20 · Lua · name taken from a call"]);
  await page.fill("#search", "^beta$");
  await page.click("#regex");
  assert.match(await textIn(page, "#found"), /^1 function /);
  assert.deepEqual(await page.$$eval("#rows td.name", (cells) => cells.map((cell) => cell.textContent)), ["beta?"]);
});

test("in a zoom the tooltip has the share of the zoomed box", async (t) => {
  const page = await openPage(t, browser, file);
  await clickNode(page, "main/beta");
  await hoverNode(page, "main/beta/alpha");
  const time = inclusive(sample, "main/beta/alpha");
  const shown = await tooltip(page);
  assert.equal(shown["of the zoomed box"], percent(time, inclusive(sample, "main/beta")));
  assert.equal(shown["of all"], percent(time, totalTime(sample)));
});

test("each kind has its name", async (t) => {
  const page = await openPage(t, browser, file);
  const kinds = [["worker", "lib/b.lua:33 · coroutine"], ["worker/string.gsub", "[builtin] · builtin"],
    ["main/beta/alpha/lua_native", "/usr/lib/native.so · C"]];
  for (const [path, where] of kinds) {
    await hoverNode(page, path);
    assert.equal((await tooltip(page)).where, where);
  }
});

test("the tooltip stays in the window and disappears with the pointer", async (t) => {
  const page = await openPage(t, browser, file, { viewport: { width: 800, height: 600 } });
  const { left, top, width } = await page.evaluate(() => luatracePage.graph.clientRect(0));
  for (const [x, y] of [[left + width - 2, top + 5], [left + 2, top + 5]]) {
    await page.mouse.move(x, y);
    const box = await page.evaluate(() => document.getElementById("tooltip").getBoundingClientRect().toJSON());
    assert.ok(box.width > 0 && box.left >= 0 && box.right <= 800 && box.top >= 0 && box.bottom <= 600, JSON.stringify(box));
  }
  await page.mouse.move(5, 5);
  assert.ok(await page.isHidden("#tooltip"));
});

test("the line below the graph describes the selected box", async (t) => {
  const page = await openPage(t, browser, file);
  await clickNode(page, "main/alpha");
  assert.match(await textIn(page, "#details"), /^alpha.*main\.lua:10.*calls 10.*inclusive 7\.400 ms.*self 2\.000 ms/);
});

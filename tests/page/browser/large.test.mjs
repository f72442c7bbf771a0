// SPDX-License-Identifier: MIT
// Trees of a million nodes and of ten thousand levels. The times are printed, not checked.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { clickNode, makePage, openPage, outFolder, settle, startBrowser, textIn } from "./page.mjs";

let browser;
before(async () => (browser = await startBrowser()));
after(() => browser?.close());

const inPage = (page, expression) => page.evaluate(expression);

async function timed(page, act) {
  const begin = performance.now();
  await act();
  await settle(page);
  return `${Math.round(performance.now() - begin)} ms`;
}

async function measure(t, page, file) {
  const ready = `${Math.round(await inPage(page, "luatracePage.readyAfter"))} ms`;
  const search = await timed(page, () => page.fill("#search", "parse"));
  await page.fill("#search", "");
  const zoom = await timed(page, () => inPage(page, "luatracePage.pick(luatracePage.view.child(0))"));
  await page.keyboard.press("0");
  const turn = await timed(page, () => page.click("[data-view=callers]"));
  const sandwich = await timed(page, () => page.click("[data-view=sandwich]"));
  await page.keyboard.press("2");
  const size = (statSync(file).size / 1e6).toFixed(1);
  t.diagnostic(`${size} MB: usable after ${ready}, search ${search}, zoom ${zoom}, bottom-up ${turn}, sandwich ${sandwich}`);
}

test("a million nodes, pruned to a page of a few MB", async (t) => {
  const file = makePage("million", { args: ["random", "1000000", "1"] });
  assert.ok(statSync(file).size < 6e6);
  const page = await openPage(t, browser, file);
  assert.match(await textIn(page, "#notes"), /^700,000 small call paths, \d+\.\d\d % of the time, are drawn as \[pruned\]/);
  const { total, shown, pruned, named } = await inPage(page, () => ({
    total: luatracePage.profile.total,
    shown: luatracePage.calls.total[0],
    pruned: luatracePage.profile.prunedTime,
    named: Array.from(luatracePage.calls.self).reduce((sum, time, n) =>
      luatracePage.functions[luatracePage.calls.func[n]].name === "[pruned]" ? sum + time : sum, 0),
  }));
  assert.equal(shown, total);
  assert.equal(named, pruned);
  assert.ok(pruned > 0);
  await measure(t, page, file);
});

test("a million nodes, all of them kept", async (t) => {
  const file = makePage("million-kept", { args: ["random", "1000000", "1", "--max-nodes=0"] });
  const page = await openPage(t, browser, file);
  assert.equal(await inPage(page, "luatracePage.calls.size"), 1000000);
  assert.equal(await textIn(page, "#notes"), "");
  await measure(t, page, file);
});

test("a comparison of a million nodes", async (t) => {
  const file = makePage("million-diff", { args: ["random", "1000000", "1", "--diff"] });
  const page = await openPage(t, browser, file);
  await measure(t, page, file);
  const swap = await timed(page, () => page.keyboard.press("w"));
  t.diagnostic(`widths of before ${swap}`);
});

test("a trace whose call tree has a million nodes, with a chart of as many calls", async (t) => {
  const { SYNTH, ANALYZE } = process.env;
  const trace = join(outFolder, "million.bin");
  const file = join(outFolder, "million-trace.html");
  execFileSync(SYNTH, ["-o", trace, "--events", "8000000", "--nodes", "1000000"]);
  execFileSync(ANALYZE, ["-q", `--page=${file}`, trace]);
  rmSync(trace);
  const page = await openPage(t, browser, file);
  const { slices, hidden, calls } = await inPage(page, () => ({
    slices: luatracePage.chart.slices.size,
    hidden: luatracePage.chart.hiddenCalls,
    calls: luatracePage.profile.functions.reduce((sum, f) => sum + f.calls, 0),
  }));
  assert.ok(slices <= 801000 && slices > 400000, `${slices}: the trace has 64 MB, so up to a call for each 80 bytes`);
  assert.ok(hidden > 1e6 && hidden < calls);
  assert.ok(statSync(file).size < 20e6, `${statSync(file).size}`);
  await measure(t, page, file);
  const chart = await timed(page, () => page.click("[data-view=chart]"));
  const range = await timed(page, () => page.keyboard.press("+"));
  const lanes = await timed(page, () => page.click("[data-view=lanes]"));
  t.diagnostic(`${slices} slices: chart ${chart}, zoomed ${range}, coroutines ${lanes}`);
  assert.match(await textIn(page, "#notes"), /^[\d,]+ of [\d,]+ calls, \d+\.\d\d % of the self time, are not drawn individually\./);
});

test("ten thousand levels: shown, scrolled, zoomed and bottom-up", async (t) => {
  const file = makePage("deep", { args: ["deep", "10000"] });
  const page = await openPage(t, browser, file);
  assert.equal(await inPage(page, "luatracePage.view.layout.rows"), 10001);
  await inPage(page, "luatracePage.pick(10000)");
  await settle(page);
  const { top, width } = await inPage(page, "luatracePage.graph.clientRect(10000)");
  const box = await inPage(page, "document.getElementById('graph').getBoundingClientRect().toJSON()");
  assert.ok(top >= box.top && top + 20 <= box.bottom && width > 1000, "the deepest box is in the window");
  assert.match(await textIn(page, "#crumbs"), /^all›9995 more›level/);
  await page.keyboard.press("i");
  await page.keyboard.press("0");
  await measure(t, page, file);
  await clickNode(page, "level1");
  await clickNode(page, "level1/level0");
  const whole = await inPage(page, "luatracePage.view.tree.total[luatracePage.view.zoom]");
  assert.equal(whole, 14280, "1428 of the 1429 calls of level1 came from level0");
});

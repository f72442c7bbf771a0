// SPDX-License-Identifier: MIT
// The lanes of threads, and coroutines packed by their bodies: what is below what, no overlaps, and a
// trace of 30,000 coroutines.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { makePage, openPage, outFolder, settle, startBrowser, textIn, textOf } from "./page.mjs";
import { sample, timeSample, timeText } from "./model.mjs";
import { serverTrace } from "./workers.mjs";

let browser, small;
before(async () => {
  browser = await startBrowser();
  small = makePage("threads", { text: textOf(sample) + timeText(timeSample) });
});
after(() => browser?.close());

export function pageOfServer(name, requests, ...words) {
  const trace = join(outFolder, `${name}.txt`);
  const file = join(outFolder, `${name}.html`);
  writeFileSync(trace, serverTrace(requests));
  execFileSync(process.env.ANALYZE, ["-q", `--page=${file}`, ...words, trace]);
  return { trace, file };
}

async function open(t, file, view) {
  const page = await openPage(t, browser, file);
  await page.click(`[data-view=${view}]`);
  await settle(page);
  return page;
}

// In each row of the view that is shown: slices that begin before the previous one has ended.
const overlaps = (page) => page.evaluate(() => {
  const { layout } = luatracePage.view;
  const found = [];
  for (let row = 0; row < layout.rows; row++) {
    for (let at = layout.rowFirst[row] + 1; at < layout.rowFirst[row + 1]; at++) {
      const [a, b] = [layout.row[at - 1], layout.row[at]];
      if (layout.start[a] + layout.tree.total[a] > layout.start[b]) found.push([row, a, b]);
    }
  }
  return found;
});

test("a thread's lane: a resumed coroutine is below the call that waits for it, cut where it is suspended", async (t) => {
  const page = await open(t, small, "chart");
  const pieces = await page.evaluate(() => {
    const { pieces, slices } = luatracePage.chart;
    const name = (at) => luatracePage.functions[slices.func[at]].name;
    const above = (piece) => (piece < 0 ? "" : name(pieces.slice[piece]));
    return Array.from({ length: pieces.size }, (_, i) => [name(pieces.slice[i]), above(pieces.parent[i]), pieces.row[i], pieces.begin[i], pieces.length[i], pieces.thread[i]]);
  });
  assert.deepEqual(pieces, [
    ["main", "", 0, 0, 10_000_000, 0], ["alpha", "main", 1, 1_000_000, 3_000_000, 0], ["[short calls]", "alpha", 2, 1_500_000, 1_000_000, 0],
    ["[resumed another]", "main", 1, 5_000_000, 1_000_000, 0], ["worker", "[resumed another]", 2, 5_000_000, 1_000_000, 0],
    ["beta", "main", 1, 6_000_000, 900_000, 0], ["[resumed another]", "main", 1, 8_000_000, 1_500_000, 0],
    ["worker", "[resumed another]", 2, 8_000_000, 1_500_000, 0], ["[resumed another]", "worker", 3, 8_500_000, 500_000, 0],
    ["lua_native", "", 0, 8_500_000, 500_000, 1],
  ]);
  assert.deepEqual(await overlaps(page), []);
});

test("30,000 coroutines: groups by body, packed into as many rows as run at a time", async (t) => {
  const { file } = pageOfServer("threads-many", 30000, "--chart-limit", "0");
  const page = await open(t, file, "chart");
  const begin = performance.now();
  const headings = await page.evaluate(() => luatracePage.view.headings.filter(Boolean).map(({ text, facts }) => `${text} | ${facts}`));
  assert.equal(headings.length, 4);
  assert.match(headings[0], /^▾ thread 7 \| all that ran on it: 30,000 coroutines$/);
  for (const heading of headings.slice(1)) assert.match(heading, /^▸ (content_by_lua|access_by_lua|timer) × 10,000 \| up to \d\d at a time · ran /);
  assert.ok(await page.evaluate(() => luatracePage.view.layout.rows) < 12, "groups with many rows are closed at first");
  assert.deepEqual(await overlaps(page), []);
  const box = await page.evaluate(() => luatracePage.graph.painter.canvas.getBoundingClientRect().toJSON());
  const row = await page.evaluate(() => luatracePage.view.headings.findIndex((one) => one?.text.startsWith("▸")));
  await page.mouse.click(box.left + 60, box.top + 20 * row + 10);
  await settle(page);
  const { rows, slots } = await page.evaluate((at) => ({ rows: luatracePage.view.layout.rows, slots: Number(/up to (\d+)/.exec(luatracePage.view.headings[at].facts)[1]) }), row);
  assert.ok(slots <= 50 && rows >= slots * 3 && rows < slots * 4 + 12, `${rows} rows of ${slots} slots`);
  assert.deepEqual(await overlaps(page), []);
  await page.click("[data-view=lanes]");
  await settle(page);
  assert.equal(await page.inputValue("#laneOrder"), "packed");
  assert.ok(await page.evaluate(() => luatracePage.view.layout.rows) < 100);
  assert.deepEqual(await overlaps(page), []);
  assert.equal(await textIn(page, "#notes"), "", "all coroutines are shown");
  t.diagnostic(`chart, groups and lanes of 30,000 coroutines: ${Math.round(performance.now() - begin)} ms`);
});

test("a coroutine in a group opens from the lanes; its lifetime has its name and figures", async (t) => {
  const { file } = pageOfServer("threads-few", 200);
  const page = await open(t, file, "lanes");
  await page.evaluate(() => luatracePage.open(luatracePage.view.stretches.track.indexOf(77)));
  await settle(page);
  const { label, shown } = await page.evaluate(() => {
    const { view, chart } = luatracePage;
    const node = view.nodes.firstLife + 77;
    const { left, top, width } = luatracePage.graph.clientRect(node);
    return { label: view.labelFor(node).name, shown: { left, top, width, life: chart.tracks[77].life, span: view.range.span } };
  });
  assert.match(label, /^coroutine \d+ · (content_by_lua|access_by_lua|timer)$/);
  assert.ok(shown.width > 900 && shown.life / shown.span > 0.9, JSON.stringify(shown));
  await page.mouse.click(shown.left + 40, shown.top + 8);
  assert.match(await textIn(page, "#details"), /^coroutine \d+ · .*lifetime .*ran .*suspended .*resumed \d/);
});

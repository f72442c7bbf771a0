// SPDX-License-Identifier: MIT
// Both ways to turn the graph: root on top or at the bottom, and bottom-up, whose totals are
// compared with sums over spelled-out stacks.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { clickNode, colourOf, makePage, nodeOf, openPage, paintedAt, rectOf, startBrowser, textIn, textOf, wayOf } from "./page.mjs";
import { percent, randomTree, sample, timeWith, totalTime, turned } from "./model.mjs";

let browser, file;
before(async () => {
  browser = await startBrowser();
  file = makePage("turned", { text: textOf(sample) });
});
after(() => browser?.close());

// way -> { time, calls } of the tree shown, without the root.
function shownWays(page) {
  return page.evaluate(() => {
    const { view } = luatracePage;
    const ways = [];
    for (let n = 1; n < view.tree.size; n++) {
      const names = view.wayTo(n).slice(1).map((at) => view.functions[view.tree.func[at]].name);
      ways.push([names.join("/"), { time: view.tree.total[n], calls: view.tree.calls[n] }]);
    }
    return ways;
  });
}

const sorted = (ways) => [...ways].sort(([a], [b]) => (a < b ? -1 : 1));

test("an icicle has the root on top, a flame at the bottom", async (t) => {
  const page = await openPage(t, browser, file);
  const tops = async () => {
    const list = [];
    for (const way of ["", "main", "main/alpha", "main/alpha/beta"]) list.push((await rectOf(page, way)).top);
    return list;
  };
  const icicle = await tops();
  assert.deepEqual(icicle, [0, 1, 2, 3].map((row) => icicle[0] + 20 * row));
  await page.click("[data-shape=flame]");
  const flame = await tops();
  assert.deepEqual(flame, [0, 1, 2, 3].map((row) => flame[0] - 20 * row));
  const box = await page.evaluate(() => document.getElementById("graph").getBoundingClientRect().bottom);
  assert.ok(Math.abs(flame[0] + 20 - box) < 1, "the root is the last row");
  assert.deepEqual(await paintedAt(page, "main/alpha"), await colourOf(page, "main/alpha"));
  await clickNode(page, "main/alpha");
  assert.equal(await wayOf(page, "zoom"), "all/main/alpha");
  await page.keyboard.press("ArrowUp");
  assert.equal(await wayOf(page, "selected"), "all/main/alpha/beta", "up is deeper in a flame");
  await page.keyboard.press("i");
  assert.deepEqual(await tops(), icicle);
});

test("bottom-up: functions by self time, under them their callers", async (t) => {
  const page = await openPage(t, browser, file);
  await page.click("[data-view=callers]");
  assert.deepEqual(sorted(await shownWays(page)), sorted(turned(sample)));
  const whole = (await rectOf(page, "")).width;
  for (const way of ["string.gsub", "string.gsub/beta/alpha/main", "alpha/alpha/main", "beta/main"]) {
    const wanted = (whole * turned(sample).get(way).time) / totalTime(sample);
    assert.ok(Math.abs((await rectOf(page, way)).width - wanted) < 0.01, way);
  }
  await clickNode(page, "string.gsub/worker");
  assert.equal(await wayOf(page, "zoom"), "all/string.gsub/worker");
  const details = await textIn(page, "#details");
  assert.match(details, /calls of string\.gsub 9/);
  assert.match(details, /self of string\.gsub 2\.500 ms/);
  await page.keyboard.press("b");
  assert.equal(await wayOf(page, "zoom"), "all");
  assert.ok((await nodeOf(page, "main/alpha/beta")) > 0);
});

test("the share of a search is the same bottom-up", async (t) => {
  const page = await openPage(t, browser, file);
  await page.fill("#search", "beta");
  await page.click("[data-view=callers]");
  const wanted = percent(timeWith(sample, (name) => name === "beta"), totalTime(sample));
  assert.equal(await textIn(page, "#found"), `1 function · ${wanted} of time`);
});

for (const seed of [1, 2, 3]) {
  test(`bottom-up of a random tree, seed ${seed}`, async (t) => {
    const tree = randomTree(600, seed);
    const page = await openPage(t, browser, makePage(`turned-${seed}`, { text: textOf(tree) }));
    await page.click("[data-view=callers]");
    const wanted = turned(tree);
    assert.ok(wanted.size > 600);
    assert.deepEqual(sorted(await shownWays(page)), sorted(wanted));
  });
}

test("callers too small to be seen are made when one zooms to them", async (t) => {
  // leaf is called nearly always by big, a little by small, which is called by a and b.
  const functions = ["leaf", "big", "small", "a", "b"].map((name) => ["lua", 1, "@x.lua", name]);
  const nodes = [[0, 0, 0, 0], [0, 1, 1, 0], [1, 0, 1, 1e9], [0, 3, 1, 0], [3, 2, 1, 0], [4, 0, 5, 60_000],
    [0, 4, 1, 0], [6, 2, 1, 0], [7, 0, 7, 20_000], [0, 2, 1, 20_000]];
  const page = await openPage(t, browser, makePage("small", { text: textOf({ functions, nodes }) }));
  await page.click("[data-view=callers]");
  assert.equal(await nodeOf(page, "leaf/small/b"), -1, "not made yet");
  assert.ok((await nodeOf(page, "leaf/small")) > 0);
  assert.equal(await nodeOf(page, "small"), -1, "20 us of 1 s");
  await page.evaluate((node) => luatracePage.zoomTo(node), await nodeOf(page, "leaf/small"));
  const shown = new Map(await shownWays(page));
  const wanted = turned({ functions, nodes });
  for (const way of ["leaf/small", "leaf/small/a", "leaf/small/b", "leaf/big"]) {
    assert.deepEqual(shown.get(way), wanted.get(way), way);
  }
  assert.equal(await wayOf(page, "zoom"), "all/leaf/small");
});

// SPDX-License-Identifier: MIT
// The root at the top or at the bottom, and the bottom-up tree, whose totals are compared with sums
// over spelled-out call stacks.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { clickNode, colourOf, makePage, nodeOf, openPage, paintedAt, rectOf, startBrowser, textIn, textOf, pathOf } from "./page.mjs";
import { bottomUp, percent, randomTree, sample, timeWith, totalTime } from "./model.mjs";

let browser, file;
before(async () => {
  browser = await startBrowser();
  file = makePage("bottom-up", { text: textOf(sample) });
});
after(() => browser?.close());

// Path -> { time, calls } in the tree shown, without the root.
function shownPaths(page) {
  return page.evaluate(() => {
    const { view } = luatracePage;
    const paths = [];
    for (let n = 1; n < view.tree.size; n++) {
      const names = view.pathTo(n).slice(1).map((at) => view.functions[view.tree.func[at]].name);
      paths.push([names.join("/"), { time: view.tree.total[n], calls: view.tree.calls[n] }]);
    }
    return paths;
  });
}

const sorted = (paths) => [...paths].sort(([a], [b]) => (a < b ? -1 : 1));

test("an icicle has the root at the top, a flame at the bottom", async (t) => {
  const page = await openPage(t, browser, file);
  const tops = async () => {
    const list = [];
    for (const path of ["", "main", "main/alpha", "main/alpha/beta"]) list.push((await rectOf(page, path)).top);
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
  assert.equal(await pathOf(page, "zoom"), "all/main/alpha");
  await page.keyboard.press("ArrowUp");
  assert.equal(await pathOf(page, "selected"), "all/main/alpha/beta", "up is deeper in a flame");
  await page.keyboard.press("i");
  assert.deepEqual(await tops(), icicle);
});

test("bottom-up: functions by self time, below them their callers", async (t) => {
  const page = await openPage(t, browser, file);
  await page.click("[data-view=callers]");
  assert.deepEqual(sorted(await shownPaths(page)), sorted(bottomUp(sample)));
  const whole = (await rectOf(page, "")).width;
  for (const path of ["string.gsub", "string.gsub/beta/alpha/main", "alpha/alpha/main", "beta/main"]) {
    const wanted = (whole * bottomUp(sample).get(path).time) / totalTime(sample);
    assert.ok(Math.abs((await rectOf(page, path)).width - wanted) < 0.01, path);
  }
  await clickNode(page, "string.gsub/worker");
  assert.equal(await pathOf(page, "zoom"), "all/string.gsub/worker");
  const details = await textIn(page, "#details");
  assert.match(details, /calls of string\.gsub 9/);
  assert.match(details, /self of string\.gsub 2\.500 ms/);
  await page.keyboard.press("b");
  assert.equal(await pathOf(page, "zoom"), "all");
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
    const page = await openPage(t, browser, makePage(`bottom-up-${seed}`, { text: textOf(tree) }));
    await page.click("[data-view=callers]");
    const wanted = bottomUp(tree);
    assert.ok(wanted.size > 600);
    assert.deepEqual(sorted(await shownPaths(page)), sorted(wanted));
  });
}

test("callers too small to be seen are added on a zoom to them", async (t) => {
  // leaf is called nearly always by big, a little by small, which is called by a and b.
  const functions = ["leaf", "big", "small", "a", "b"].map((name) => ["lua", 1, "@x.lua", name]);
  const nodes = [[0, 0, 0, 0], [0, 1, 1, 0], [1, 0, 1, 1e9], [0, 3, 1, 0], [3, 2, 1, 0], [4, 0, 5, 60_000],
    [0, 4, 1, 0], [6, 2, 1, 0], [7, 0, 7, 20_000], [0, 2, 1, 20_000]];
  const page = await openPage(t, browser, makePage("small", { text: textOf({ functions, nodes }) }));
  await page.click("[data-view=callers]");
  assert.equal(await nodeOf(page, "leaf/small/b"), -1, "not added yet");
  assert.ok((await nodeOf(page, "leaf/small")) > 0);
  assert.equal(await nodeOf(page, "small"), -1, "20 us of 1 s");
  await page.evaluate((node) => luatracePage.zoomTo(node), await nodeOf(page, "leaf/small"));
  const shown = new Map(await shownPaths(page));
  const wanted = bottomUp({ functions, nodes });
  for (const path of ["leaf/small", "leaf/small/a", "leaf/small/b", "leaf/big"]) {
    assert.deepEqual(shown.get(path), wanted.get(path), path);
  }
  assert.equal(await pathOf(page, "zoom"), "all/leaf/small");
});

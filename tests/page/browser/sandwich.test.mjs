// SPDX-License-Identifier: MIT
// The sandwich: callers above, callees below, compared with sums over spelled-out call stacks.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { functionId, makePage, openPage, settle, startBrowser, textIn, textOf } from "./page.mjs";
import { randomTree, sample, stacks } from "./model.mjs";

let browser, file;
before(async () => {
  browser = await startBrowser();
  file = makePage("sandwich", { text: textOf(sample) });
});
after(() => browser?.close());

// Paths without time are too small to be added.
const sorted = (paths) => [...paths].filter(([, { time }]) => time > 0).sort(([a], [b]) => (a < b ? -1 : 1));

function add(paths, path, time, calls) {
  const entry = paths.get(path) ?? { time: 0, calls: 0 };
  paths.set(path, { time: entry.time + time, calls: entry.calls + calls });
}

// Path from the function, including it, to its callees -> time and calls, for its outermost calls.
function callees(tree, name) {
  const paths = new Map();
  for (const { stack, calls, self } of stacks(tree)) {
    const first = stack.indexOf(name);
    if (first < 0) continue;
    const inside = stack.slice(first);
    for (let length = 1; length <= inside.length; length++) {
      add(paths, inside.slice(0, length).join("/"), self, length === inside.length ? calls : 0);
    }
  }
  return paths;
}

// The same for the path from the function to its callers: its inclusive time and calls.
function callers(tree, name) {
  const paths = new Map();
  for (const { stack, calls, self } of stacks(tree)) {
    const first = stack.indexOf(name);
    if (first < 0) continue;
    const back = stack.slice(0, first + 1).reverse();
    const own = stack.length === first + 1;
    for (let length = 1; length <= back.length; length++) add(paths, back.slice(0, length).join("/"), self, own ? calls : 0);
  }
  return paths;
}

function shownPaths(page, half) {
  return page.evaluate((which) => {
    const view = luatracePage[which];
    return Array.from({ length: view.tree.size }, (_, n) => {
      const names = view.pathTo(n).map((at) => view.functions[view.tree.func[at]].name);
      return [names.join("/"), { time: view.tree.total[n], calls: view.tree.calls[n] }];
    });
  }, half);
}

async function compare(page, tree, name) {
  assert.deepEqual(sorted(await shownPaths(page, "callersView")), sorted(callers(tree, name)), `callers of ${name}`);
  assert.deepEqual(sorted(await shownPaths(page, "calleesView")), sorted(callees(tree, name)), `callees of ${name}`);
}

test("callers and callees of each function, recursive ones counted once", async (t) => {
  const page = await openPage(t, browser, file);
  await page.click("[data-view=sandwich]");
  assert.match(await textIn(page, "#focus"), /callersbeta/, "the first function is that with the largest self time");
  for (const [, , , name] of sample.functions) {
    await page.locator("#rows td.name").filter({ hasText: new RegExp(`^${name.replace(".", "\\.")}$`) }).click();
    await settle(page);
    assert.ok((await textIn(page, "#focus")).includes(name));
    await compare(page, sample, name);
  }
});

for (const seed of [4, 5]) {
  test(`of a random tree, seed ${seed}`, async (t) => {
    const tree = randomTree(500, seed);
    const page = await openPage(t, browser, makePage(`sandwich-${seed}`, { text: textOf(tree) }));
    for (const id of [0, 5, 11]) {
      await page.evaluate((f) => luatracePage.openFunction(f), functionId(id));
      await compare(page, tree, `f${id}`);
    }
  });
}

test("callers are above, callees below; each half zooms on its own", async (t) => {
  const page = await openPage(t, browser, file);
  await page.evaluate(() => luatracePage.openFunction(3));
  await settle(page);
  const rects = await page.evaluate(() => {
    const rectsOf = (graph, nodes) => nodes.map((n) => graph.clientRect(n));
    const { upper, lower } = luatracePage;
    return { upper: rectsOf(upper, [0, 1]), lower: rectsOf(lower, [0, 1]), focus: document.getElementById("focus").getBoundingClientRect().toJSON() };
  });
  assert.equal(Math.round(rects.upper[0].top - rects.upper[1].top), 20, "callers go up");
  assert.ok(rects.upper[0].top + 19 <= rects.focus.top + 1 && rects.lower[0].top >= rects.focus.bottom - 1);
  assert.equal(Math.round(rects.lower[1].top - rects.lower[0].top), 20, "callees go down");
  const { left, top, width } = rects.upper[1];
  await page.mouse.click(left + width / 2, top + 10);
  const zooms = () => page.evaluate(() => [luatracePage.callersView.zoom, luatracePage.calleesView.zoom]);
  assert.deepEqual(await zooms(), [1, 0]);
  await page.keyboard.press("0");
  assert.deepEqual(await zooms(), [0, 0]);
});

test("s opens the selected function, the button in the line below the graph the chosen one", async (t) => {
  const page = await openPage(t, browser, file);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("s");
  assert.match(await textIn(page, "#focus"), /callersalpha/);
  await page.keyboard.press("1");
  await page.click("#rows tr:has-text('worker') td.name");
  await page.click("#details .open");
  assert.match(await textIn(page, "#focus"), /callersworker/);
  assert.equal(await page.getAttribute("[data-view=sandwich]", "aria-pressed"), "true");
});

test("the page shows how much of a function was pruned", async (t) => {
  // alpha is called by big, and by small, which is pruned.
  const functions = ["big", "alpha", "small"].map((name) => ["lua", 1, "@x.lua", name]);
  const nodes = [[0, 0, 0, 0], [0, 0, 1, 900], [1, 1, 1, 60], [0, 2, 1, 10], [3, 1, 1, 30]];
  const page = await openPage(t, browser, makePage("sandwich-pruned", { text: textOf({ functions, nodes }), args: ["--max-nodes=3"] }));
  await page.evaluate(() => luatracePage.openFunction(2));
  assert.match(await textIn(page, "#focus"), /33\.33 % of its time is in \[pruned\] call paths and not shown here$/);
});

// SPDX-License-Identifier: MIT
// Focus, merge, drop and collapse recursion: what is left of each call stack, worked out on the stacks
// themselves (model.mjs), compared with the tree in the page.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { clickNode, makePage, openPage, rectOf, settle, startBrowser, textIn, textOf } from "./page.mjs";
import { randomTree, sample, stacks, timeSample, timeText } from "./model.mjs";

let browser;
before(async () => (browser = await startBrowser()));
after(() => browser?.close());

// Each takes a call stack and returns what is left of it, null if nothing is.
const wanted = {
  focus: (name) => (stack) => (stack.includes(name) ? stack.slice(stack.indexOf(name)) : null),
  merge: (name) => (stack) => stack.filter((one) => one !== name),
  drop: (name) => (stack) => (stack.includes(name) ? null : stack),
  collapse: (name) => (stack) => {
    const [first, last] = [stack.indexOf(name), stack.lastIndexOf(name)];
    return first < last ? [...stack.slice(0, first), ...stack.slice(last)] : stack;
  },
};

// "main/alpha" -> [calls, self]; a node of the merged function has no calls of its caller.
function changed(tree, list) {
  const sums = new Map();
  for (const { stack, calls, self } of stacks(tree)) {
    const left = list.reduce((rest, { type, name }) => rest && wanted[type](name)(rest), stack);
    if (!left) continue;
    const isMerged = left.at(-1) !== stack.at(-1);
    const sum = sums.get(left.join("/")) ?? [0, 0];
    sums.set(left.join("/"), [sum[0] + (isMerged ? 0 : calls), sum[1] + self]);
  }
  return [...sums].map(([path, sum]) => [path, ...sum]).filter(([path, calls, self]) => path && calls + self).sort();
}

const shown = (page) => page.evaluate(() => {
  const { calls, functions } = luatracePage;
  const path = [""];
  const list = [];
  for (let n = 1; n < calls.size; n++) {
    path[n] = (path[calls.parent[n]] ? `${path[calls.parent[n]]}/` : "") + functions[calls.func[n]].name;
    if (calls.calls[n] + calls.self[n]) list.push([path[n], calls.calls[n], calls.self[n]]);
  }
  return list.sort();
});

const apply = (page, list) => page.evaluate((all) => {
  luatracePage.setTransforms(all.map(({ type, name }) => ({ type, func: luatracePage.functions.find((f) => f.name === name).id })));
}, list);

test("each transform, alone and after another one, of the sample and of random trees", async (t) => {
  for (const [number, tree] of [sample, randomTree(300, 5), randomTree(300, 77)].entries()) {
    const page = await openPage(t, browser, makePage(`transforms-${number}`, { text: textOf(tree) }));
    const names = tree.functions.map((f) => f[3]);
    const types = Object.keys(wanted);
    for (const [i, type] of types.entries()) {
      for (const name of names.slice(0, 6)) {
        const list = [{ type, name }, { type: types[(i + 1) % types.length], name: names[(names.indexOf(name) + 2) % names.length] }];
        for (const part of [list.slice(0, 1), list]) {
          await apply(page, part);
          assert.deepEqual(await shown(page), changed(tree, part), JSON.stringify(part));
        }
      }
    }
    await apply(page, []);
    assert.deepEqual(await shown(page), changed(tree, []));
  }
});

test("the menu of a box, its keys, the chips and u; the table shows what is left", async (t) => {
  const page = await openPage(t, browser, makePage("transforms-menu", { text: textOf(sample) }));
  const { left, top, width } = await rectOf(page, "main/beta");
  await page.mouse.click(left + width / 2, top + 8, { button: "right" });
  const items = await page.$$eval("#menu button", (all) => all.map((one) => one.firstChild.textContent));
  assert.deepEqual(items, ["Focus on the function", "Merge the function into its callers", "Drop the function's calls", "Collapse its recursion",
    "Callers and callees", "Copy lib/b.lua:20", "Copy the name"]);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  assert.ok(await page.isHidden("#menu"));
  assert.equal(await textIn(page, "#scope"), "merge: beta ×");
  assert.deepEqual(await shown(page), changed(sample, [{ type: "merge", name: "beta" }]));
  assert.ok(!(await page.$$eval("#rows td.name", (all) => all.map((one) => one.textContent))).includes("beta"));
  await clickNode(page, "main/alpha");
  await page.keyboard.press("d");
  assert.equal(await textIn(page, "#scope"), "merge: beta ×drop: alpha ×");
  assert.deepEqual(await shown(page), changed(sample, [{ type: "merge", name: "beta" }, { type: "drop", name: "alpha" }]));
  await page.keyboard.press("u");
  assert.equal(await textIn(page, "#scope"), "merge: beta ×");
  await page.click("#scope button");
  assert.deepEqual(await shown(page), changed(sample, []));
});

test("bottom-up and the sandwich show the changed tree; in a comparison both times change", async (t) => {
  const page = await openPage(t, browser, makePage("transforms-views", { text: textOf(sample) + timeText(timeSample) }));
  await apply(page, [{ type: "drop", name: "worker" }]);
  await page.keyboard.press("2");
  const self = changed(sample, [{ type: "drop", name: "worker" }]).reduce((sum, row) => sum + row[2], 0);
  assert.equal(await page.evaluate(() => luatracePage.view.total), self);
  await page.evaluate(() => luatracePage.openFunction(luatracePage.functions.find((f) => f.name === "string.gsub").id));
  assert.equal(await page.evaluate(() => luatracePage.calleesView.tree.total[0]), 1_500_000, "without those in worker");
  await settle(page);
  const diff = await openPage(t, browser, makePage("transforms-diff", { args: ["random", "400", "3", "--diff"] }));
  const sums = () => diff.evaluate(() => [luatracePage.calls.self, luatracePage.calls.wasSelf].map((column) => column.reduce((a, b) => a + b, 0)));
  const before_ = await sums();
  await diff.evaluate(() => luatracePage.setTransforms([{ type: "merge", func: 3 }, { type: "collapse", func: 4 }]));
  assert.deepEqual(await sums(), before_, "merging loses no time, now or before");
  await diff.keyboard.press("w");
  assert.deepEqual(await sums(), [before_[1], before_[0]]);
});

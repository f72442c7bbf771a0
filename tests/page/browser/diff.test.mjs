// SPDX-License-Identifier: MIT
// The comparison: red for more, blue for less, widths of now and of before, figures of both.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { hoverNode, makePage, openPage, paintedAt, rectOf, settle, startBrowser, textIn } from "./page.mjs";

// more: 4 -> 8, less: 6 -> 2, same: 5 -> 5, fresh: 0 -> 3, gone: 3 -> 0; in ms, and calls.
const functions = ["main", "more", "less", "same", "fresh", "gone"];
const times = [[1, 0, 1, 0], [4, 8, 2, 4], [6, 2, 9, 3], [5, 5, 1, 1], [0, 3, 0, 2], [3, 0, 5, 0]];

function text() {
  const lines = [["title", "diff"], ["diff", "1.25"]];
  functions.forEach((name, i) => lines.push(["function", "lua", i + 1, "@d.lua", name]));
  lines.push(["node", 0, 0, 0, 0, 0, 0]);
  times.forEach(([was, now, wasCalls, calls], i) => lines.push(["node", i ? 1 : 0, i, calls, now * 1e6, wasCalls, was * 1e6]));
  return lines.map((line) => line.join("\t")).join("\n") + "\n";
}

let browser, file;
before(async () => {
  browser = await startBrowser();
  file = makePage("diff", { text: text() });
});
after(() => browser?.close());

const path = (name) => `main/${name}`;

for (const theme of ["light", "dark"]) {
  test(`red is more, blue is less, in the ${theme} theme`, async (t) => {
    const page = await openPage(t, browser, file, { colorScheme: theme });
    const [more, less, same, fresh] = await Promise.all(["more", "less", "same", "fresh"].map((name) => paintedAt(page, path(name))));
    const redness = ([red, , blue]) => red - blue;
    assert.ok(redness(more) > 60, `more ${more}`);
    assert.ok(redness(less) < -60, `less ${less}`);
    assert.ok(Math.abs(redness(same)) < 25, `same ${same}`);
    assert.ok(redness(fresh) > redness(more), "what is new is the reddest");
  });
}

test("widths are times now, or before", async (t) => {
  const page = await openPage(t, browser, file);
  const widths = async () => {
    const whole = (await rectOf(page, "")).width;
    const list = [];
    for (const name of functions.slice(1)) list.push(Math.round(((await rectOf(page, path(name))).width / whole) * 1000) / 1000);
    return list;
  };
  const share = (list) => list.map((ms) => Math.round((ms / list.reduce((a, b) => a + b)) * 1000) / 1000);
  assert.deepEqual(await widths(), share([0, 8, 2, 5, 3, 0]).slice(1));
  await page.click("[data-width=before]");
  assert.deepEqual(await widths(), share([1, 4, 6, 5, 0, 3]).slice(1));
  assert.ok((await paintedAt(page, path("gone")))[2] > 180, "what is gone is blue");
  await page.keyboard.press("w");
  assert.equal(await page.getAttribute("[data-width=now]", "aria-pressed"), "true");
  assert.deepEqual(await widths(), share([0, 8, 2, 5, 3, 0]).slice(1));
});

test("the tooltip has both times and the change, whatever the widths are", async (t) => {
  const page = await openPage(t, browser, file);
  const facts = async () => {
    await hoverNode(page, path("less"));
    const cells = await page.$$eval("#tooltip dl:not(.more) > *", (all) => all.map((part) => part.textContent));
    const pairs = {};
    for (let i = 0; i < cells.length; i += 2) pairs[cells[i]] = cells[i + 1];
    return pairs;
  };
  const wanted = { before: "6.000 ms", change: "−4.000 ms (−66.7 %)", "calls before": "9 (−66.7 %)" };
  const now = await facts();
  assert.equal(now.inclusive, "2.000 ms");
  for (const [key, value] of Object.entries(wanted)) assert.equal(now[key], value);
  await page.keyboard.press("w");
  const was = await facts();
  assert.equal(was.inclusive, "6.000 ms");
  for (const [key, value] of Object.entries(wanted)) assert.equal(was[key], value);
});

test("the table has the changes, the largest increase first, and functions that are gone", async (t) => {
  const page = await openPage(t, browser, file);
  const rows = () => page.$$eval("#rows tr", (list) => list.map((row) => [...row.cells].map((cell) => cell.textContent)));
  const all = await rows();
  assert.deepEqual(all.map(([name]) => name), ["more", "fresh", "same", "main", "gone", "less"]);
  const row = Object.fromEntries(all.map(([name, ...cells]) => [name, cells.slice(-3)]));
  assert.deepEqual(row.more, ["8.000 ms", "+4.000 ms", "+100.0 %"]);
  assert.deepEqual(row.fresh, ["3.000 ms", "+3.000 ms", "new"]);
  assert.deepEqual(row.gone, ["0 ns", "−3.000 ms", "gone"]);
  assert.deepEqual(row.same, ["5.000 ms", "±0", "±0 %"]);
  await page.click("th[data-key=selfChange] button");
  assert.equal((await rows())[0][0], "less");
});

test("bottom-up and sandwich compare, too", async (t) => {
  const page = await openPage(t, browser, file);
  await page.click("[data-view=callers]");
  await settle(page);
  const shown = () => page.evaluate(() => {
    const { tree, functions } = luatracePage.view;
    const list = {};
    for (let n = 1; n < tree.size; n++) if (tree.depth[n] === 1) list[functions[tree.func[n]].name] = [tree.wasTotal[n] / 1e6, tree.total[n] / 1e6];
    return list;
  });
  const wanted = Object.fromEntries(functions.map((name, i) => [name, times[i].slice(0, 2)]));
  assert.deepEqual(await shown(), wanted);
  await page.evaluate(() => luatracePage.openFunction(1));
  assert.deepEqual(await shown(), Object.fromEntries(Object.entries(wanted).slice(1)));
  await page.keyboard.press("w");
  const swapped = Object.fromEntries(Object.entries(wanted).slice(1).map(([name, [was, now]]) => [name, [now, was]]));
  assert.deepEqual(await shown(), swapped);
});

test("the page shows the factor; a page without comparison has no controls for it", async (t) => {
  const page = await openPage(t, browser, file);
  assert.equal(await textIn(page, "#notes"), "Times before are multiplied by 1.250.");
  assert.match(await textIn(page, "#legend"), /^less than before.*more$/);
  const plain = await openPage(t, browser, makePage("no-diff", { text: "title\tx\nfunction\tlua\t1\t@x\tf\nnode\t0\t0\t0\t0\nnode\t0\t0\t1\t5\n" }));
  assert.ok(await plain.isHidden("#width"));
  await plain.keyboard.press("w");
  assert.equal(await plain.evaluate(() => luatracePage.look.before), false);
});

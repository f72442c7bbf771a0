// SPDX-License-Identifier: MIT
// Boxes are as wide as their times; zooming by mouse, keys and breadcrumbs.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { clickNode, colourOf, makePage, openPage, paintedAt, rectOf, settle, startBrowser, textIn, textOf, pathOf } from "./page.mjs";
import { inclusive, sample, totalTime } from "./model.mjs";

let browser, file;
before(async () => {
  browser = await startBrowser();
  file = makePage("zoom", { text: textOf(sample) });
});
after(() => browser?.close());

async function crumbs(page) {
  return page.$$eval("#crumbs button", (buttons) => buttons.map((b) => b.textContent));
}

test("a box is as wide as its inclusive time and as painted", async (t) => {
  const page = await openPage(t, browser, file);
  const whole = (await rectOf(page, "")).width;
  for (const path of ["main", "main/alpha", "main/alpha/beta/string.gsub", "main/beta/alpha/lua_native", "worker"]) {
    const { width } = await rectOf(page, path);
    const wanted = (whole * inclusive(sample, path)) / totalTime(sample);
    assert.ok(Math.abs(width - wanted) < 0.01, `${path}: ${width}, wanted ${wanted}`);
    assert.deepEqual(await paintedAt(page, path), await colourOf(page, path), path);
  }
});

test("callees are inside their caller and beside each other", async (t) => {
  const page = await openPage(t, browser, file);
  const parent = await rectOf(page, "main");
  const first = await rectOf(page, "main/alpha");
  const second = await rectOf(page, "main/beta");
  assert.equal(first.left, parent.left);
  assert.ok(Math.abs(first.left + first.width - second.left) < 0.01);
  assert.ok(second.left + second.width <= parent.left + parent.width + 0.01);
  assert.equal(first.top, second.top);
});

test("a click zooms, the box then fills the width, Escape shows everything", async (t) => {
  const page = await openPage(t, browser, file);
  const whole = await rectOf(page, "");
  await clickNode(page, "main/beta");
  assert.equal(await pathOf(page, "zoom"), "all/main/beta");
  assert.deepEqual(await crumbs(page), ["all", "main", "beta"]);
  assert.equal((await rectOf(page, "main/beta")).width, whole.width);
  const inner = await rectOf(page, "main/beta/alpha");
  const wanted = (whole.width * inclusive(sample, "main/beta/alpha")) / inclusive(sample, "main/beta");
  assert.ok(Math.abs(inner.width - wanted) < 0.01);
  await page.keyboard.press("Escape");
  assert.equal(await pathOf(page, "zoom"), "all");
  assert.deepEqual(await rectOf(page, ""), whole);
  assert.deepEqual(await crumbs(page), ["all"]);
});

test("a click on a box above the zoomed one and on a breadcrumb go back", async (t) => {
  const page = await openPage(t, browser, file);
  await clickNode(page, "main/alpha/beta");
  await clickNode(page, "main");
  assert.equal(await pathOf(page, "zoom"), "all/main");
  await clickNode(page, "main/alpha/beta");
  await page.click("#crumbs button:nth-of-type(3)");
  assert.equal(await pathOf(page, "zoom"), "all/main/alpha");
  await page.click("#crumbs button:first-child");
  assert.equal(await pathOf(page, "zoom"), "all");
});

test("arrows select, Enter and plus zoom in, minus zooms out, 0 resets", async (t) => {
  const page = await openPage(t, browser, file);
  const steps = [
    ["ArrowDown", "all", "all"], ["ArrowDown", "all/main", "all"], ["ArrowDown", "all/main/alpha", "all"],
    ["ArrowRight", "all/main/beta", "all"], ["ArrowLeft", "all/main/alpha", "all"],
    ["ArrowUp", "all/main", "all"], ["ArrowRight", "all/worker", "all"], ["ArrowRight", "all/worker", "all"],
    ["Enter", "all/worker", "all/worker"], ["+", "all/worker/string.gsub", "all/worker/string.gsub"],
    ["-", "all/worker", "all/worker"], ["-", "all", "all"], ["+", "all/main", "all/main"],
    ["+", "all/main/alpha", "all/main/alpha"], ["0", "", "all"],
  ];
  for (const [key, selected, zoom] of steps) {
    await page.keyboard.press(key);
    assert.deepEqual([key, await pathOf(page, "selected"), await pathOf(page, "zoom")], [key, selected, zoom]);
  }
});

test("siblings are in the chosen order", async (t) => {
  const page = await openPage(t, browser, file);
  const names = () => page.evaluate(() => {
    const { layout, tree, functions } = luatracePage.view;
    return Array.from(layout.row, (n) => `${tree.depth[n]} ${functions[tree.func[n]].name}`).slice(1, 5);
  });
  assert.deepEqual(await names(), ["1 main", "1 worker", "2 alpha", "2 beta"]);
  const inAlpha = async () => (await rectOf(page, "main/alpha/alpha")).left - (await rectOf(page, "main/alpha/beta")).left;
  assert.ok((await inAlpha()) > 0, "largest first: beta before alpha");
  await page.selectOption("#order", "name");
  assert.ok((await inAlpha()) < 0, "A-Z: alpha before beta");
  await page.selectOption("#order", "call");
  assert.ok((await inAlpha()) > 0, "first call: beta before alpha");
});

test("zooming is animated and ends exactly at the box", async (t) => {
  const page = await openPage(t, browser, file, { reducedMotion: "no-preference" });
  await clickNode(page, "main/beta");
  await page.waitForFunction(() => !luatracePage.graph.glide);
  await settle(page);
  const { range } = await page.evaluate(() => ({ range: luatracePage.graph.range }));
  assert.deepEqual(range, { x: inclusive(sample, "main/alpha"), span: inclusive(sample, "main/beta") });
});

test("an empty tree and a tree of one node make pages, too", async (t) => {
  const none = await openPage(t, browser, makePage("empty", { text: "title\tnothing\n" }));
  assert.equal(await textIn(none, "#details"), "No time was recorded");
  for (const key of ["ArrowDown", "Enter", "+", "-", "0", "b", "i", "Escape"]) await none.keyboard.press(key);
  await none.fill("#search", "x");
  const one = await openPage(t, browser, makePage("one", { text: "title\tone\nfunction\tlua\t1\t@x.lua\tf\nnode\t0\t0\t0\t0\nnode\t0\t0\t1\t1000\n" }));
  assert.equal(await pathOf(one, "zoom"), "all");
  assert.ok((await rectOf(one, "")).width > 1000);
  for (const key of ["ArrowDown", "Enter", "+", "-", "0", "b", "+", "i", "Escape"]) await one.keyboard.press(key);
});

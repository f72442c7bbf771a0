// SPDX-License-Identifier: MIT
// Everything without a mouse: views, graph, table, search, help.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { makePage, openPage, startBrowser, textIn, textOf, pathOf } from "./page.mjs";
import { sample, timeSample, timeText } from "./model.mjs";

let browser, file;
before(async () => {
  browser = await startBrowser();
  file = makePage("keyboard", { text: textOf(sample) + timeText(timeSample) });
});
after(() => browser?.close());

const pressed = (page) => page.$$eval("[data-view]", (all) => all.filter((b) => b.getAttribute("aria-pressed") === "true").map((b) => b.dataset.view));
const focused = (page) => page.evaluate(() => {
  const { id, tagName, dataset, textContent } = document.activeElement;
  return id || dataset.view || (tagName === "TR" ? `row ${textContent.slice(0, 4)}` : tagName);
});

test("digits choose the view", async (t) => {
  const page = await openPage(t, browser, file);
  for (const [key, view] of [["3", "chart"], ["4", "lanes"], ["5", "sandwich"], ["2", "callers"], ["1", "calls"]]) {
    await page.keyboard.press(key);
    assert.deepEqual(await pressed(page), [view]);
  }
});

test("Tab reaches every control, the graph, the grip and the table", async (t) => {
  const page = await openPage(t, browser, file);
  const seen = [];
  for (let i = 0; i < 26; i++) {
    await page.keyboard.press("Tab");
    seen.push(await focused(page));
  }
  for (const stop of ["help", "theme", "calls", "callers", "chart", "lanes", "sandwich", "order", "search", "regex", "graph", "grip", "row beta"]) {
    assert.ok(seen.includes(stop), `${stop} in ${seen}`);
  }
});

test("rows of the table: arrows move the focus, Enter selects, s opens the sandwich", async (t) => {
  const page = await openPage(t, browser, file);
  await page.focus("#rows tr");
  await page.keyboard.press("ArrowDown");
  assert.equal(await focused(page), "row stri");
  await page.keyboard.press("End");
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  assert.equal(await pathOf(page, "selected"), "all/worker/string.gsub");
  await page.keyboard.press("s");
  assert.deepEqual(await pressed(page), ["sandwich"]);
  assert.match(await textIn(page, "#focus"), /callersstring\.gsub/);
});

test("the grip resizes the table", async (t) => {
  const page = await openPage(t, browser, file);
  const height = () => page.evaluate(() => document.getElementById("functions").offsetHeight);
  const first = await height();
  await page.focus("#grip");
  await page.keyboard.press("ArrowUp");
  assert.equal(await height(), first + 40);
  await page.keyboard.press("Enter");
  assert.ok(await page.isHidden("#functions"));
});

test("a lane's stretches, up and down too, and Enter opens the chart", async (t) => {
  const page = await openPage(t, browser, file);
  await page.keyboard.press("4");
  const selected = () => page.evaluate(() => luatracePage.view.selected);
  for (const [key, node] of [["ArrowDown", 0], ["ArrowRight", 1], ["ArrowDown", 5], ["ArrowRight", 6], ["ArrowUp", 2], ["ArrowDown", 6]]) {
    await page.keyboard.press(key);
    assert.equal(await selected(), node, key);
  }
  await page.keyboard.press("Enter");
  assert.deepEqual(await pressed(page), ["chart"]);
  assert.match(await textIn(page, "#crumbs"), /^all›/);
});

// Everything that a key may change, as one string.
const state = (page) => page.evaluate(() => {
  const { view, graph, mode, look, onlyActive } = luatracePage;
  const shown = [view.selected, view.zoom, JSON.stringify(view.range), graph.flip, mode, look.before, onlyActive, look.chosen];
  const { id, value } = document.activeElement;
  return JSON.stringify([...shown, id, value, document.getElementById("keys").open, document.getElementById("functions").hidden, document.getElementById("search").value]);
});

// Puts the page into the state in which it was opened.
function reset() {
  const all = luatracePage;
  document.getElementById("keys").close();
  document.getElementById("functions").hidden = false;
  document.activeElement.blur();
  all.clearSearch();
  all.mark(-1);
  all.setView("chart");
  all.select(-1);
  all.setOnlyActive(false);
  all.showRange(0, all.view.end, true);
  all.setView("calls");
  all.setFlip(false);
  all.view.selected = -1;
  all.zoomTo(0);
}

test("every key in the help changes something where the help says so", async (t) => {
  const zoomed = (page) => page.evaluate(() => luatracePage.pick(luatracePage.view.child(luatracePage.view.child(0))));
  const cases = [
    ["2"], ["3"], ["4"], ["5"], ["/"], ["s"], ["b"], ["i"], ["t"], ["ArrowDown"], ["Enter"], ["+"], ["Tab"], ["?"],
    ["Escape", zoomed], ["0", zoomed], ["-", zoomed], ["ArrowUp", zoomed], ["ArrowLeft", (page) => page.evaluate(() => luatracePage.select(5))],
    ["ArrowRight", (page) => page.evaluate(() => luatracePage.select(2))],
    ...["[", "]", "+", "-", "n", "o", "ArrowDown", "0"].map((key) => [key, async (page) => {
      await page.keyboard.press("3");
      await page.evaluate(() => luatracePage.showRange(2_000_000, 4_000_000, true));
      await page.evaluate(() => luatracePage.mark(3));
    }]),
    ["N", async (page) => {
      await page.keyboard.press("3");
      await page.evaluate(() => luatracePage.select(4));
      await page.fill("#search", "resumed");
      await page.focus("#graph");
    }],
  ];
  const page = await openPage(t, browser, file);
  for (const [key, prepare] of cases) {
    await page.evaluate(reset);
    await prepare?.(page);
    const before_ = await state(page);
    await page.keyboard.press(key);
    assert.notEqual(await state(page), before_, `${key}${prepare ? ", prepared" : ""}`);
  }
});

test("? lists the keys", async (t) => {
  const page = await openPage(t, browser, file);
  await page.keyboard.press("?");
  const keys = await page.$$eval("#keys kbd", (all) => all.map((part) => part.textContent));
  for (const key of ["1", "5", "/", "Esc", "Enter", "s", "b", "i", "w", "t", "0", "[", "]", "Tab"]) assert.ok(keys.includes(key), key);
  await page.keyboard.press("Escape");
  assert.ok(!(await page.evaluate(() => document.getElementById("keys").open)));
});

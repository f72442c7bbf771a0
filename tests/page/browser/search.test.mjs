// SPDX-License-Identifier: MIT
// Search: what matches, the share of time of the matches, and what is marked.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { clickNode, colourOf, makePage, openPage, paintedAt, startBrowser, textIn, textOf } from "./page.mjs";
import { inclusive, percent, sample, timeWith } from "./model.mjs";

let browser, file;
before(async () => {
  browser = await startBrowser();
  file = makePage("search", { text: textOf(sample) });
});
after(() => browser?.close());

const share = (test, path = "") => percent(timeWith(sample, test, path), inclusive(sample, path));
const listed = (page) => page.$$eval("#rows td.name", (cells) => cells.map((c) => c.textContent).sort());

test("nested matches count once, regardless of case", async (t) => {
  const page = await openPage(t, browser, file);
  for (const [text, count, matches] of [["ALPHA", "1 function", ["alpha"]], ["a", "6 functions", null], ["beta", "1 function", ["beta"]]]) {
    await page.fill("#search", text);
    const wanted = matches ? share((name) => matches.includes(name)) : "100 %";
    assert.equal(await textIn(page, "#found"), `${count} · ${wanted} of time`);
  }
});

test("locations are searched, too", async (t) => {
  const page = await openPage(t, browser, file);
  await page.fill("#search", "lib/b.lua");
  const wanted = share((name) => ["beta", "worker"].includes(name));
  assert.equal(await textIn(page, "#found"), `2 functions · ${wanted} of time`);
  assert.deepEqual(await listed(page), ["beta", "worker"]);
});

test("in a zoom the share of the zoomed box is shown, too", async (t) => {
  const page = await openPage(t, browser, file);
  await page.fill("#search", "gsub");
  await clickNode(page, "main/alpha");
  const gsub = (name) => name === "string.gsub";
  assert.equal(await textIn(page, "#found"), `1 function · ${share(gsub)} of time · ${share(gsub, "main/alpha")} of the zoomed box`);
});

test("a regular expression matches the ends of names and locations", async (t) => {
  const page = await openPage(t, browser, file);
  await page.fill("#search", "^(alpha|w.*r)$");
  assert.equal(await textIn(page, "#found"), "0 functions · 0 % of time");
  await page.click("#regex");
  const wanted = share((name) => ["alpha", "worker"].includes(name));
  assert.equal(await textIn(page, "#found"), `2 functions · ${wanted} of time`);
  await page.fill("#search", "lua:\\d0$");
  assert.deepEqual(await listed(page), ["alpha", "beta"]);
});

test("an invalid expression shows a message and marks nothing", async (t) => {
  const page = await openPage(t, browser, file);
  await page.click("#regex");
  await page.fill("#search", "(");
  assert.equal(await textIn(page, "#found"), "invalid regular expression");
  assert.equal(await page.getAttribute("#search", "aria-invalid"), "true");
  assert.deepEqual(await paintedAt(page, "main/alpha"), await colourOf(page, "main/alpha"));
});

test("matches are painted in the mark's colour, the others fade; Escape clears", async (t) => {
  const page = await openPage(t, browser, file);
  await page.keyboard.press("/");
  await page.keyboard.type("beta");
  const mark = await page.evaluate(() => luatracePage.look.ink.mark);
  for (const path of ["main/alpha/beta", "main/beta"]) {
    assert.deepEqual(await paintedAt(page, path), await colourOf(page, path, mark), path);
  }
  assert.ok((await paintedAt(page, "worker"))[3] < 128, "worker fades");
  await page.keyboard.press("Escape");
  assert.equal(await page.inputValue("#search"), "");
  assert.equal(await textIn(page, "#found"), "");
  assert.deepEqual(await paintedAt(page, "main/beta"), await colourOf(page, "main/beta"));
  assert.equal((await listed(page)).length, sample.functions.length);
});

test("keys typed into the search do nothing else", async (t) => {
  const page = await openPage(t, browser, file);
  await page.keyboard.press("/");
  await page.keyboard.type("ib0+-/t");
  assert.equal(await page.inputValue("#search"), "ib0+-/t");
  assert.ok(await page.isVisible("#functions"));
  assert.equal(await page.getAttribute("[data-view=calls]", "aria-pressed"), "true");
});

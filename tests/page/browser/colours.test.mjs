// SPDX-License-Identifier: MIT
// Colours of the legend that a person can tell apart, in both themes and with both modes, and text that can
// be read on them.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { makePage, openPage, startBrowser, textOf } from "./page.mjs";
import { timeSample, timeText } from "./model.mjs";
import { requestPage } from "./request_model.mjs";

const modules = Array.from({ length: 14 }, (_, i) => `@app/module${i}.lua`);
const functions = [["builtin", 0, "[builtin]", "string.gsub"], ["c", 0, "/usr/lib/native.so", "lua_native"], ["coroutine", 9, "@app/module0.lua", "worker"],
  ...modules.map((chunk, i) => ["lua", i + 1, chunk, `f${i}`])];
const nodes = [[0, 0, 0, 0], ...functions.map((_, i) => [0, i, 1, 1_000_000 - 40_000 * i])];

const track = { ...timeSample.tracks[0], slices: timeSample.tracks[0].slices.filter(([kind]) => kind < 2) };

let browser, file;
before(async () => {
  browser = await startBrowser();
  file = makePage("colours", { text: textOf({ functions, nodes }) + timeText({ ...timeSample, tracks: [track] }) });
});
after(() => browser?.close());

const linear = (part) => (part <= 0.04045 * 255 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4);

// Oklab: equal distances look equally different.
function oklab(rgb) {
  const [r, g, b] = rgb.map(linear);
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s, 1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s, 0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s];
}
const distance = (a, b) => Math.hypot(...oklab(a).map((part, i) => part - oklab(b)[i]));
const luminance = (rgb) => rgb.map(linear).reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
const contrast = (a, b) => {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
};
const rgbOf = (text) => text.match(/[\d.]+/g).slice(0, 3).map(Number);

const legend = (page) => page.$$eval("#legend > span", (all) => all.map((one) => [one.textContent, getComputedStyle(one.firstChild).backgroundColor]));
const textColour = (page) => page.evaluate(() => {
  const context = document.createElement("canvas").getContext("2d");
  context.fillStyle = luatracePage.look.ink.text;
  context.fillRect(0, 0, 1, 1);
  return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
});

for (const colorScheme of ["light", "dark"]) {
  test(`the parts of requests differ and carry text: ${colorScheme}`, async (t) => {
    const page = await openPage(t, browser, makePage("colours_requests", { text: requestPage() }), { colorScheme });
    const ink = await textColour(page);
    await page.keyboard.press("6");
    for (const [by, count] of [["share", 4], ["phase", 6]]) {
      await page.selectOption("#dotColour", by);
      const entries = await legend(page);
      assert.equal(entries.length, count);
      const colours = entries.map(([, colour]) => rgbOf(colour));
      for (const a of colours.slice(-4)) assert.ok(contrast(a, ink) >= 4.5, `${a}: contrast ${contrast(a, ink)}`);
      const parts = by === "share" ? colours : colours.slice(0, 2);  // dots and bars are not side by side
      for (const [i, a] of parts.entries()) for (const b of parts.slice(0, i)) assert.ok(distance(a, b) >= 0.055, `${a} and ${b}: ${distance(a, b).toFixed(3)}`);
    }
  });

  test(`the legend's colours differ and carry text: ${colorScheme}`, async (t) => {
    const page = await openPage(t, browser, file, { colorScheme });
    const ink = await textColour(page);
    for (const [mode, view, count] of [["function", "calls", 4], ["function", "chart", 7], ["module", "calls", 11], ["module", "chart", 14], ["function", "lanes", 4]]) {
      await page.click(`[data-view=${view}]`);
      if (view !== "lanes") await page.selectOption("#colour", mode);
      const entries = await legend(page);
      assert.equal(entries.length, count, `${mode} ${view}: ${entries.map(([label]) => label)}`);
      const colours = entries.map(([, colour]) => rgbOf(colour));
      for (const [i, a] of colours.entries()) {
        // In the lanes the suspended line has no text in it.
        if (view !== "lanes") assert.ok(contrast(a, ink) >= 4.5, `${entries[i]}: contrast ${contrast(a, ink)}`);
        for (let j = 0; j < i; j++) {
          const apart = distance(a, colours[j]);
          assert.ok(apart >= 0.055, `${entries[i]} and ${entries[j]} in ${view}: ${apart.toFixed(3)}`);
        }
      }
    }
  });
}

test("by module: functions of a file have one colour, all beyond the first ten share one", async (t) => {
  const page = await openPage(t, browser, file);
  await page.selectOption("#colour", "module");
  const colours = await page.evaluate(() => Object.fromEntries(luatracePage.functions.map((f) => [f.name, luatracePage.look.colour(f.id)])));
  assert.equal(colours.worker, colours.f0);
  assert.equal(new Set([colours["string.gsub"], colours.lua_native, ...Array.from({ length: 8 }, (_, i) => colours[`f${i}`])]).size, 10);
  assert.equal(colours.f12, colours.f13);
  assert.deepEqual((await legend(page)).map(([label]) => label).slice(-2), ["app/module7.lua", "6 others"]);
  await page.selectOption("#colour", "function");
  assert.notEqual(await page.evaluate(() => luatracePage.look.colour(luatracePage.functions.find((f) => f.name === "f0").id)), colours.f0);
});

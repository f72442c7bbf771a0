// SPDX-License-Identifier: MIT
// Light and dark, and a page without overlaps in large and small windows. Writes page-*.png into the
// build folder of the tests, for people to look at.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { makePage, openPage, outFolder, settle, startBrowser, textOf } from "./page.mjs";
import { sample, timeSample, timeText } from "./model.mjs";

let browser, file;
const others = {};  // pages for states that need other data
before(async () => {
  browser = await startBrowser();
  file = makePage("looks", { args: ["random", "20000", "3"] });
  others.diff = makePage("looks-diff", { args: ["random", "20000", "3", "--diff"] });
  others.chart = others.lanes = makePage("looks-time", { text: textOf({ ...sample, title: "a program with coroutines" }) + timeText(timeSample) });
});
after(() => browser?.close());

const background = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
const isDark = (colour) => colour.match(/\d+/g).slice(0, 3).every((part) => part < 80);

const states = {
  plain: async () => {},
  zoomed: (page) => page.evaluate(() => luatracePage.pick(luatracePage.view.child(luatracePage.view.child(0)))),
  searched: (page) => page.fill("#search", "parse"),
  "bottom-up": (page) => page.click("[data-view=callers]"),
  flame: (page) => page.click("[data-shape=flame]"),
  help: (page) => page.click("#help"),
  sandwich: (page) => page.click("[data-view=sandwich]"),
  chart: (page) => page.click("[data-view=chart]"),
  lanes: (page) => page.click("[data-view=lanes]"),
  diff: (page) => page.hover("#graph", { position: { x: 300, y: 50 } }),
};

for (const [width, height] of [[1280, 800], [800, 600], [360, 740]]) {
  for (const theme of ["light", "dark"]) {
    for (const [i, [name, make]] of Object.entries(states).entries()) {
      if (width < 1280 && (i % 2 === 0) !== (theme === "light")) continue;  // half of them is enough
      test(`${name}, ${theme}, ${width}x${height}: nothing overlaps`, async (t) => {
        const page = await openPage(t, browser, others[name] ?? file, { viewport: { width, height }, colorScheme: theme });
        await make(page);
        await settle(page);
        await page.screenshot({ path: join(outFolder, `page-${name}-${theme}-${width}.png`) });
        assert.equal(isDark(await background(page)), theme === "dark");
        const parts = await page.$$eval("header, .tools, .path, #ruler, #graph, #focus, #callees, #details, #grip, #functions, footer", (all) =>
          all.filter((part) => part.offsetHeight).map((part) => ({ id: part.id || part.className || part.tagName, ...part.getBoundingClientRect().toJSON() })));
        for (let i = 1; i < parts.length; i++) {
          assert.ok(parts[i].top >= parts[i - 1].bottom - 0.01, `${parts[i].id} is below ${parts[i - 1].id}`);
        }
        assert.ok(parts.at(-1).bottom <= height, "everything is in the window");
        const space = parts.filter(({ id }) => id === "graph" || id === "callees").reduce((sum, part) => sum + part.height, 0);
        assert.ok(space >= 150, `the graph has space: ${space}`);
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width);
        const texts = await page.$$eval(".tools > *, .path > *", (all) => all.filter((part) => part.offsetWidth).map((part) => ({ id: part.id || part.className, ...part.getBoundingClientRect().toJSON() })));
        for (const a of texts) {
          for (const b of texts) {
            const apart = a === b || a.right <= b.left + 0.01 || b.right <= a.left + 0.01 || a.bottom <= b.top + 0.01 || b.bottom <= a.top + 0.01;
            assert.ok(apart, `${a.id} overlaps ${b.id}`);
          }
        }
      });
    }
  }
}

test("a low window scrolls, and nothing overlaps", async (t) => {
  for (const view of ["calls", "chart", "sandwich"]) {
    const page = await openPage(t, browser, others.chart, { viewport: { width: 740, height: 360 } });
    await page.click(`[data-view=${view}]`);
    await settle(page);
    const parts = await page.$$eval("header, .tools, .path, #ruler, #graph, #focus, #callees, #details, #functions, footer", (all) =>
      all.filter((part) => part.offsetHeight).map((part) => ({ id: part.id || part.className || part.tagName, ...part.getBoundingClientRect().toJSON() })));
    for (let i = 1; i < parts.length; i++) assert.ok(parts[i].top >= parts[i - 1].bottom - 0.01, `${view}: ${parts[i].id} is below ${parts[i - 1].id}`);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 740);
    const crumb = await page.$eval("#crumbs b, #crumbs button", (part) => [part.scrollWidth, part.getBoundingClientRect().right, document.getElementById("crumbs").getBoundingClientRect().right]);
    assert.ok(crumb[1] <= crumb[2] + 0.01, `${view}: ${crumb}`);
  }
});

test("on a telephone the table shows the names, and its figures can be scrolled to", async (t) => {
  for (const of of [file, others.diff]) {
    const page = await openPage(t, browser, of, { viewport: { width: 360, height: 740 } });
    const nameAt = () => page.$eval("#rows td.name", (cell) => cell.getBoundingClientRect().toJSON());
    const before_ = await nameAt();
    assert.ok(before_.left >= 0 && before_.width > 100 && before_.right < 230, JSON.stringify(before_));
    assert.ok((await page.$eval("#rows td.number", (cell) => cell.getBoundingClientRect().width)) > 50);
    await page.evaluate(() => (document.getElementById("functions").scrollLeft = 9999));
    await settle(page);
    assert.ok((await nameAt()).left >= 0, "the name stays");
    const last = await page.$eval("#rows tr td:last-child", (cell) => cell.getBoundingClientRect().right);
    assert.ok(last <= 360 && last > 200, `${last}`);
  }
});

// The lowest contrast as defined by WCAG 2: from 1 to 21; text needs 4.5.
const contrasts = () => {
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const paint = (...colours) => {
    context.clearRect(0, 0, 1, 1);
    for (const colour of colours) {
      context.fillStyle = colour;
      context.fillRect(0, 0, 1, 1);
    }
    return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const linear = (part) => (part / 255 <= 0.03928 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const contrast = (a, b) => {
    const [low, high] = [light(a), light(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  const { look, functions } = luatracePage;
  const css = getComputedStyle(document.documentElement);
  const named = (name) => css.getPropertyValue(name).trim();
  const found = [];
  for (const f of functions) {
    for (const ink of [look.ink.text, look.ink.fainter]) found.push([contrast(paint(look.colour(f.id), ink), paint(look.colour(f.id))), `${f.kind} ${ink}`]);
  }
  for (const [text, back] of [["--text", "--bar"], ["--soft", "--back"], ["--soft", "--panel"], ["--accent", "--accent-back"], ["--warn", "--back"], ["--more", "--back"], ["--less", "--back"]]) {
    found.push([contrast(paint(named(text)), paint(named(back))), `${text} on ${back}`]);
  }
  found.push([contrast(paint(look.ink.markText), paint(look.ink.mark)), "mark"]);
  return found.sort(([a], [b]) => a - b)[0];
};

for (const colorScheme of ["light", "dark"]) {
  test(`texts have enough contrast: ${colorScheme}`, async (t) => {
    const page = await openPage(t, browser, others.lanes, { colorScheme });
    const many = await openPage(t, browser, file, { colorScheme });
    for (const of of [page, many]) {
      const [lowest, what] = await of.evaluate(contrasts);
      assert.ok(lowest >= 4.5, `${what}: ${lowest}`);
    }
  });
}

test("the button changes the theme, and the graph with it", async (t) => {
  const page = await openPage(t, browser, file, { colorScheme: "light" });
  const ink = () => page.evaluate(() => luatracePage.look.ink.text);
  const light = await ink();
  await page.click("#theme");
  assert.ok(isDark(await background(page)));
  assert.notEqual(await ink(), light);
  await page.click("#theme");
  assert.ok(!isDark(await background(page)));
  assert.equal(await ink(), light);
});

test("the page follows the system's theme until the user chooses one", async (t) => {
  const page = await openPage(t, browser, file, { colorScheme: "light" });
  await page.emulateMedia({ colorScheme: "dark" });
  await page.waitForFunction(() => document.documentElement.dataset.theme === "dark");
  assert.ok(isDark(await background(page)));
});

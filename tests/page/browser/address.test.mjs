// SPDX-License-Identifier: MIT
// The state of the page in its address: a link opens the same place, Back goes back, and an address that
// does not fit, or is hostile, does no harm.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { clickNode, makePage, openPage, pathOf, settle, startBrowser, textIn, textOf } from "./page.mjs";
import { sample, timeSample, timeText } from "./model.mjs";

let browser, file;
before(async () => {
  browser = await startBrowser();
  file = makePage("address", { text: textOf(sample) + timeText(timeSample) });
});
after(() => browser?.close());

const written = (page) => page.evaluate(() => (luatracePage.address.write(), location.hash));
const state = (page) => page.evaluate(() => JSON.stringify(luatracePage.state()));

// Opens the address in a page of its own; openPage checks that it requests nothing else.
async function openLink(t, hash) {
  const page = await openPage(t, browser, file);
  await page.evaluate((text) => (location.hash = text), hash);
  await page.waitForFunction(() => luatracePage.address.text === location.hash.slice(1));
  await settle(page);
  return page;
}

const places = {
  "a zoomed box": (page) => clickNode(page, "main/alpha/beta"),
  "bottom-up, zoomed": async (page) => {
    await page.keyboard.press("2");
    await clickNode(page, "beta/alpha");
  },
  "a range over time": async (page) => {
    await page.keyboard.press("3");
    await page.evaluate(() => luatracePage.showRange(2_000_000, 3_000_000));
  },
  "the call tree of a range, changed": async (page) => {
    await page.keyboard.press("4");
    await page.evaluate(() => luatracePage.showRange(1_000_000, 7_000_000));
    await page.keyboard.press("1");
    await clickNode(page, "main/alpha");
    await page.keyboard.press("m");
  },
  "a sandwich": (page) => page.evaluate(() => luatracePage.openFunction(luatracePage.functions.find((f) => f.name === "beta").id)),
  "a search, colours, order and shape": async (page) => {
    await page.fill("#search", "be.a");
    await page.click("#regex");
    await page.selectOption("#colour", "module");
    await page.selectOption("#order", "name");
    await page.click("[data-shape=flame]");
  },
  "lanes in another order, only active ones": async (page) => {
    await page.keyboard.press("4");
    await page.selectOption("#laneOrder", "packed");
    await page.keyboard.press("o");
  },
};

for (const [name, go] of Object.entries(places)) {
  test(`a link opens the same place: ${name}`, async (t) => {
    const page = await openPage(t, browser, file);
    const first = await state(page);
    await go(page);
    await settle(page);
    const [hash, wanted] = [await written(page), await state(page)];
    assert.notEqual(wanted, first);
    assert.ok(hash.length > 1 && hash.length < 200, hash);
    const other = await openLink(t, hash);
    assert.deepEqual(JSON.parse(await state(other)), JSON.parse(wanted));
    assert.equal(await pathOf(other, "zoom"), await pathOf(page, "zoom"));
    assert.equal(await textIn(other, "#crumbs"), await textIn(page, "#crumbs"));
    assert.equal(await textIn(other, "#found"), await textIn(page, "#found"));
  });
}

test("Back and Forward go through the places", async (t) => {
  const page = await openPage(t, browser, file);
  const seen = [await state(page)];
  const steps = [() => clickNode(page, "main/alpha"), () => page.keyboard.press("3"), () => page.evaluate(() => luatracePage.showRange(1e6, 2e6)), () => page.keyboard.press("2")];
  for (const step of steps) {
    await step();
    await written(page);
    seen.push(await state(page));
  }
  for (let i = seen.length - 2; i >= 0; i--) {
    await page.evaluate(() => history.back());
    await page.waitForFunction((wanted) => JSON.stringify(luatracePage.state()) === wanted, seen[i], { timeout: 5000 });
  }
  await page.evaluate(() => history.forward());
  await page.waitForFunction((wanted) => JSON.stringify(luatracePage.state()) === wanted, seen[1], { timeout: 5000 });
});

test("Back goes to the state before the last change, however soon", async (t) => {
  const page = await openPage(t, browser, file);
  const seen = [await state(page)];
  await clickNode(page, "main/alpha");
  await written(page);
  seen.push(await state(page));
  await page.evaluate(() => {
    luatracePage.setView("callers");
    return new Promise((done) => {
      addEventListener("popstate", done, { once: true });
      setTimeout(() => history.back(), 20);
    });
  });
  assert.equal(await state(page), seen[1]);
  // What changes within the same moment is one step.
  await page.evaluate(() => {
    for (const key of ["2", "1", "2"]) document.dispatchEvent(new KeyboardEvent("keydown", { key }));
    luatracePage.address.write();
    history.back();
  });
  await page.waitForFunction((wanted) => JSON.stringify(luatracePage.state()) === wanted, seen[1], { timeout: 5000 });
});

test("a regular expression in a link is run only if it cannot take long", async (t) => {
  const page = await openLink(t, "#search=(b%7Cbe)%2Bta%2B%2B&regex=1");
  assert.match(await textIn(page, "#found"), /^0 functions .* · the link has it as a regular expression: \.\* runs it$/);
  const long = { functions: [["lua", 1, "@a.lua", "a".repeat(60)]], nodes: [[0, 0, 0, 0], [0, 0, 1, 9]] };
  const other = await openPage(t, browser, makePage("regex", { text: textOf(long) }));
  for (const evil of ["(a+)+$x", "(a|a)*x", "a?".repeat(30) + "a{30}x", "(a*)\\1x", "a{1,30}a{1,30}a{1,30}x", "(a|a)".repeat(39) + "x", "(|)".repeat(60) + "x"]) {
    await other.evaluate((text) => (location.hash = `search=${encodeURIComponent(text)}&regex=1`), evil);
    await other.waitForFunction(() => luatracePage.address.text === location.hash.slice(1), undefined, { timeout: 5000 });
    assert.equal(await other.getAttribute("#regex", "aria-pressed"), "false", evil);
  }
  for (const [text, count] of [["^a+$", 1], ["x|a\\.lua", 1], ["[+*]+", 0]]) {
    await other.evaluate((hash) => (location.hash = hash), `search=${encodeURIComponent(text)}&regex=1`);
    await other.waitForFunction(() => luatracePage.address.text === location.hash.slice(1));
    assert.equal(await other.getAttribute("#regex", "aria-pressed"), "true", text);
    assert.match(await textIn(other, "#found"), new RegExp(`^${count} function`), text);
  }
});

test("an address that does not fit is ignored where it does not", async (t) => {
  const page = await openPage(t, browser, file);
  const first = await state(page);
  const evil = encodeURIComponent("<img src=x onerror=window.pwned=1>");
  for (const hash of [`#view=${evil}`, "#view=__proto__", "#range=9-1", "#range=1e999-2", "#range=99999999999-999999999999", "#zoom=9.9.9.9", "#zoom=-1", "#node=999999999",
    "#with=focus-9999 toString-1", "#with=constructor-1", "#chosen=77777", "#of=1", "#order=", "#constructor=1", "#%ff%fe=%", `#${"a=1&".repeat(5000)}`]) {
    await page.evaluate((text) => {
      location.hash = text;
      luatracePage.address.restore();
    }, hash);
    assert.deepEqual(JSON.parse(await state(page)), JSON.parse(first), hash.slice(0, 60));
  }
  await page.evaluate((text) => {
    location.hash = `#search=${text}`;
    luatracePage.address.restore();
  }, evil);
  assert.match(await textIn(page, "#found"), /^0 functions/);
  assert.equal(await page.evaluate(() => window.pwned), undefined);
});

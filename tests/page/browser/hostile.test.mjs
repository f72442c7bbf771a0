// SPDX-License-Identifier: MIT
// Text from a trace can neither run nor break the page, wherever it is shown.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { join } from "node:path";
import { makePage, openPage, outFolder, settle, startBrowser, textIn } from "./page.mjs";

// [bytes as make_page reads them, the text that the page must show]
const hostile = [
  ["</script><script>window.pwned=1</script>", "</script><script>window.pwned=1</script>"],
  ["<!--<script>", "<!--<script>"],
  ["<img src=x onerror=window.pwned=1>", "<img src=x onerror=window.pwned=1>"],
  ["\"'`};window.pwned=1;//", "\"'`};window.pwned=1;//"],
  ["</title></style><svg onload=window.pwned=1>", "</title></style><svg onload=window.pwned=1>"],
  ["line\\x0abreak\\x00nul\\x1b[31mred", "line\\nbreak\\x00nul\\x1b[31mred"],
  ["sep\\xe2\\x80\\xa8arator\\xe2\\x80\\xae turned", "sep\\xe2\\x80\\xa8arator\\xe2\\x80\\xae turned"],
  ["sep\\xe2\\x80\\xa9paragraph", "sep\\xe2\\x80\\xa9paragraph"],
  [`${"x".repeat(10000)}</script><script>window.pwned=1</script>`, `${"x".repeat(2000)}...`],
  ["not utf-8 \\xff\\xc0\\xaf", "not utf-8 \\xff\\xc0\\xaf"],
  ["@@NODES@@", "@@NODES@@"],
  ["${window.pwned=1}", "${window.pwned=1}"],
  ["constructor", "constructor"],
  ["__proto__", "__proto__"],
];

let browser;
before(async () => (browser = await startBrowser()));
after(() => browser?.close());

function pageWith(name, bytes) {
  const lines = [["title", bytes], ["subtitle", bytes], ["trust", bytes], ["node", 0, 0, 0, 0]];
  hostile.forEach(([text], i) => {
    lines.push(["function", i % 2 ? "lua" : "c", i + 1, text, text], ["node", 0, i, 1, 1000]);
  });
  // The chart: a track for each text, which also names the track and its thread.
  hostile.forEach(([text], i) => {
    lines.push(["track", text, text, 0, 1000, 0, 0, 0, 0], ["slice", 1, 0, i, 0, 1000, 1000, 0, 0]);
  });
  lines.push(["chart", 1, hostile.length, 1000, 1, 1, 1, bytes]);
  return makePage(name, { text: lines.map((line) => line.join("\t")).join("\n") + "\n" });
}

hostile.forEach(([bytes, seen], i) => {
  test(`text ${i} stays text in title, subtitle and trust line: ${seen.slice(0, 60)}`, async (t) => {
    const page = await openPage(t, browser, pageWith(`hostile-${i}`, bytes));
    assert.equal(await page.title(), seen);
    for (const place of ["#title", "#subtitle", "#trust"]) assert.equal(await textIn(page, place), seen, place);
    assert.equal(await page.evaluate(() => window.pwned), undefined);
  });
});

test("hostile names and chunks are shown as text and do not run", async (t) => {
  const page = await openPage(t, browser, pageWith("hostile", "plain"));
  const shown = await page.$$eval("#rows td.name", (cells) => cells.map((c) => c.textContent).sort());
  assert.deepEqual(shown, hostile.map(([, seen]) => seen).sort());
  for (const [, seen] of hostile.slice(0, 5)) {
    const node = await page.evaluate((name) => {
      const { tree, functions } = luatracePage.view;
      return Array.from(tree.func).findIndex((f) => functions[f].name === name);
    }, seen);
    await page.evaluate((n) => luatracePage.pick(n), node);
    assert.equal(await page.textContent("#crumbs button[aria-current]"), seen);
    await settle(page);
    const { left, top } = await page.evaluate((n) => luatracePage.graph.clientRect(n), node);
    await page.mouse.move(left + 300, top + 5);
    await page.mouse.move(left + 300, top + 10);
    // Shown with the next pointer event; a name that never comes fails by time-out.
    const shows = (name) => document.querySelector("#tooltip .name")?.textContent.includes(name);
    await page.waitForFunction(shows, seen, { timeout: 10000 });
    await page.evaluate(() => luatracePage.zoomTo(0));
  }
  await page.click("[data-view=callers]");
  await page.fill("#search", "<img");
  assert.match(await textIn(page, "#found"), /^1 function /);
  assert.equal(await page.evaluate(() => window.pwned), undefined);
  assert.deepEqual(await page.evaluate(() => ["script", "img", "svg"].map((tag) => document.querySelectorAll(tag).length)), [5, 0, 0]);
});

test("hostile names do not run in the views over time, the sandwich and a page without a chart", async (t) => {
  const page = await openPage(t, browser, pageWith("hostile-views", hostile[0][0]));
  for (const view of ["chart", "lanes", "sandwich"]) {
    await page.click(`[data-view=${view}]`);
    await settle(page);
    for (let i = 0; i < 3; i++) {
      await page.keyboard.press("ArrowDown");
      await page.mouse.move(600, 200 + 10 * i);
      await settle(page);
    }
  }
  await page.click("[data-view=chart]");
  await settle(page);
  assert.ok((await textIn(page, "#notes")).endsWith(hostile[0][1]));
  await page.evaluate(() => luatracePage.select(0));
  assert.match(await textIn(page, "#details"), /^<\/script><script>window\.pwned=1<\/script>/);
  assert.equal(await page.evaluate(() => window.pwned), undefined);
  const none = await openPage(t, browser, makePage("hostile-none", { text: `title\tx\nnochart\t${hostile[2][0]}\n` }));
  await none.keyboard.press("3");
  assert.ok((await textIn(none, "#details")).endsWith(hostile[2][1]));
  assert.equal(await none.evaluate(() => window.pwned), undefined);
});

test("the page requests nothing: the browser's network log has no request", async (t) => {
  const file = pageWith("hostile-offline", "<img src=http://127.0.0.1:1/x>");
  const log = join(outFolder, "net.json");
  const alone = await startBrowser([`--log-net-log=${log}`, "--net-log-capture-mode=Everything"]);
  const context = await alone.newContext({ offline: true });
  const page = await context.newPage();
  await page.goto(`file://${file}`);
  await page.waitForFunction(() => window.luatracePage?.readyAfter > 0);
  for (const key of ["2", "3", "4", "5", "s", "?"]) await page.keyboard.press(key);
  await settle(page);
  await context.close();
  await alone.close();
  const text = readFileSync(log, "utf8");
  assert.ok(text.includes("constants"), "a log was written");
  // Requests of the browser itself to its vendor's services do not come from the page.
  const own = /^https?:\/\/([a-z0-9-]+\.)*(google|googleapis|gstatic|gvt1)\.com\//;
  const asked = [...text.matchAll(/"url":"([^"]*)"/g)].map(([, url]) => url).filter((url) => /^(https?|wss?|ftp):/.test(url) && !own.test(url));
  assert.deepEqual(asked, []);
  assert.deepEqual([...readFileSync(file, "utf8").matchAll(/<(?:script|link|img|iframe|object|embed)\b[^>]*\b(?:src|href|data)=/g)].length, 0);
});

test("the page's policy stops a script that was inserted", async (t) => {
  const file = makePage("hostile-policy", { text: "title\tx\n" });
  const page = await browser.newPage();
  t.after(() => page.close());
  const broken = readFileSync(file, "utf8").replace("<body>", "<body><script>window.pwned=1</script><img src=x onerror='window.pwned=1'>");
  assert.ok(broken.includes("pwned"));
  await page.setContent(broken);
  await page.waitForFunction(() => window.luatracePage?.readyAfter > 0);
  assert.equal(await page.evaluate(() => window.pwned), undefined);
});

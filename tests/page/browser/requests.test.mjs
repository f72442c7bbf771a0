// SPDX-License-Identifier: MIT
// The view of requests: plot, table and waterfall, with figures worked out by hand in request_model.mjs.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { makePage, openPage, settle, startBrowser, textIn, textOf } from "./page.mjs";
import { sample, timeSample, timeText } from "./model.mjs";
import { base, requestPage, requests } from "./request_model.mjs";

let browser, file;
before(async () => {
  browser = await startBrowser();
  file = makePage("requests", { text: requestPage() });
});
after(() => browser?.close());

async function open(t, options) {
  const page = await openPage(t, browser, file, options);
  await page.keyboard.press("6");
  await settle(page);
  return page;
}

const rows = (page) => page.$$eval("#requestTable tbody tr", (all) => all.map((row) => [...row.children].map((cell) => cell.textContent.trim())));
const ids = async (page) => (await rows(page)).map(([id]) => id);
const choose = (page, id) => page.click(`#requestTable tr[data-id="${id - 1}"] td.name`);
const selected = (page) => page.evaluate(() => luatracePage.requests.selected.id);
// "row label: kind name begin +length" of each node, in us.
const waterfall = (page) => page.evaluate(() => {
  const { columns, labels, functions } = luatracePage.view;
  return columns.func.map((func, i) => `${labels[columns.row[i]].trim()}: ${functions[func].name} ${columns.name[i]} ${columns.begin[i] / 1000} +${columns.total[i] / 1000}`);
});
// The middle of a request's dot, in the window.
const dot = (page, id) => page.evaluate((wanted) => {
  const { plot, data } = luatracePage.requests;
  const { left, top } = plot.canvas.getBoundingClientRect();
  const request = data.list.find((one) => one.id === wanted);
  return [left + plot.xOf(request.begin), top + plot.yOf(request.wall)];
}, id);

test("a page without requests has no such view", async (t) => {
  const page = await openPage(t, browser, makePage("no_requests", { text: textOf(sample) + timeText(timeSample) }));
  assert.ok(await page.isHidden("[data-view=requests]"));
  await page.keyboard.press("6");
  assert.match(await textIn(page, "#details"), /--request-by FN/);
  assert.equal(await page.evaluate(() => luatracePage.mode), "calls");
  assert.equal(await page.evaluate(() => document.getElementById("requestData").textContent), "");
});

test("the table has the columns of --requests, sorted by wall; headings sort it", async (t) => {
  const page = await open(t);
  assert.deepEqual(await rows(page), [
    ["3", "4.000 ms", "40.10 ms", "10.00 µs", "0 ns", "40.00 ms", "90.00 µs", "1", "access_by_lua(nginx.conf:12)", "", "access 10.00 µs"],
    ["2", "400.0 µs", "3.230 ms", "180.0 µs", "3.000 ms", "50.00 µs", "0 ns", "1", "content_by_lua(nginx.conf:15)", "receive > ngx.sleep 3.000 ms", "content 180.0 µs + 3.000 ms"],
    ["1", "0 ns", "1.000 ms", "300.0 µs", "500.0 µs", "180.0 µs", "20.00 µs", "2", "content_by_lua(nginx.conf:15)", "ngx.sleep 500.0 µs", "access 100.0 µs, content 200.0 µs + 500.0 µs"],
  ]);
  for (const [key, wanted] of [["running", ["1", "2", "3"]], ["wait", ["2", "1", "3"]], ["id", ["1", "2", "3"]], ["id", ["3", "2", "1"]], ["longest", ["3", "1", "2"]]]) {
    await page.click(`#requestTable th[data-key=${key}] button`);
    assert.deepEqual(await ids(page), wanted, key);
  }
});

test("labels have a column, marks are beside the number, and the search finds labels and entries", async (t) => {
  const labelled = requests.map((one, i) => (i === 1 ? { ...one, unsure: 1, labels: [["uri", "/cart"], ["id", "k<7"]] } : one));
  const page = await openPage(t, browser, makePage("requests_labels", { text: requestPage(labelled) }));
  await page.keyboard.press("6");
  assert.deepEqual((await rows(page)).map((row) => [row[0], row[8]]), [["3", ""], ["2 ~", "uri=/cart, id=k<7"], ["1", ""]]);
  for (const [text, wanted] of [["/cart", ["2 ~"]], ["content_by_lua(nginx.conf:15)", ["2 ~", "1"]]]) {
    await page.fill("#search", text);
    await settle(page);
    assert.deepEqual(await ids(page), wanted, text);
  }
});

// Calls while request 1 and request 2 ran, while none ran that is known, and in another Lua VM.
const call = (begin, length) => [1, 0, 1, begin, length, length, 0, 0];
const ran = { thread: "thread 21", name: "coroutine 4", begin: 5_000_000, end: 9_200_000, suspended: 0, waiting: 0, resumes: 0, resumer: 0, slices: [call(5_000_000, 100_000), call(5_400_000, 180_000), call(9_100_000, 100_000)] };
const other = { ...ran, thread: "thread 22", name: "coroutine 5", vm: 2, slices: [call(5_000_000, 100_000)] };

test("over time by request: a call has the colour of the request that ran, which its tooltip names", async (t) => {
  const text = requestPage(requests, 0, { ...timeSample, tracks: [ran, other] });
  const page = await openPage(t, browser, makePage("requests_colours", { text }));
  await page.keyboard.press("3");
  await page.selectOption("#colour", "request");
  const found = await page.evaluate(() => {
    const { view, upper, requests } = luatracePage;
    return Array.from({ length: 4 }, (_, node) => [requests.titleOf(node, view), upper.colourOf(node)]);
  });
  assert.deepEqual(found.map(([title]) => title), ["request 1", "request 2", "", ""]);
  const colours = found.map(([, colour]) => colour);
  assert.equal(new Set(colours).size, 3);
  assert.equal(colours[2], colours[3]);
  assert.match(await textIn(page, "#legend"), /a colour for each request/);
  assert.equal(await page.evaluate(() => luatracePage.state().colour), "request");
  await page.evaluate(() => luatracePage.select(1));
  assert.match(await textIn(page, "#details"), /request request 2/);
});

test("the waterfall: who held the worker covers the wait, phases and coroutines have rows", async (t) => {
  const page = await open(t);
  await choose(page, 1);
  assert.deepEqual(await waterfall(page), [
    "request 1: running access 0 +100", "request 1: unattributed unattributed 100 +20", "request 1: running content 120 +150",
    "request 1: waits ngx.sleep 270 +130", "request 1: others request 2 400 +180", "request 1: waits ngx.sleep 580 +370",
    "request 1: running content 950 +50",
    "access · coroutine 4: running access 0 +100",
    "content: running content 120 +150", "content: waits ngx.sleep 270 +680", "content: running content 950 +50",
    "coroutine 5: running content 120 +150", "coroutine 5: waits ngx.sleep 270 +680",
    "coroutine 6: running content 950 +50",
    "the worker: running request 1 0 +100", "the worker: running request 1 120 +150", "the worker: others request 2 400 +180", "the worker: running request 1 950 +50",
  ]);
  assert.equal(await textIn(page, "#notes"), "");
  const first = (await waterfall(page)).filter((text) => text.startsWith("request 1"));
  const sum = first.reduce((total, text) => total + Number(text.split("+")[1]), 0);
  assert.equal(sum, 1000, "the first row covers the whole request");
});

test("a request without steps: its sums, a note and the command that shows it", async (t) => {
  const page = await open(t);
  assert.equal(await selected(page), 3, "the slowest");
  assert.deepEqual(await waterfall(page), ["sums of request 3: running access 0 +10", "sums of request 3: others others 10 +40000", "sums of request 3: unattributed unattributed 40010 +90"]);
  assert.match(await textIn(page, "#notes"), /only the sums/);
});

test("requests that are not in the page are said", async (t) => {
  const page = await openPage(t, browser, makePage("requests_more", { text: requestPage(requests, 12345) }));
  await page.keyboard.press("6");
  assert.match(await textIn(page, "#notes"), /^3 of 12,345 requests are in the page: the slowest, and every so many-th of the others\./);
});

test("details: the ledger of the request, the figures of a part, and who held the worker", async (t) => {
  const page = await open(t);
  await choose(page, 1);
  const facts = () => page.$$eval("#details .fact", (parts) => parts.map((part) => part.textContent));
  const ledger = await facts();
  for (const fact of ["wall 1.000 ms", "running 300.0 µs (30.00 %)", "waits 500.0 µs (50.00 %)", "others 180.0 µs (18.00 %)", "unattributed 20.00 µs (2.00 %)"]) assert.ok(ledger.includes(fact), `${fact} in ${ledger}`);
  await page.evaluate(() => luatracePage.select(4));
  assert.ok((await facts()).includes("duration 180.0 µs"));
  await page.click("#details button:has-text('Show request 2')");
  assert.equal(await selected(page), 2);
  assert.match(await textIn(page, "#crumbs"), /^request 2 at 400\.0 µs: all 3\.230 ms$/);
});

test("the plot: a dot for each, hover names it, a click selects, arrows go on", async (t) => {
  const page = await open(t);
  await page.mouse.move(...(await dot(page, 2)));
  assert.match(await textIn(page, "#tooltip"), /^request 2.*wall3\.230 ms/);
  await page.mouse.click(...(await dot(page, 1)));
  assert.equal(await selected(page), 1);
  const [low, high] = [await dot(page, 1), await dot(page, 3)];
  assert.ok(low[0] < high[0] && low[1] > high[1], "later is right, slower is up");
  await page.focus("#plot");
  for (const [key, id] of [["ArrowRight", 2], ["ArrowRight", 3], ["ArrowRight", 3], ["ArrowLeft", 2], ["ArrowDown", 1], ["ArrowUp", 2]]) {
    await page.keyboard.press(key);
    assert.equal(await selected(page), id, key);
  }
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.id), "graph");
});

test("a drag in the plot filters the table, the chip and Escape end that", async (t) => {
  const page = await open(t);
  const [[x1, y1], [x2, y2]] = [await dot(page, 1), await dot(page, 2)];
  await page.mouse.move(x1 - 20, y1 + 15);
  await page.mouse.down();
  await page.mouse.move(x1, y1, { steps: 3 });
  await page.mouse.move(x2 + 15, y2 - 15, { steps: 3 });
  await page.mouse.up();
  assert.deepEqual(await ids(page), ["2", "1"]);
  assert.match(await textIn(page, "#scope"), /long ×$/);
  await page.focus("#plot");
  await page.keyboard.press("Escape");
  assert.equal((await ids(page)).length, 3);
});

test("the search finds requests by waits and phases, and marks the waterfall", async (t) => {
  const page = await open(t);
  for (const [text, wanted] of [["receive", ["2"]], ["content", ["2", "1"]], ["request 3", ["3"]], ["nothing", ["No request matches"]]]) {
    await page.fill("#search", text);
    assert.deepEqual(await ids(page), wanted, text);
  }
  await page.fill("#search", "ngx.sleep");
  assert.match(await textIn(page, "#found"), /· 2 of 3 requests$/);
  await page.focus("#graph");
  for (const [key, id] of [["n", 2], ["n", 1], ["n", 1], ["N", 2]]) {
    await page.keyboard.press(key);
    assert.equal(await selected(page), id, key);
  }
  await choose(page, 1);
  assert.ok(await page.evaluate(() => luatracePage.view.isMarked(3, luatracePage.look) && !luatracePage.view.isMarked(0, luatracePage.look)));
});

test("Enter and a double-click show the time over time, a button in the flame graph", async (t) => {
  const page = await open(t);
  await choose(page, 1);
  await page.evaluate(() => luatracePage.select(4));
  await page.focus("#graph");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => luatracePage.mode), "chart");
  const { x, span } = await page.evaluate(() => luatracePage.range);
  assert.ok(x <= 400_000 && x > 390_000 && span >= 180_000 && span < 190_000, `${x} ${span}`);
  await page.keyboard.press("6");
  assert.deepEqual(await ids(page), ["2", "1"], "the range restricts the requests: the third begins later");
  await page.click("#details button:has-text('Flame graph')");
  assert.equal(await page.evaluate(() => luatracePage.mode), "calls");
  assert.equal(await textIn(page, "#scope"), "396.4 µs to 583.6 µs ×");
});

test("a link opens the same request, part and order", async (t) => {
  const page = await open(t);
  await page.click("#requestTable th[data-key=running] button");
  await choose(page, 2);
  await page.selectOption("#dotColour", "phase");
  await page.evaluate(() => luatracePage.requests.pick({ x: 0, span: 1_000_000, low: 1, high: 10_000_000 }));
  const hash = await page.evaluate(() => (luatracePage.address.write(), location.hash));
  const other = await openPage(t, browser, file);
  await other.evaluate((text) => (location.hash = text), hash);
  await other.waitForFunction(() => luatracePage.mode === "requests");
  await settle(other);
  assert.equal(await selected(other), 2);
  assert.deepEqual(await ids(other), ["1", "2"]);
  assert.equal(await other.inputValue("#dotColour"), "phase");
  assert.deepEqual(await other.evaluate(() => luatracePage.state()), await page.evaluate(() => luatracePage.state()));
});

test("hostile addresses and names do no harm", async (t) => {
  const page = await open(t);
  for (const hash of ["#view=requests&request=0.999", "#view=requests&request=1", "#view=requests&picked=1.2.3", "#view=requests&requestOrder=constructor-up", "#view=requests&requestOrder=__proto__-down&dots=x"]) {
    await page.evaluate((text) => {
      location.hash = text;
      luatracePage.address.restore();
    }, hash);
    assert.equal((await ids(page)).length, 3, hash);
  }
  const evil = "<img src=x onerror=window.pwned=1>";
  const text = requestPage().replaceAll("ngx.sleep", evil);
  const other = await openPage(t, browser, makePage("requests_evil", { text }));
  await other.keyboard.press("6");
  await choose(other, 1);
  await other.mouse.move(...(await dot(other, 1)));
  assert.ok((await textIn(other, "#requestTable")).includes(evil));
  assert.equal(await other.evaluate(() => document.querySelectorAll("img").length + (window.pwned ?? 0)), 0);
});

for (const colorScheme of ["light", "dark"]) {
  test(`pictures, ${colorScheme}: everything is in the window, also of a telephone`, async (t) => {
    for (const [name, width, height] of [["wide", 1280, 800], ["phone", 390, 760]]) {
      const page = await open(t, { viewport: { width, height }, colorScheme });
      await choose(page, 1);
      await settle(page);
      await page.screenshot({ path: `${process.env.PAGE_OUT}/page-requests-${name}-${colorScheme}.png` });
      const { plot, graph, table, sorted } = await page.evaluate(() => {
        const rect = (selector) => document.querySelector(selector).getBoundingClientRect().toJSON();
        return { plot: rect("#plot"), graph: rect("#graph"), table: rect("#requestTable"), sorted: rect("#requestTable th[aria-sort=descending]") };
      });
      assert.ok(plot.height >= 100 && graph.height >= 80 && table.height >= 80, `${plot.height} ${graph.height} ${table.height}`);
      assert.ok(table.bottom <= height && sorted.left >= 0 && sorted.right <= width, "the sorted column is on the screen");
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false);
      await page.click("#requestTable th[data-key=others] button", { force: true });
      const { left, right } = await page.evaluate(() => document.querySelector("#requestTable th[aria-sort=descending]").getBoundingClientRect().toJSON());
      assert.ok(left >= 0 && right <= width, `${left} ${right}`);
    }
  });
}

test("on a telephone the sorted column is in the window after a change of view, and when it is turned", async (t) => {
  const width = 420;
  const page = await open(t, { viewport: { width, height: 800 } });
  const inWindow = (table) => page.waitForFunction((selector) => {
    const [names, ...others] = [...document.querySelectorAll(`${selector} th`)].map((heading) => heading.getBoundingClientRect());
    const sorted = document.querySelector(`${selector} th[aria-sort$=ending]`).getBoundingClientRect();
    const isWhole = ({ left, right }) => left >= names.right - 1 || right <= names.right + 1;
    return sorted.width > 0 && sorted.left >= names.right - 1 && sorted.right <= innerWidth && others.every(isWhole);
  }, table);
  await page.evaluate(() => (luatracePage.table.order = "inclusive-up"));
  await page.evaluate(() => (luatracePage.table.order = "self-down"));
  await page.keyboard.press("1");
  await inWindow("#functions");
  await page.keyboard.press("6");
  await page.evaluate(() => (luatracePage.requests.table.order = "coroutines-down"));
  await inWindow("#requestTable");
  await page.setViewportSize({ width: 1400, height: 420 });
  await settle(page);
  await page.setViewportSize({ width, height: 800 });
  await inWindow("#requestTable");
});

test("ten thousand requests are usable", async (t) => {
  const many = Array.from({ length: 10000 }, (_, i) => ({ ...requests[i % 2], begin: 5_000_000 + i * 1_000_000, steps: requests[i % 2].steps }));
  const page = await openPage(t, browser, makePage("requests_many", { text: requestPage(many) }));
  const timed = async (act) => {
    const begin = performance.now();
    await act();
    await settle(page);
    return Math.round(performance.now() - begin);
  };
  const opened = await timed(() => page.keyboard.press("6"));
  const found = await timed(() => page.fill("#search", "receive"));
  const chosen = await timed(() => page.keyboard.press("Escape"));
  t.diagnostic(`opened ${opened} ms, search ${found} ms, cleared ${chosen} ms`);
  assert.match((await rows(page)).at(-1)[0], /^9,750 more: search/);
  assert.equal(await page.evaluate((first) => luatracePage.functions[first + 1].chunk, base), "=access_by_lua(nginx.conf:12)");
});

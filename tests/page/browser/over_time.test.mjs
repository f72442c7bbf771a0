// SPDX-License-Identifier: MIT
// The flame chart and the lanes of coroutines: positions of calls in time, zooming to a range, the
// note on hidden calls, and resumers.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { makePage, openPage, settle, startBrowser, textIn, textOf } from "./page.mjs";
import { percent, sample, timeSample, timeText } from "./model.mjs";

let browser, file;
before(async () => {
  browser = await startBrowser();
  file = makePage("over_time", { text: textOf(sample) + timeText(timeSample) });
});
after(() => browser?.close());

const origin = 5_000_000;
const whole = 10_000_000;

async function open(t, view, options) {
  const page = await openPage(t, browser, file, options);
  await page.click(`[data-view=${view}]`);
  await settle(page);
  return page;
}

// Slices in the order of the sample.
const slices = timeSample.tracks.flatMap((track) => track.slices);

async function rect(page, node) {
  await settle(page);  // A click hits what is painted.
  return page.evaluate((n) => luatracePage.graph.clientRect(n), node);
}
const rangeOf = (page) => page.evaluate(() => luatracePage.view.range);
const selected = (page) => page.evaluate(() => luatracePage.view.selected);
const middle = ({ left, top, width, height }) => [left + width / 2, top + height / 2];

async function canvasBox(page) {
  return page.evaluate(() => luatracePage.graph.painter.canvas.getBoundingClientRect().toJSON());
}

test("a call is drawn at its time, as wide as its duration, one row for each level", async (t) => {
  const page = await open(t, "chart");
  const box = await canvasBox(page);
  // thread, 4 rows of its lane, name, 3 levels, name, 2 levels, thread, name, 1
  const rows = [[6, 7, 8, 7, 7, 7], [10, 11, 11], [14]].flat();
  for (let i = 0; i < slices.length; i++) {
    const [, , , begin, length] = slices[i];
    const shown = await rect(page, i);
    assert.ok(Math.abs(shown.left - box.left - ((begin - origin) / whole) * box.width) < 0.01, `left of ${i}`);
    assert.ok(Math.abs(shown.width - (length / whole) * box.width) < 0.01, `width of ${i}`);
    assert.equal(Math.round((shown.top - box.top) / 20), rows[i], `row of ${i}`);
  }
  const headings = await page.evaluate(() => Array.from({ length: 15 }, (_, row) => luatracePage.view.headingOf(row)?.text ?? ""));
  assert.deepEqual(headings.filter(Boolean), ["▾ thread 11", "▾ coroutine 1 · main", "▾ coroutine 2 · worker", "thread 12", "▾ coroutine 3 · lua_native"]);
});

test("the note has the number of hidden calls and their share of the time", async (t) => {
  const page = await open(t, "chart");
  const { chart } = timeSample;
  const share = percent(chart.hiddenTime, chart.self);
  assert.equal(await textIn(page, "#notes"), `1,000 of 1,007 calls, ${share} of the self time, are not drawn individually. All sums include them. Calls shorter than 700 ns are hatched blocks where they are close to each other and not drawn where they are single. 4 short-lived coroutines are not shown. A note.`);
  await page.click("[data-view=calls]");
  assert.equal(await textIn(page, "#notes"), "");
});

test("the tooltip of a call, of short calls and of a wait", async (t) => {
  const page = await open(t, "chart");
  const tooltip = async (node) => {
    await page.mouse.move(...middle(await rect(page, node)));
    await settle(page);
    return page.$$eval("#tooltip .name, #tooltip dl:not(.more) > *", (all) => all.map((part) => part.textContent));
  };
  assert.deepEqual(await tooltip(1), ["alpha", "start", "1.000 ms", "duration", "3.000 ms", "running", "3.000 ms",
    "self", "2.400 ms (80.00 % of duration)", "short calls inside, not drawn", "7", "in", "coroutine 1 · main"]);
  assert.deepEqual(await tooltip(2), ["[short calls]", "calls", "1,000", "self, all calls", "600.0 µs",
    "start", "1.500 ms", "duration", "1.000 ms", "in", "coroutine 1 · main"]);
  assert.deepEqual((await tooltip(3)).slice(0, 3), ["[resumed another]", "for", "coroutine 2 · worker"]);
  assert.deepEqual((await tooltip(6)).slice(5, 11), ["running", "2.500 ms", "self", "2.000 ms (44.44 % of duration)", "suspended", "2.000 ms"]);
});

test("dragging zooms to a range, the crumb and 0 show everything again", async (t) => {
  const page = await open(t, "chart");
  const box = await canvasBox(page);
  await page.mouse.move(box.left + box.width * 0.2, box.top + 150);
  await page.mouse.down();
  await page.mouse.move(box.left + box.width * 0.3, box.top + 160);
  await page.mouse.move(box.left + box.width * 0.6, box.top + 160);
  await page.mouse.up();
  await settle(page);
  const { x, span } = await rangeOf(page);
  assert.ok(Math.abs(x - whole * 0.2) < whole * 0.002 && Math.abs(span - whole * 0.4) < whole * 0.002, `${x} ${span}`);
  assert.equal(await selected(page), -1, "a drag is no click");
  assert.match(await textIn(page, "#crumbs"), /^all›2\.\d* ms to 6\.\d* ms: [34]\.\d* ms of 10\.00 ms$/);
  await page.click("#crumbs button");
  assert.deepEqual(await rangeOf(page), { x: 0, span: whole });
  await page.keyboard.press("+");
  assert.deepEqual(await rangeOf(page), { x: whole / 4, span: whole / 2 });
  await page.keyboard.press("]");
  assert.deepEqual(await rangeOf(page), { x: whole * 0.375, span: whole / 2 });
  await page.keyboard.press("[");
  await page.keyboard.press("-");
  assert.deepEqual(await rangeOf(page), { x: 0, span: whole });
});

test("Ctrl and wheel zoom at the pointer, Shift and wheel move the range", async (t) => {
  const page = await open(t, "chart");
  const box = await canvasBox(page);
  await page.mouse.move(box.left + box.width * 0.3, box.top + 150);
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -300);
  await page.keyboard.up("Control");
  await settle(page);
  const { x, span } = await rangeOf(page);
  assert.ok(Math.abs(span - whole / Math.E) < whole * 0.01, `${span}`);
  assert.ok(Math.abs(x + span * 0.3 - whole * 0.3) < whole * 0.01, "what is under the pointer stays");
  await page.keyboard.down("Shift");
  await page.mouse.wheel(0, 100);
  await page.keyboard.up("Shift");
  await settle(page);
  const moved = await rangeOf(page);
  assert.ok(moved.x > x && Math.abs(moved.span - span) < 1);
});

test("a click selects, a double-click zooms, arrows move the selection, Escape clears it", async (t) => {
  const page = await open(t, "chart");
  await page.mouse.click(...middle(await rect(page, 4)));
  assert.equal(await selected(page), 4);
  assert.match(await textIn(page, "#details"), /^beta.*duration 900\.0 µs/);
  for (const [key, node] of [["ArrowLeft", 3], ["ArrowLeft", 1], ["ArrowDown", 2], ["ArrowUp", 1], ["ArrowUp", 0], ["ArrowDown", 1]]) {
    await page.keyboard.press(key);
    assert.equal(await selected(page), node, key);
  }
  await page.keyboard.press("Enter");
  const { x, span } = await rangeOf(page);
  assert.ok(x < 1_000_000 && x > 900_000 && span > 3_000_000 && span < 3_200_000);
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  assert.equal(await selected(page), 4);
  const moved = await rangeOf(page);
  assert.ok(moved.x < 6_000_000 && moved.x + moved.span > 6_900_000, "the selected call is in the range");
  await page.keyboard.press("Escape");
  assert.equal(await selected(page), -1);
  await page.keyboard.press("Escape");
  assert.deepEqual(await rangeOf(page), { x: 0, span: whole });
  await page.mouse.dblclick(...middle(await rect(page, 4)));
  assert.ok((await rangeOf(page)).span < 1_000_000);
});

test("a click on a track's name hides its calls and shows them again", async (t) => {
  const page = await open(t, "chart");
  const box = await canvasBox(page);
  const rows = () => page.evaluate(() => luatracePage.view.layout.rows);
  const all = await rows();
  for (const [row, count, name] of [[5, 3, /^▸ coroutine 1/], [0, 4, /^▸ thread 11/]]) {
    await page.mouse.click(box.left + 100, box.top + 20 * row + 10);
    assert.equal(await rows(), all - count);
    assert.match(await page.evaluate((at) => luatracePage.view.headingOf(at).text, row), name);
    await page.mouse.click(box.left + 100, box.top + 20 * row + 10);
    assert.equal(await rows(), all);
  }
});

test("the search and the table are linked to the chart", async (t) => {
  const page = await open(t, "chart");
  await page.fill("#search", "beta");
  assert.match(await textIn(page, "#found"), /^1 function · /);
  const paint = (node) => page.evaluate((n) => {
    const { left, top, width } = luatracePage.graph.painter.rectOf(n);
    return [...luatracePage.graph.painter.context.getImageData(left + width - 4, top + 15, 1, 1).data];
  }, node);
  await settle(page);
  const mark = await paint(4);
  assert.ok(mark[0] > 150 && mark[1] < 60 && mark[2] > 150, `${mark}`);
  assert.ok((await paint(1))[3] < 128, "others fade");
  await page.keyboard.press("Escape");
  await page.click("#rows tr:has-text('lua_native') td.name");
  assert.equal(await selected(page), 9, "the longest call of the function");
});

test("lanes: one row for each coroutine, its stretches end to end", async (t) => {
  const page = await open(t, "lanes");
  const lanes = await page.evaluate(() => {
    const { stretches, functions, lanes } = luatracePage.lanesView;
    const all = Array.from(stretches.track, (track, i) => [track, functions[stretches.func[i]].name.split(" ")[0], stretches.begin[i], stretches.total[i], stretches.other[i]]);
    return { all, order: lanes.map((track) => track.id) };
  });
  assert.deepEqual(lanes.order, [0, 1, 2]);
  assert.deepEqual(lanes.all, [
    [0, "running", 0, 5_000_000, -1], [0, "waiting", 5_000_000, 1_000_000, 1], [0, "running", 6_000_000, 2_000_000, -1],
    [0, "waiting", 8_000_000, 1_500_000, 1], [0, "running", 9_500_000, 500_000, -1],
    [1, "running", 5_000_000, 1_000_000, -1], [1, "suspended", 6_000_000, 2_000_000, -1], [1, "running", 8_000_000, 500_000, -1],
    [1, "waiting", 8_500_000, 500_000, 2], [1, "running", 9_000_000, 500_000, -1],
    [2, "running", 8_500_000, 500_000, -1],
  ]);
});

test("lanes: the details have lifetime, running and suspended time and resumer; the orders", async (t) => {
  const page = await open(t, "lanes");
  await page.mouse.click(...middle(await rect(page, 6)));
  const facts = await page.$$eval("#details .fact", (parts) => parts.map((part) => part.textContent));
  for (const fact of ["state suspended", "duration 2.000 ms", "lifetime 4.500 ms from 5.000 ms", "ran 2.000 ms (44.44 %)", "waited 500.0 µs (11.11 %)",
    "suspended 2.000 ms (44.44 %)", "resumed 2 times", "resumer coroutine 1 · main"]) {
    assert.ok(facts.includes(fact), `${fact} in ${facts}`);
  }
  const order = () => page.evaluate(() => luatracePage.view.lanes.map((track) => track.id));
  for (const [name, wanted] of [["suspended", [1, 0, 2]], ["resumes", [1, 2, 0]], ["life", [0, 1, 2]], ["running", [0, 1, 2]]]) {
    await page.selectOption("#laneOrder", name);
    assert.deepEqual(await order(), wanted, name);
  }
  const arrows = await page.evaluate(() => luatracePage.view.resumptionsShown(99));
  assert.deepEqual(arrows, [{ time: 5_000_000, from: 0, to: 1 }, { time: 8_000_000, from: 0, to: 1 }, { time: 8_500_000, from: 1, to: 2 }]);
});

test("lanes: a double-click opens the coroutine in the chart; both views keep the range", async (t) => {
  const page = await open(t, "lanes");
  await page.mouse.dblclick(...middle(await rect(page, 10)));
  await settle(page);
  assert.equal(await page.getAttribute("[data-view=chart]", "aria-pressed"), "true");
  const { x, span } = await rangeOf(page);
  assert.ok(x < 8_500_000 && x > 8_400_000 && span > 500_000 && span < 600_000);
  await page.keyboard.press("4");
  assert.deepEqual(await rangeOf(page), { x, span });
});

test("o hides coroutines that are suspended in the whole range", async (t) => {
  const page = await open(t, "chart");
  const shown = () => page.evaluate(() => Array.from(luatracePage.view.rowOfTrack, (row, id) => (row < 0 ? -1 : id)).filter((id) => id >= 0));
  const show = (from, to) => page.evaluate(([x, end]) => luatracePage.showRange(x, end - x), [from, to]);
  await page.keyboard.press("o");
  assert.deepEqual(await shown(), [0, 1, 2]);
  await show(6_100_000, 7_900_000);
  assert.deepEqual(await shown(), [0], "2 is suspended, 3 has not begun");
  await show(7_900_000, 8_400_000);
  assert.deepEqual(await shown(), [0, 1]);
  await page.keyboard.press("4");
  assert.deepEqual(await shown(), [0, 1], "the lanes hide the same");
  assert.equal(await page.evaluate(() => luatracePage.view.layout.rows), 2);
  await page.click("#onlyActive");
  assert.deepEqual(await shown(), [0, 1, 2]);
});

test("n and N go to the next and previous call of the search, or of the selected function", async (t) => {
  const page = await open(t, "chart");
  const goes = async (key, node) => {
    await page.keyboard.press(key);
    assert.equal(await selected(page), node, key);
  };
  await page.fill("#search", "resumed");
  await page.focus("#graph");
  for (const [key, node] of [["n", 3], ["n", 5], ["n", 8], ["n", 8], ["N", 5], ["N", 3], ["N", 3]]) await goes(key, node);
  await page.evaluate(() => luatracePage.showRange(0, 1_000_000));
  await goes("n", 5);
  assert.ok((await rangeOf(page)).x > 1_000_000, "the found call is in the range");
  await page.keyboard.press("Escape");
  await page.evaluate(() => luatracePage.select(0));
  await goes("n", 0);
});

test("a chart of a range shows times since the trace's first event", async (t) => {
  const later = { ...timeSample, chart: { ...timeSample.chart, zero: 2_000_000 } };
  const page = await openPage(t, browser, makePage("offset", { text: textOf(sample) + timeText(later) }));
  await page.keyboard.press("3");
  assert.equal(await textIn(page, "#crumbs"), "3.000 ms to 13.00 ms: all 10.00 ms");
  await page.evaluate(() => luatracePage.select(1));
  assert.match(await textIn(page, "#details"), /^alpha.*start 4\.000 ms/);
});

test("the search marks what is drawn but is not a function, and does not count it", async (t) => {
  const page = await open(t, "chart");
  await page.fill("#search", "[suspended]");
  assert.equal(await textIn(page, "#found"), "0 functions · 0 % of time · 1 drawn in this range");
  assert.equal(await page.evaluate(() => luatracePage.look.marks.reduce((sum, flag) => sum + flag, 0)), 1);
});

test("a page without a chart says why", async (t) => {
  const page = await openPage(t, browser, makePage("no_chart", { text: `${textOf(sample)}nochart\tBecause.\n` }));
  assert.ok(await page.isDisabled("[data-view=chart]"));
  assert.equal(await page.getAttribute("[data-view=lanes]", "title"), "Not in this page. Because.");
  await page.keyboard.press("3");
  assert.match(await textIn(page, "#details"), /Because\.$/);
  assert.equal(await page.getAttribute("[data-view=calls]", "aria-pressed"), "true");
});

// SPDX-License-Identifier: MIT
// What can be done with a view: copying, pictures, the minimap, W A S D, who made the page, the command for
// what it leaves out; and the search in every view.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { makePage, openPage, outFolder, rectOf, settle, startBrowser, textIn, textOf } from "./page.mjs";
import { sample, timeSample, timeText } from "./model.mjs";

const { ANALYZE, TRACES } = process.env;
const evil = "<img src=x onerror=window.pwned=1>&\"'";
let browser, file, hostile;
before(async () => {
  browser = await startBrowser();
  file = makePage("tools", { text: textOf(sample) + timeText(timeSample) });
  hostile = makePage("tools-hostile", { text: textOf({ title: evil, functions: [["lua", 1, evil, evil]], nodes: [[0, 0, 0, 0], [0, 0, 1, 1000]] }) });
});
after(() => browser?.close());

// What the page copies, instead of the clipboard of this machine.
async function watchCopies(page) {
  await page.evaluate(() => {
    window.copied = [];
    Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => void window.copied.push(text) } });
  });
}
const copied = (page) => page.evaluate(() => window.copied);

async function pictureFrom(page, kind, name) {
  const [download] = await Promise.all([page.waitForEvent("download"), (async () => {
    await page.click("#save");
    await page.click(`#menu button:has-text('as ${kind.toUpperCase()}')`);
  })()]);
  const to = join(outFolder, `${name}.${kind}`);
  await download.saveAs(to);
  return { name: download.suggestedFilename(), bytes: readFileSync(to) };
}

test("c copies file:line of the selected function, the menu also its name", async (t) => {
  const page = await openPage(t, browser, file);
  await watchCopies(page);
  await page.keyboard.press("c");
  assert.match(await textIn(page, "#details"), /Select a box/);
  await page.evaluate(() => luatracePage.choose(luatracePage.functions.find((f) => f.name === "beta").id));
  await page.keyboard.press("c");
  assert.equal(await textIn(page, "#details"), "Copied lib/b.lua:20");
  const { left, top } = await rectOf(page, "main");
  await page.mouse.click(left + 30, top + 8, { button: "right" });
  await page.click("#menu button:has-text('Copy the name')");
  assert.deepEqual(await copied(page), ["lib/b.lua:20", "main"]);
});

test("SVG: one element for each box, well-formed, and hostile names are text in it", async (t) => {
  for (const [name, of, texts] of [["svg", file, ["main", "alpha", "worker", "string.gsub"]], ["svg-hostile", hostile, ["<img"]]]) {
    const page = await openPage(t, browser, of);
    const saved = await pictureFrom(page, "svg", name);
    assert.match(saved.name, /^[\w.-]+-calls\.svg$/);
    const found = await page.evaluate((text) => {
      const picture = new DOMParser().parseFromString(text, "image/svg+xml");
      const tags = [...picture.querySelectorAll("*")].map((one) => one.tagName);
      return { error: picture.querySelector("parsererror")?.textContent, tags: [...new Set(tags)], texts: [...picture.querySelectorAll("text")].map((one) => one.textContent), rects: tags.filter((tag) => tag === "rect").length };
    }, saved.bytes.toString());
    assert.equal(found.error, undefined);
    assert.deepEqual(found.tags.filter((tag) => !["svg", "rect", "text", "path"].includes(tag)), []);
    for (const text of texts) assert.ok(found.texts.some((one) => one.startsWith(text)), `${text} in ${found.texts}`);
    assert.ok(found.rects >= (of === file ? 11 : 2));
    assert.equal(await page.evaluate(() => window.pwned), undefined);
  }
});

test("a picture that would be too high is cut, and the page and the picture say so", async (t) => {
  const page = await openPage(t, browser, makePage("tools_deep", { args: ["deep", "1000"] }));
  const { bytes } = await pictureFrom(page, "svg", "cut");
  assert.match(await textIn(page, "#details"), /^Saved only the first 800 of 1,00\d rows: /);
  assert.match(bytes.toString(), /· only the first 800 of 1,00\d rows</);
  await openPage(t, browser, file).then((small) => pictureFrom(small, "svg", "uncut").then(async () => assert.doesNotMatch(await textIn(small, "#details"), /Saved/)));
});

test("PNG: as wide as the graph, of every view", async (t) => {
  const page = await openPage(t, browser, file);
  for (const [key, mode] of [["1", "calls"], ["3", "chart"], ["4", "lanes"], ["5", "sandwich"]]) {
    await page.keyboard.press(key);
    await settle(page);
    const { name, bytes } = await pictureFrom(page, "png", `png-${mode}`);
    assert.equal(name, `title-${mode}.png`);
    assert.equal(bytes.subarray(1, 4).toString(), "PNG");
    const width = await page.evaluate(() => luatracePage.graph.painter.width);
    assert.equal(bytes.readUInt32BE(16), width * 2);
    const parts = await page.evaluate(() => luatracePage.graphs.map((graph) => graph.contentHeight() + 10));
    const axis = await page.evaluate(() => luatracePage.view.isTime) ? 20 : 0;
    const height = parts.reduce((sum, part) => sum + part, 30 + axis - 10);
    assert.equal(bytes.readUInt32BE(20), 2 * height, "all rows, the caption and the axis");
  }
});

test("W A S D move over time", async (t) => {
  const page = await openPage(t, browser, file);
  await page.keyboard.press("3");
  const range = () => page.evaluate(() => luatracePage.view.range);
  const wanted = [["w", { x: 2.5e6, span: 5e6 }], ["d", { x: 3.75e6, span: 5e6 }], ["a", { x: 2.5e6, span: 5e6 }], ["s", { x: 0, span: 10e6 }]];
  for (const [key, to] of wanted) {
    await page.keyboard.press(key);
    assert.deepEqual(await range(), to, key);
  }
  assert.equal(await page.evaluate(() => luatracePage.mode), "chart");
});

test("the minimap: a drag chooses a range, a drag of the range moves it, a click centres it", async (t) => {
  const page = await openPage(t, browser, file);
  await page.keyboard.press("3");
  await settle(page);
  const box = await page.evaluate(() => document.getElementById("minimap").getBoundingClientRect().toJSON());
  const drag = async (from, to) => {
    await page.mouse.move(box.left + box.width * from, box.top + 10);
    await page.mouse.down();
    await page.mouse.move(box.left + box.width * (from + to) / 2, box.top + 10);
    await page.mouse.move(box.left + box.width * to, box.top + 10);
    await page.mouse.up();
    await settle(page);
    const { x, span } = await page.evaluate(() => luatracePage.view.range);
    return [Math.round(x / 1e5), Math.round(span / 1e5)];
  };
  assert.deepEqual(await drag(0.2, 0.5), [20, 30]);
  assert.deepEqual(await drag(0.3, 0.6), [50, 30]);
  assert.deepEqual(await drag(0.15, 0.15), [0, 30]);
  const painted = await page.evaluate(() => [...luatracePage.graph.minimap.depths].reduce((most, depth) => Math.max(most, depth), 0));
  assert.equal(painted, 3, "the deepest call has three levels");
});

test("about: the program with its version, when, and the command, which is copied", async (t) => {
  const out = join(outFolder, "tools about.html");
  execFileSync(ANALYZE, ["-q", `--page=${out}`, "--chart-limit", "3", join(TRACES, "coroutines.txt")]);
  const version = execFileSync(ANALYZE, ["--version"], { encoding: "utf8" }).trim();
  const page = await openPage(t, browser, encodeURI(out));
  await watchCopies(page);
  await page.click("#about");
  const facts = await page.$$eval("#keys dl > *", (all) => all.map((one) => one.textContent));
  assert.equal(facts[facts.indexOf("Made by") + 1], version);
  assert.match(facts[facts.indexOf("Made at") + 1], /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4}$/);
  await page.click("#keys button:has-text('Copy')");
  const command = (...limit) => [`${ANALYZE} -q '--page=${out}'`, ...limit, join(TRACES, "coroutines.txt")].join(" ");
  assert.deepEqual(await copied(page), [command("--chart-limit 3")]);
  await page.keyboard.press("Escape");
  await page.keyboard.press("3");
  assert.equal(await textIn(page, "#remedy code"), `${command()} --chart-limit 0`);
  await page.keyboard.press("w");
  await page.click("#remedy button");
  const last = (await copied(page)).at(-1);
  assert.match(last, / -r \d+ns~\d+ns --chart-limit 0$/);
  // The command is one: it makes the page that has what this one leaves out.
  execFileSync("sh", ["-c", last]);
  const full = await openPage(t, browser, encodeURI(out));
  assert.equal(await full.evaluate(() => luatracePage.profile.chart.shortest), 1);
});

test("the search works in every view: matches stay, the rest fades, n goes to them", async (t) => {
  const page = await openPage(t, browser, file);
  const marked = () => page.evaluate(() => {
    const { view, look, functions } = luatracePage;
    const nodes = Array.from({ length: view.tree.size }, (_, n) => n).filter((n) => (view.isTime ? view.tree.depth[n] >= 0 : n > 0 || luatracePage.mode === "sandwich") && view.isMarked(n, look));
    return [...new Set(nodes.map((n) => (view.name === "lanes" ? `track ${view.trackOf(n)}` : functions[view.tree.func[n]].name)))].sort();
  });
  await page.fill("#search", "beta");
  await page.focus("#graph");
  for (const [key, names, found] of [["1", ["beta"], /^1 function · [\d.]+ % of time$/], ["2", ["beta"], /^1 function/], ["3", ["beta"], /1 drawn in this range$/],
    ["4", ["track 0"], /1 coroutine$/], ["5", ["beta"], /^1 function/]]) {
    await page.keyboard.press(key);
    assert.deepEqual(await marked(), names, key);
    assert.match(await textIn(page, "#found"), found, key);
    await page.evaluate(() => (luatracePage.view.selected = -1));
    await page.keyboard.press("n");
    const selected = await page.evaluate(() => luatracePage.view.selected);
    if (key !== "5") assert.ok(selected >= 0 && (await page.evaluate((n) => luatracePage.view.isMarked(n, luatracePage.look), selected)), key);
  }
  await page.keyboard.press("4");
  await page.fill("#search", "coroutine 3");
  assert.deepEqual(await marked(), ["track 2"], "by the name of the coroutine");
});

test("on a telephone the sorted column is in the window", async (t) => {
  const page = await openPage(t, browser, file, { viewport: { width: 360, height: 740 } });
  const sorted = () => page.evaluate(() => {
    const { left, right } = document.querySelector("#columns th[aria-sort$=ending]").getBoundingClientRect();
    return { left, right, names: document.querySelector("#columns th").getBoundingClientRect().right, width: window.innerWidth };
  });
  const isInWindow = ({ left, right, names, width }) => left >= names - 1 && right <= width;
  assert.ok(isInWindow(await sorted()), JSON.stringify(await sorted()));
  await page.evaluate(() => document.querySelector("#columns th[data-key=calls] button").click());
  assert.ok(isInWindow(await sorted()), JSON.stringify(await sorted()));
});

test("hostile names and file names stay text in the menu, the chips, the legend, about and the command", async (t) => {
  const page = await openPage(t, browser, hostile);
  const { left, top } = await rectOf(page, evil);
  await page.mouse.click(left + 30, top + 8, { button: "right" });
  assert.equal(await textIn(page, "#menu b"), evil);
  await page.keyboard.press("Escape");
  await page.selectOption("#colour", "module");
  assert.ok((await textIn(page, "#legend")).includes(evil));
  await page.evaluate(() => luatracePage.setTransforms([{ type: "focus", func: 1 }]));
  assert.equal(await textIn(page, "#scope"), `focus: ${evil} ×`);
  const trace = join(outFolder, "<img src=x onerror=window.pwned=1>'\".txt");
  const out = join(outFolder, "tools-command.html");
  copyFileSync(join(TRACES, "coroutines.txt"), trace);
  execFileSync(ANALYZE, ["-q", `--page=${out}`, "--chart-limit", "3", trace]);
  const made = await openPage(t, browser, out);
  await made.keyboard.press("3");
  assert.ok((await textIn(made, "#remedy")).includes("'\\''\".txt'"), "quoted for a shell");
  await made.click("#about");
  assert.ok((await textIn(made, "#keys")).includes("<img src=x"));
  for (const one of [page, made]) {
    assert.equal(await one.evaluate(() => window.pwned), undefined);
    assert.equal(await one.evaluate(() => document.querySelectorAll("img").length), 0);
  }
});

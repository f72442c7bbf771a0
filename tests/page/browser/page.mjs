// SPDX-License-Identifier: MIT
// What the browser tests share: making a page with make_page and opening it in Chromium.
//
// Invariant of every test: the page sends no network request and leaves no error uncaught; openPage's
// `after` checks both. Nodes are looked up in the page by call path: "main/alpha/beta".
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";

const { MAKE_PAGE, CHROMIUM, PAGE_MODULES, PAGE_OUT } = process.env;
export const outFolder = PAGE_OUT;

const flags = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync"];

export async function startBrowser(more = []) {
  assert.ok(CHROMIUM && !CHROMIUM.endsWith("NOTFOUND"), "chromium was not found: install it (Debian: apt-get install chromium-headless-shell) and run cmake again");
  const { chromium } = createRequire(join(PAGE_MODULES, "package.json"))("playwright-core");
  return chromium.launch({ executablePath: CHROMIUM, args: [...flags, ...more], chromiumSandbox: process.getuid() !== 0 });
}

// A page made from the text form of make_page, or by its arguments; returns the file's name.
export function makePage(name, { text = "", args = [] }) {
  const file = join(PAGE_OUT, `${name}.html`);
  execFileSync(MAKE_PAGE, [file, ...args], { input: text });
  return file;
}

// A tree { functions: [[kind, line, chunk, name]], nodes: [[parent, function, calls, self]] } as the
// text that make_page reads.
export function textOf({ title = "title", functions, nodes }) {
  const lines = [["title", title]];
  for (const f of functions) lines.push(["function", ...f]);
  for (const node of nodes) lines.push(["node", ...node]);
  return lines.map((line) => line.join("\t")).join("\n") + "\n";
}

// The page's number of a function of that text: 0 is the root's.
export const functionId = (index) => index + 1;

// Opens the file; t is the test, options are those of a Playwright page.
export async function openPage(t, browser, file, options = {}) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce", ...options });
  page.setDefaultTimeout(15000);
  const errors = [];
  const requests = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  page.on("request", (request) => requests.push(request.url()));
  t.after(async () => {
    await page.close();
    assert.deepEqual(errors, []);
    assert.deepEqual(requests, [`file://${file}`]);
  });
  await page.goto(`file://${file}`);
  await page.waitForFunction(() => window.luatracePage?.readyAfter > 0);
  return page;
}

// Waits until the page has painted its current state.
export function settle(page) {
  return page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

// The node of a path from the root ("" is the root itself), -1 if there is none.
export function nodeOf(page, path) {
  return page.evaluate((names) => {
    const { tree, functions } = luatracePage.view;
    let node = 0;
    for (const name of names) {
      const parent = node;
      node = -1;
      for (let n = 1; n < tree.size; n++) {
        if (tree.parent[n] === parent && functions[tree.func[n]].name === name) node = n;
      }
      if (node < 0) return -1;
    }
    return node;
  }, path === "" ? [] : path.split("/"));
}

export async function rectOf(page, path) {
  await settle(page);
  return page.evaluate((node) => luatracePage.graph.clientRect(node), await nodeOf(page, path));
}

export async function clickNode(page, path) {
  const { left, top, width, height } = await rectOf(page, path);
  await page.mouse.click(left + width / 2, top + height / 2);
  await settle(page);
}

export async function hoverNode(page, path) {
  const { left, top, width, height } = await rectOf(page, path);
  await page.mouse.move(left + width / 2, top + height / 2);
  await settle(page);
}

// The path of the node in view[which], "zoom" or "selected": "all/main/alpha"; "" for none.
export function pathOf(page, which) {
  return page.evaluate((name) => {
    const { view } = luatracePage;
    return view[name] < 0 ? "" : view.pathTo(view[name]).map((n) => view.functions[view.tree.func[n]].name).join("/");
  }, which);
}

// The colour painted just inside the lower right corner of a node's box, where no label is: [r, g, b, alpha].
export async function paintedAt(page, path) {
  await settle(page);
  return page.evaluate((node) => {
    const { graph } = luatracePage;
    const { left, top, width, height } = graph.painter.rectOf(node);
    return [...graph.painter.context.getImageData(left + width - 4, top + height - 4, 1, 1).data];
  }, await nodeOf(page, path));
}

// The same for a CSS colour, or for the function of the node if no colour is given.
export async function colourOf(page, path, css) {
  return page.evaluate(([node, given]) => {
    const context = document.createElement("canvas").getContext("2d");
    context.fillStyle = given ?? luatracePage.look.colour(luatracePage.view.tree.func[node]);
    context.fillRect(0, 0, 1, 1);
    return [...context.getImageData(0, 0, 1, 1).data];
  }, [await nodeOf(page, path), css ?? null]);
}

export const textIn = (page, selector) => page.textContent(selector);

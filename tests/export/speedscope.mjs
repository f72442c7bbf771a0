// SPDX-License-Identifier: MIT
// Loads each format for which speedscope has an importer into speedscope itself, lets it save the
// result, and compares its self times with those of --format csv.
//
//   PAGE_MODULES (playwright-core), MORE_MODULES (speedscope), CHROMIUM, ANALYZE, TRACE in the environment
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

const { ANALYZE, CHROMIUM, PAGE_MODULES, MORE_MODULES, TRACE } = process.env;
const folder = mkdtempSync(join(tmpdir(), "speedscope-"));
let browser;
before(async () => {
  const { chromium } = createRequire(join(PAGE_MODULES, "package.json"))("playwright-core");
  const args = ["--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update"];
  browser = await chromium.launch({ executablePath: CHROMIUM, args, chromiumSandbox: process.getuid() !== 0 });
});
after(async () => {
  await browser.close();
  rmSync(folder, { recursive: true });
});

const exported = (format) => execFileSync(ANALYZE, ["-q", "--format", format, TRACE], { maxBuffer: 1 << 28 });

// Self time in ns by function, and all of it.
const wanted = new Map();
for (const line of exported("csv").toString().trim().split("\n").slice(1)) {
  const cells = line.split(",");
  wanted.set(cells[0], (wanted.get(cells[0]) ?? 0) + Number(cells[8]));
}
const all = [...wanted.values()].reduce((a, b) => a + b);

// Speedscope's own format, as it saves a loaded file.
async function understood(name, bytes) {
  const script = join(folder, `${name}.js`);
  writeFileSync(script, `speedscope.loadFileFromBase64(${JSON.stringify(name)}, ${JSON.stringify(bytes.toString("base64"))})`);
  const page = await browser.newPage({ acceptDownloads: true });
  const errors = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("dialog", (dialog) => { errors.push(dialog.message()); dialog.dismiss(); });
  await page.goto(`file://${MORE_MODULES}/node_modules/speedscope/dist/release/index.html#localProfilePath=${script}`);
  await page.waitForFunction(() => document.title !== "speedscope", null, { timeout: 60000 });
  const [download] = await Promise.all([page.waitForEvent("download"), page.keyboard.press("Control+s")]);
  const file = join(folder, `${name}.saved`);
  await download.saveAs(file);
  await page.close();
  assert.deepEqual(errors, []);
  return JSON.parse(readFileSync(file, "utf8"));
}

const units = { nanoseconds: 1, microseconds: 1000, milliseconds: 1e6, seconds: 1e9, none: 1 };

function selfTimes({ shared, profiles }) {
  const sums = new Map();
  const add = (frame, ns) => sums.set(shared.frames[frame].name, (sums.get(shared.frames[frame].name) ?? 0) + ns);
  for (const profile of profiles) {
    const unit = units[profile.unit];
    if (profile.type === "sampled") {
      profile.samples.forEach((stack, i) => stack.length && add(stack.at(-1), profile.weights[i] * unit));
      continue;
    }
    const stack = [];
    let last = profile.startValue;
    for (const { type, frame, at } of profile.events) {
      if (stack.length) add(stack.at(-1), (at - last) * unit);
      last = at;
      if (type === "O") stack.push(frame);
      else stack.pop();
    }
  }
  return sums;
}

// slack: ns that may be missing for each function; rename: speedscope's name to ours, null: no call.
function check(format, extension, slack, rename) {
  test(`speedscope reads ${format}`, async () => {
    const found = new Map();
    for (const [name, ns] of selfTimes(await understood(`profile${extension}`, exported(format)))) {
      const key = rename(name);
      if (key !== null) found.set(key, (found.get(key) ?? 0) + ns);
    }
    const sum = [...found.values()].reduce((a, b) => a + b, 0);
    assert.ok(Math.abs(sum - all) <= slack * wanted.size, `all: ${sum} ns, not ${all}`);
    for (const [name, ns] of wanted)
      assert.ok(Math.abs((found.get(name) ?? 0) - ns) <= slack, `${name}: ${found.get(name)} ns, not ${ns}`);
  });
}

const same = (name) => name;
const withoutPlace = (name) => name.replace(/ \([^()]*\)$/, "");
check("speedscope", ".speedscope.json", 0, same);
check("folded", ".txt", 0, withoutPlace);
check("pprof", ".pb.gz", 0, same);
check("chrome", ".json", 1, (name) => (name.startsWith("[") ? null : name.replace(/ \{.*\}$/s, "")));
check("callgrind", ".callgrind", 1, (name) => name.replace(/:\d+$/, ""));

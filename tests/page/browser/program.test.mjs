// SPDX-License-Identifier: MIT
// Pages written by luatrace-analyze: the chart has the same calls as --format chrome, the page of
// --diff the same figures as --json, and each option does what --help says.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { after, before, test } from "node:test";
import { openPage, outFolder, startBrowser, textIn } from "./page.mjs";

const { ANALYZE, TRACES } = process.env;
const traces = { coroutines: join(TRACES, "coroutines.txt"), simple: join(TRACES, "simple.txt") };
const nginx = join(TRACES, "../views/data/nginx.txt");

let browser;
before(async () => (browser = await startBrowser()));
after(() => browser?.close());

const analyze = (...words) => execFileSync(ANALYZE, words, { encoding: "utf8" });

function pageOf(name, ...words) {
  const file = join(outFolder, `program-${name}.html`);
  analyze("-q", `--page=${file}`, ...words);
  return file;
}

// Every slice of the chart as "track: begin +length name"; a slice that is not a call has its kind.
function slicesShown(page) {
  return page.evaluate(() => {
    const { chart, functions } = luatracePage;
    const { slices, tracks } = chart;
    return Array.from({ length: slices.size }, (_, at) => {
      const func = functions[slices.func[at]];
      const what = slices.other[at] >= 0 ? `[${tracks[slices.other[at]].name.replace(/.*, /, "")}]` : func.name;
      return `${tracks[slices.track[at]].name}: ${slices.begin[at]} +${slices.length[at]} ${what}`;
    }).sort();
  });
}

// The same from Chrome's format, whose times are microseconds with three decimals.
function slicesOfChrome(trace) {
  const events = JSON.parse(analyze("-q", "--format", "chrome", trace)).traceEvents;
  const names = new Map();
  const open = new Map();
  const slices = [];
  const ns = (event) => Math.round(event.ts * 1000);
  const first = Math.min(...events.filter(({ ph }) => ph === "B").map(ns));
  for (const event of events) {
    const stack = open.get(event.tid) ?? [];
    open.set(event.tid, stack);
    if (event.name === "thread_name") names.set(event.tid, event.args.name.replace(/^thread \d+, /, ""));
    if (event.ph === "B") stack.push(event);
    if (event.ph !== "E") continue;
    const begin = stack.pop();
    const name = begin.name.replace(/ \([^)]*\)$/, "");
    if (ns(event) > ns(begin)) slices.push(`${names.get(event.tid)}: ${ns(begin) - first} +${ns(event) - ns(begin)} ${name}`);
  }
  return slices.sort();
}

for (const [name, trace] of Object.entries(traces)) {
  test(`${name}: the chart has the calls that Chrome's format has`, async (t) => {
    const page = await openPage(t, browser, pageOf(name, "--chart-limit", "0", trace));
    const wanted = slicesOfChrome(trace);
    assert.ok(wanted.length > 5);
    assert.deepEqual(await slicesShown(page), wanted);
  });
}

test("times shown are since the first event, also in the page of a range", async (t) => {
  const slow = JSON.parse(analyze("-q", "--json", "--slow", "work", "--wall", "--limit", "99", traces.coroutines));
  const wanted = [...new Set(slow.slow.map((row) => row.at_ns))];
  assert.ok(wanted.length > 2);
  for (const words of [[], ["-r", "10%~"]]) {
    const page = await openPage(t, browser, pageOf("offset", "--chart-limit", "0", ...words, traces.coroutines));
    const begins = await page.evaluate(() => {
      const { chart, functions } = luatracePage;
      const { slices, offset } = chart;
      return Array.from(slices.func, (f, at) => (functions[f].name === "work" ? slices.begin[at] + offset : -1)).filter((ns) => ns >= 0);
    });
    const found = wanted.filter((ns) => begins.includes(ns));
    assert.ok(words.length ? found.length > 0 : found.length === wanted.length, `${begins} and ${wanted}`);
  }
});

test("--chart-limit and --graph-limit limit the page, and its notes say so", async (t) => {
  const page = await openPage(t, browser, pageOf("limits", "--chart-limit", "3", "--graph-limit", "2", traces.coroutines));
  assert.ok((await page.evaluate(() => luatracePage.chart.slices.size)) <= 3);
  assert.match(await textIn(page, "#notes"), /small call paths, .* are drawn as \[pruned\]/);
  await page.keyboard.press("3");
  assert.match(await textIn(page, "#notes"), /^\d+ of \d+ calls, .* % of the self time, are not drawn individually\. .* Calls shorter than \d/);
});

// The figures of --requests, and the steps of --request, without coroutines and phases.
test("requests: the page has the figures and steps of the tables", async (t) => {
  const page = await openPage(t, browser, pageOf("requests", nginx));
  const shown = await page.evaluate(() => {
    luatracePage.setView("requests");
    const { data } = luatracePage.requests;
    const { steps } = data;
    return data.list.map((r) => {
      const list = [];
      for (let at = r.first; at < r.last; at++) {
        const name = steps.runs[at] ? data.phaseName(steps.func[at]) : steps.func[at] ? data.nameOf(steps.func[at], steps.inner[at]) : "-";
        const kind = steps.runs[at] ? "runs" : name === "-" ? "nothing" : "waits";
        const last = list.at(-1);
        if (last && last[3] === kind && last[4] === name) [last[1], last[2]] = [last[1] + steps.length[at], last[2] + steps.others[at]];
        else list.push([steps.begin[at], steps.length[at], steps.others[at], kind, name]);
      }
      return { figures: [r.id, r.begin - data.list[0].begin, r.wall, r.running, r.wait, r.others, r.rest, r.coroutines, r.unfinished, r.vm], list };
    });
  });
  const { requests } = JSON.parse(analyze("-q", "--json", "--requests", "--sort", "start", "--limit", "0", nginx));
  const wanted = requests.map((r) => [r.id, r.start_ns, r.wall_ns, r.running_ns, r.wait_ns, r.others_ns, r.unattributed_ns, r.coroutines, r.unfinished, r.vm]);
  assert.equal(wanted.length, 5);
  assert.deepEqual(shown.map(({ figures }) => figures), wanted.sort((a, b) => a[0] - b[0]));
  for (const [i, { list }] of shown.entries()) {
    const steps = JSON.parse(analyze("-q", "--json", "--request", String(i + 1), "--limit", "0", nginx)).request_steps;
    assert.deepEqual(list, steps.map((s) => [s.at_ns, s.length_ns, s.others_ns, s.kind, s.name]), `request ${i + 1}`);
  }
  await page.evaluate(() => {
    luatracePage.requests.waterfall.isSum = true;  // as of one whose steps are not in the page
    luatracePage.requests.selected = luatracePage.requests.data.list[2];
    luatracePage.showState();
  });
  assert.equal(await textIn(page, "#remedy code"), `${ANALYZE} -q ${nginx} --request 3`);
  const filtered = await openPage(t, browser, pageOf("requests-filtered", "-N", "job", nginx));
  assert.ok(await filtered.isHidden("[data-view=requests]"), "a filter would leave out parts of them");
});

test("filters apply to the page: a range of time", async (t) => {
  const page = await openPage(t, browser, pageOf("range", "--chart-limit", "0", "-r", "20%~60%", traces.coroutines));
  const whole = await openPage(t, browser, pageOf("whole", "--chart-limit", "0", traces.coroutines));
  const length = (of) => of.evaluate(() => luatracePage.chart.end);
  assert.ok((await length(page)) <= (await length(whole)) * 0.41);
});

test("--diff: the page has the figures of --json for each function", async (t) => {
  const [before_, now] = [traces.simple, traces.coroutines];
  const page = await openPage(t, browser, pageOf("diff", "--diff", before_, now));
  const shown = await page.evaluate(() => luatracePage.functions.filter((f) => f.calls + f.before.calls).map((f) => [f.name, f.before.calls, f.calls, f.before.self, f.self]).sort());
  const functionsOf = (trace) => new Map(JSON.parse(analyze("-q", "--json", trace)).functions.map((f) => [`${f.name} ${f.chunk} ${f.line}`, f]));
  const [was, is] = [functionsOf(before_), functionsOf(now)];
  const sum = (map, key) => [...map.values()].reduce((all, f) => all + f[key], 0);
  assert.equal(shown.reduce((all, row) => all + row[1], 0), sum(was, "calls"));
  assert.equal(shown.reduce((all, row) => all + row[2], 0), sum(is, "calls"));
  assert.equal(shown.reduce((all, row) => all + row[3], 0), sum(was, "self_ns"));
  assert.equal(shown.reduce((all, row) => all + row[4], 0), sum(is, "self_ns"));
  assert.match(await textIn(page, "#subtitle"), new RegExp(`compared with .*${basename(before_)}`));
  const scaled = await openPage(t, browser, pageOf("scaled", "--normalize", "--diff", before_, now));
  assert.match(await textIn(scaled, "#notes"), /^Times before are multiplied by \d/);
  const [total, before] = await scaled.evaluate(() => [luatracePage.profile.total, luatracePage.profile.before]);
  assert.ok(Math.abs(total - before) <= total * 0.001 + 20, `${total} ${before}`);
});

test("--flame is only the flame graph, and says so; saved profiles have no views over time", async (t) => {
  const flame = join(outFolder, "program-flame.html");
  const warned = spawnSync(ANALYZE, [`--flame=${flame}`, traces.coroutines], { encoding: "utf8" });
  assert.equal(warned.stderr, "luatrace-analyze: only the flame graph is written: --page adds calls over time, coroutines and requests\n");
  assert.equal(spawnSync(ANALYZE, [`--page=${flame}x`, traces.simple], { encoding: "utf8" }).stderr, "", "nothing is left out");
  const limited = spawnSync(ANALYZE, [`--page=${flame}x`, "--chart-limit", "3", "--graph-limit", "2", traces.coroutines], { encoding: "utf8" });
  assert.match(limited.stderr, /^luatrace-analyze: \d+ of \d+ calls are too short .*: --chart-limit 0 .*; \d+ small call paths .*: --graph-limit 0 has them\n$/);
  const lean = await openPage(t, browser, flame);
  assert.deepEqual(await lean.$$eval("[data-view]", (all) => all.filter((one) => one.offsetWidth).map((one) => one.dataset.view)), ["calls", "callers"]);
  assert.equal(await lean.evaluate(() => luatracePage.graph.flip), true, "the root is at the bottom");
  assert.ok(await lean.isHidden("#functions"));
  for (const key of ["3", "4", "5", "s"]) {
    await lean.keyboard.press(key);
    assert.match(await textIn(lean, "#details"), /only the flame graph: luatrace-analyze --page/);
    assert.equal(await lean.evaluate(() => luatracePage.mode), "calls");
  }

  const profile = join(outFolder, "program.profile");
  analyze("-q", `--save-profile=${profile}`, traces.coroutines);
  const saved = await openPage(t, browser, pageOf("saved", profile));
  assert.equal(await saved.getAttribute("[data-view=chart]", "title"), "Not in this page. No single calls are known.");
  assert.equal(spawnSync(ANALYZE, [`--flame=${flame}`, profile], { encoding: "utf8" }).stderr, "", "a saved profile has nothing to leave out");
});

test("the default output is beside the trace; --page and --flame exclude each other", () => {
  const trace = join(outFolder, "beside.txt");
  copyFileSync(traces.simple, trace);
  rmSync(join(outFolder, "beside.html"), { force: true });
  assert.match(analyze("--page", trace), /flame graph: .*beside\.html/);
  assert.ok(existsSync(join(outFolder, "beside.html")));
  const refused = spawnSync(ANALYZE, ["--page", "--flame", trace], { encoding: "utf8" });
  assert.equal(refused.status, 1);
  assert.match(refused.stderr, /give one of them/);
});

test("hostile names in a trace do not run", async (t) => {
  const evil = "</script><img src=x onerror=window.pwned=1>";
  const text = readFileSync(traces.coroutines, "utf8");
  const trace = join(outFolder, "hostile.txt");
  assert.ok(text.includes('name="work"'));
  writeFileSync(trace, text.replaceAll('name="work"', `name="${evil}"`));
  const page = await openPage(t, browser, pageOf("hostile", trace));
  for (const key of ["3", "4", "5", "2", "1"]) {
    await page.keyboard.press(key);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.mouse.move(600, 220);
  }
  assert.ok((await page.evaluate(() => luatracePage.functions.map((f) => f.name))).includes(evil));
  assert.equal(await page.evaluate(() => window.pwned), undefined);
  assert.equal(await page.evaluate(() => document.querySelectorAll("img").length), 0);
});

// SPDX-License-Identifier: MIT
// Requests of the sample's program: three on one worker, of which the second held the worker while the
// first waited; the third has no steps. Times are in ns; the chart begins at 5 ms.
import { sample, timeSample, timeText } from "./model.mjs";
import { textOf } from "./page.mjs";

const us = 1000;
export const base = sample.functions.length;  // the functions below have these numbers
const functions = [
  ["lua", 0, "=access_by_lua(nginx.conf:12)", ""],
  ["lua", 0, "=content_by_lua(nginx.conf:15)", ""],
  ["c", 0, "/usr/lib/lua_module.so", "ngx.sleep"],
  ["c", 0, "/usr/lib/lua_module.so", "receive"],
];
const [access, content, sleep, receive] = functions.map((_, i) => base + i);

// begin, running, wait, others, rest
export const requests = [
  { begin: 5000 * us, running: 300 * us, wait: 500 * us, others: 180 * us, rest: 20 * us, coroutines: 2,
    waits: [[sleep, "-", 1, 500 * us]], phases: [[access, 100 * us, 0], [content, 200 * us, 500 * us]],
    steps: [[1, access, "-", 100 * us, 0, access, 4], [0, "-", "-", 20 * us, 0, "-", 0], [1, content, "-", 150 * us, 0, content, 5],
      [0, sleep, "-", 680 * us, 180 * us, content, 5], [1, content, "-", 50 * us, 0, content, 6]] },
  { begin: 5400 * us, running: 180 * us, wait: 3_000 * us, others: 50 * us, rest: 0, coroutines: 1,
    waits: [[receive, sleep, 2, 3_000 * us]], phases: [[content, 180 * us, 3_000 * us]],
    steps: [[1, content, "-", 180 * us, 0, content, 7], [0, receive, sleep, 3_050 * us, 50 * us, content, 7]] },
  { begin: 9000 * us, running: 10 * us, wait: 0, others: 40_000 * us, rest: 90 * us, coroutines: 1,
    waits: [], phases: [[access, 10 * us, 0]], steps: [] },
];

export function requestText(list = requests, all = 0) {
  const lines = all ? [["requests", all]] : [];
  for (const r of list) {
    lines.push(["request", r.begin, r.running, r.wait, r.others, r.rest, r.coroutines, r.begunBefore ?? 0, r.unfinished ?? 0, r.vm ?? 1, r.unsure ?? 0]);
    for (const label of r.labels ?? []) lines.push(["label", ...label]);
    for (const wait of r.waits) lines.push(["wait", ...wait]);
    for (const phase of r.phases) lines.push(["phase", ...phase]);
    for (const step of r.steps) lines.push(["step", ...step]);
  }
  return lines.map((line) => line.join("\t")).join("\n") + "\n";
}

// The text that make_page reads.
export const requestPage = (list, all, time = timeSample) => textOf({ ...sample, functions: [...sample.functions, ...functions] }) + timeText(time) + requestText(list, all);

// SPDX-License-Identifier: MIT
// Decodes the requests: what --requests says of each, and the steps of the slowest ones.
//
// Times are in ns; `begin` is on the time axis of the views over time. A request's steps are
// steps[first] to steps[last - 1]: columns with one entry per step: begin (from the request's
// beginning), length, others (time in which others held the worker), runs, func, inner (0: none),
// coroutine, phase (a function, 0: unknown). They cover its life, or the beginning of it.
import { numbersOf } from "./data.js";

const flags = { begunBefore: 1, unfinished: 2, timer: 4, unsure: 8 };
const stepFlags = { named: 1, runs: 2 };

const maxParts = 32;  // phases and waits with a name of their own, as in --requests

// meta: { count, all, files, phases: [[function, name]], labels: a text of each, or empty }
export function readRequests(meta, base64, functions) {
  const number = numbersOf(base64);
  const lists = { begin: [], length: [], others: [], runs: [], func: [], inner: [], coroutine: [], phase: [] };
  const phaseNames = new Map(meta.phases);
  const nameOf = (func, inner = 0) => (func ? functions[func].name + (inner ? ` > ${functions[inner].name}` : "") : "[others]");
  const phaseName = (func, parts = 0) => (func ? phaseNames.get(func) ?? functions[func].name : parts > maxParts ? "[others]" : "[no phase]");
  const list = [];
  for (let index = 0; index < meta.count; index++) list.push({ ...readRequest(index, number, lists, nameOf, phaseName), labels: meta.labels[index] ?? "" });
  const steps = { size: lists.begin.length };
  for (const [name, values] of Object.entries(lists)) steps[name] = Float64Array.from(values);
  return { ...meta, list, steps, nameOf, phaseName };
}

function readRequest(index, number, steps, nameOf, phaseName) {
  const [file, id, vm, distance, running, wait, others, rest, coroutines, flag] = Array.from({ length: 10 }, number);
  const items = (read) => Array.from({ length: number() }, read);
  const waits = merged(items(() => [nameOf(number(), number()), number(), number()]));
  const parts = items(() => [number(), number(), number()]);
  const phases = merged(parts.map(([func, ...times]) => [phaseName(func, parts.length), ...times]));
  const first = steps.begin.length;
  readSteps(steps, number(), number);
  return {
    index, file, id, vm, begin: distance % 2 ? -(distance - 1) / 2 : distance / 2, running, wait, others, rest, coroutines, waits, phases, entry: entryOf(parts, nameOf, phaseName), first, last: steps.begin.length,
    wall: running + wait + others + rest,
    begunBefore: (flag & flags.begunBefore) !== 0,
    unfinished: (flag & flags.unfinished) !== 0,
    timer: (flag & flags.timer) !== 0,
    unsure: (flag & flags.unsure) !== 0,
  };
}

// What a request is named by, as in --requests: its content block, or where most of its time went.
function entryOf(parts, nameOf, phaseName) {
  const rank = ([func, running, wait]) => [phaseName(func) === "content" ? 1 : 0, running + wait];
  const less = ([a, b], [c, d]) => a < c || (a === c && b < d);
  const best = parts.reduce((a, b) => (a && !less(rank(a), rank(b)) ? a : b), null);
  return best && best[0] ? nameOf(best[0]) : "";
}

// Items of the same name are one, in the place of the first.
function merged(items) {
  const byName = new Map();
  for (const [name, a, b] of items) {
    const [c, d] = byName.get(name) ?? [0, 0];
    byName.set(name, [a + c, b + d]);
  }
  return Array.from(byName, ([name, [a, b]]) => [name, a, b]);
}

function readSteps(steps, count, number) {
  for (let at = 0, begin = 0; at < count; at++) {
    const flag = number();
    const length = number();
    steps.begin.push(begin);
    steps.length.push(length);
    steps.others.push(number());
    steps.runs.push(flag & stepFlags.runs ? 1 : 0);
    steps.func.push(flag & stepFlags.named ? number() : 0);
    steps.inner.push(flag & stepFlags.named ? number() : 0);
    steps.coroutine.push(number());
    steps.phase.push(number());
    begin += length;
  }
}

// When which request held its worker, as far as steps are known: columns begin, end, request, sorted by
// begin, for each Lua VM of each file. Runs of a VM do not overlap.
export class WorkerRuns {
  constructor({ list, steps }) {
    this.workers = new Map();
    for (const request of list) {
      const runs = this.of(request) ?? [];
      for (let at = request.first; at < request.last; at++) {
        if (!steps.runs[at]) continue;
        const begin = request.begin + steps.begin[at];
        runs.push({ begin, end: begin + steps.length[at], request });
      }
      this.workers.set(keyOf(request), runs);
    }
    for (const runs of this.workers.values()) runs.sort((a, b) => a.begin - b.begin || a.request.index - b.request.index);
  }

  of(request) {
    return this.workers.get(keyOf(request));
  }

  // The request that held a worker at a time; undefined: none that is known. worker: { file, vm }
  at(worker, time) {
    const runs = this.of(worker) ?? [];
    const run = runs[firstEndingAfter(runs, time)];
    return run && run.begin <= time ? run.request : undefined;
  }

  // Those of other requests that are partly in a time.
  others(request, from, to) {
    const runs = this.of(request);
    let low = firstEndingAfter(runs, from);
    const found = [];
    for (let until = from; low < runs.length && runs[low].begin < to; low++) {
      const run = runs[low];
      const begin = Math.max(until, run.begin);
      const end = Math.min(to, run.end);
      if (run.request === request || end <= begin) continue;
      found.push({ begin, end, request: run.request });
      until = end;
    }
    return found;
  }
}

function firstEndingAfter(runs, time) {
  let low = 0;
  for (let high = runs.length; low < high;) {
    const middle = (low + high) >> 1;
    if (runs[middle].end <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Colours of requests that follow each other differ: each is a golden angle from the one before.
export function requestColour({ index }, dark) {
  const hue = (index * 137.508) % 360;
  return dark ? `hsl(${hue.toFixed(1)} 45% 36%)` : `hsl(${hue.toFixed(1)} 68% 76%)`;
}

const keyOf = ({ file, vm }) => `${file} ${vm}`;

export function requestTitle(request, requests) {
  return requests.files.length > 1 ? `request ${request.id} of file ${request.file + 1}` : `request ${request.id}`;
}

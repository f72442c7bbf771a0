// SPDX-License-Identifier: MIT
// The waterfall of one request: its steps over time, from its beginning. A row for the request as a
// whole, in which others that held the worker cover its waits; one for each phase, and in a phase with
// several coroutines one for each of them; and one for the worker. Of a request whose steps are not in
// the page, the first row has its sums, which are in no order of time.
//
// Columns of a node besides those of every view: name, other (the request that held the worker, or
// null), step (or -1), isSum.
import { addPseudo } from "./data.js";
import { formatCount, formatShare, formatTime } from "./format.js";
import { atSameTime } from "./layout.js";
import { requestTitle } from "./request_data.js";
import { TimeView } from "./time_view.js";

const requestParts = [
  ["running", "requestRuns"],
  ["waits", "requestWaits"],
  ["others", "requestOthers"],
  ["unattributed", "requestRest"],
];
export const requestKinds = { running: 0, wait: 1, others: 2, rest: 3 };

// Adds what a request does to `functions`; returns the numbers, by requestKinds.
export function addRequestKinds(functions) {
  return requestParts.map(([name, kind]) => addPseudo(functions, name, "", kind, true));
}

export class WaterfallView extends TimeView {
  // data: of readRequests(); runs: WorkerRuns; ids: of addRequestKinds().
  constructor(functions, data, runs, ids, request) {
    super(functions, { end: request.wall, offset: 0, tracks: [] });
    Object.assign(this, { name: "waterfall", data, runs, ids, request, labels: [] });
    this.columns = { func: [], begin: [], total: [], row: [], name: [], other: [], step: [] };
    this.isSum = request.last === request.first;
    if (this.isSum) this.addSums();
    else this.addSteps();
    this.arrange();
  }

  arrange() {
    const { func, begin, total, row } = this.columns;
    const tree = { ...this.columns, size: func.length, total: Float64Array.from(total), parent: new Int32Array(func.length).fill(-1) };
    // Nodes of a row are in order of time only if rows are filled one after the other.
    this.setRows(tree, Float64Array.from(begin), Int32Array.from(row), this.labels.length);
  }

  addRow(label) {
    this.labels.push(label);
    return this.labels.length - 1;
  }

  addNode(row, kind, begin, end, name, step = -1, other = null) {
    if (end <= begin) return;
    const values = { func: this.ids[requestKinds[kind]], begin, total: end - begin, row, name, other, step };
    for (const [key, value] of Object.entries(values)) this.columns[key].push(value);
  }

  addSums() {
    const { request } = this;
    const row = this.addRow(`sums of ${requestTitle(request, this.data)}`);
    let at = 0;
    const add = (kind, ns, name) => this.addNode(row, kind, at, (at += ns), name);
    for (const [name, running] of request.phases) add("running", running, name);
    for (const [name, , ns] of request.waits) add("wait", ns, name);
    add("others", request.others, "others");
    add("rest", request.wall - at, "unattributed");
  }

  addSteps() {
    const { request, data } = this;
    const { steps } = data;
    const whole = this.addRow(requestTitle(request, data));
    const phases = new Map();  // name -> { steps, coroutines: id -> steps }
    for (let at = request.first; at < request.last; at++) {
      this.addStep(whole, at, true);
      if (!steps.phase[at]) continue;
      const name = data.phaseName(steps.phase[at]);
      const phase = phases.get(name) ?? { steps: [], coroutines: new Map() };
      phases.set(name, phase);
      phase.steps.push(at);
      const id = steps.coroutine[at];
      phase.coroutines.set(id, [...(phase.coroutines.get(id) ?? []), at]);
    }
    const last = request.last - 1;
    this.addNode(whole, "rest", steps.begin[last] + steps.length[last], request.wall, "[not in the page]");
    for (const [name, phase] of phases) this.addPhase(name, phase);
    this.addWorker();
  }

  addPhase(name, { steps, coroutines }) {
    const single = coroutines.size === 1;
    const row = this.addRow(single ? `${name} · ${coroutineName(coroutines.keys().next().value)}` : name);
    for (const at of steps) this.addStep(row, at, false);
    if (single) return;
    for (const [id, list] of coroutines) {
      const own = this.addRow(`    ${coroutineName(id)}`);
      for (const at of list) this.addStep(own, at, false);
    }
  }

  // covered: where others held the worker, they are shown instead.
  addStep(row, at, covered) {
    const { request, data } = this;
    const { steps } = data;
    const begin = steps.begin[at];
    const end = begin + steps.length[at];
    const func = steps.func[at];
    if (steps.runs[at]) return this.addNode(row, "running", begin, end, data.phaseName(func), at);
    const [kind, name] = func ? ["wait", data.nameOf(func, steps.inner[at])] : ["rest", "unattributed"];
    let from = begin;
    for (const run of covered && steps.others[at] ? this.othersIn(begin, end) : []) {
      this.addNode(row, kind, from, run.begin, name, at);
      this.addNode(row, "others", run.begin, run.end, requestTitle(run.request, data), at, run.request);
      from = run.end;
    }
    this.addNode(row, kind, from, end, name, at);
  }

  // From the request's beginning.
  othersIn(from, to) {
    const { begin } = this.request;
    return this.runs.others(this.request, begin + from, begin + to).map((run) => ({ ...run, begin: run.begin - begin, end: run.end - begin }));
  }

  // Who held the worker meanwhile.
  addWorker() {
    const { steps } = this.data;
    const runs = this.othersIn(0, this.request.wall);
    for (let at = this.request.first; at < this.request.last; at++) {
      if (steps.runs[at]) runs.push({ begin: steps.begin[at], end: steps.begin[at] + steps.length[at], request: null, step: at });
    }
    runs.sort((a, b) => a.begin - b.begin);
    const row = this.addRow("the worker");
    for (const { begin, end, request, step } of runs) {
      if (request) this.addNode(row, "others", begin, end, requestTitle(request, this.data), -1, request);
      else this.addNode(row, "running", begin, end, requestTitle(this.request, this.data), step);
    }
  }

  labelOf(row) {
    return this.labels[row];
  }

  labelFor(node) {
    return { name: this.columns.name[node], where: "" };
  }

  isMarked(node, look) {
    return look.matcher(this.columns.name[node]);
  }

  widest() {
    return -1;
  }

  parent() {
    return -1;
  }

  // In the row above (step -1) or below (1).
  above(node, step) {
    return atSameTime(this.layout, node, step);
  }

  // The time of a node on the axis of the views over time; of -1: of the request.
  timeOf(node) {
    const { begin, wall } = this.request;
    if (node < 0 || this.isSum) return { x: begin, span: Math.max(wall, 1) };
    return { x: begin + this.columns.begin[node], span: this.columns.total[node] };
  }

  describe(node) {
    const { columns, functions, request, data } = this;
    const func = functions[columns.func[node]];
    const rows = [["", func.name], [this.isSum ? "in all" : "duration", formatTime(columns.total[node])], ["of the request", formatShare(columns.total[node], request.wall)]];
    if (!this.isSum) rows.splice(1, 0, ["from its beginning", formatTime(columns.begin[node])]);
    const step = columns.step[node];
    if (step >= 0) rows.push(...stepRows(data, step, columns.total[node]));
    return { name: columns.name[node], where: "", kind: "", func, rows, more: requestRows(request), moreTitle: requestTitle(request, data) };
  }
}

const coroutineName = (id) => (id ? `coroutine ${id}` : "main coroutine");

function stepRows({ steps, phaseName }, at, shown) {
  const rows = [];
  if (steps.length[at] > shown) rows.push(["part of a step of", formatTime(steps.length[at])]);
  if (steps.others[at]) rows.push(["others held the worker", formatTime(steps.others[at])]);
  if (steps.phase[at]) rows.push(["phase", phaseName(steps.phase[at])], ["in", coroutineName(steps.coroutine[at])]);
  return rows;
}

// The ledger of a request: the four parts add up to wall.
export function requestRows(request) {
  const { wall, running, wait, others, rest, coroutines } = request;
  const rows = [["wall", formatTime(wall) + (request.begunBefore ? ", began before" : "") + (request.unfinished ? ", end not seen" : "")]];
  for (const [label, time] of [["running", running], ["waits", wait], ["others", others], ["unattributed", rest]]) rows.push([label, `${formatTime(time)} (${formatShare(time, wall)})`]);
  rows.push(["coroutines", formatCount(coroutines)]);
  for (const [name, count, ns] of request.waits.filter((one) => one[2]).sort((a, b) => b[2] - a[2]).slice(0, 3)) rows.push([name, `${formatCount(count)} × · ${formatTime(ns)}`]);
  return rows;
}

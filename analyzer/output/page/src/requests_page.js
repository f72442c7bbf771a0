// SPDX-License-Identifier: MIT
// The view of requests: the plot of all, the table of those that match, and the waterfall of the one that
// is selected, which is the page's `view`.
//
// A request matches if it is in the part picked in the plot, in the page's range, and matches the search.
import { modulesInLegend, toneOf } from "./colour.js";
import { formatCount, formatTime } from "./format.js";
import { RequestPlot } from "./request_plot.js";
import { RequestTable } from "./request_table.js";
import { readRequests, requestColour, requestTitle, WorkerRuns } from "./request_data.js";
import { requestKinds, requestRows, WaterfallView } from "./waterfall_view.js";

const firstOrder = "wall-down";
const elementOf = (id) => document.getElementById(id);

export class RequestsPage {
  // ids: of addRequestKinds().
  constructor(page, ids) {
    const { profile, functions } = page;
    this.page = page;
    this.ids = ids;
    this.data = readRequests(profile.requests, elementOf("requestData").textContent, functions);
    this.runs = new WorkerRuns(this.data);
    this.phases = new Map(phasesByTime(this.data).map((name, i) => [name, i]));
    this.picked = null;
    this.byPhase = false;
    this.marks = new Uint8Array(this.data.list.length).fill(1);
    const on = { choose: (index) => this.choose(index), open: (index) => this.open(index), sorted: () => page.address?.changed(false) };
    this.table = new RequestTable(this.data, this.offset, (request) => this.colourOf(request), on);
    this.setSelected(this.data.list.reduce((slowest, one) => (slowest.timer - one.timer || one.wall - slowest.wall) > 0 ? one : slowest));
    this.plot = new RequestPlot(elementOf("plot"), this);
  }

  get offset() {
    return this.page.profile.chart.offset;
  }

  get range() {
    return this.page.range;
  }

  get look() {
    return this.page.look;
  }

  setSelected(request) {
    this.selected = request;
    this.waterfall = new WaterfallView(this.page.functions, this.data, this.runs, this.ids, request);
    this.table.select(request.index);
  }

  // The user selects a request.
  choose(index) {
    this.setSelected(this.data.list[index]);
    this.plot.paint();
    this.page.showWaterfall();
  }

  open(index) {
    this.choose(index);
    this.page.showOverTime(this.waterfall.timeOf(-1));
  }

  // From the plot to the waterfall.
  enter() {
    elementOf("graph").focus();
  }

  // The next (step 1) or previous (-1) request in the table.
  step(step) {
    const list = this.table.sorted();
    const at = list.indexOf(this.selected);
    const next = at < 0 ? list.at(step > 0 ? 0 : -1) : list[at + step];
    if (next) this.choose(next.index);
  }

  pick(part) {
    this.picked = part;
    this.show();
    this.page.showState();
  }

  setByPhase(on) {
    this.byPhase = on;
    this.table.show();
    this.plot.paint();
  }

  // Shows what matches now.
  show() {
    const { picked, range, data } = this;
    const { matcher } = this.look;
    const known = new Map();
    const isFound = (text) => known.get(text) ?? (known.set(text, matcher(text)), known.get(text));
    for (const r of data.list) {
      const isPicked = !picked || (Math.max(0, r.begin) >= picked.x && r.begin <= picked.x + picked.span && r.wall >= picked.low && r.wall <= picked.high);
      const isInRange = !range || (r.begin <= range.x + range.span && r.begin + r.wall >= range.x);
      const isWanted = () => !matcher || [requestTitle(r, data), r.labels].some(matcher) || [[r.entry], ...r.waits, ...r.phases].some(([name]) => isFound(name));
      this.marks[r.index] = isPicked && isInRange && isWanted() ? 1 : 0;
    }
    this.table.marks = this.marks;
    this.table.show();
    this.plot.paint();
  }

  foundText() {
    const count = this.marks.reduce((sum, mark) => sum + mark, 0);
    return `${formatCount(count)} of ${formatCount(this.data.list.length)} requests`;
  }

  pickedText() {
    const { x, span, low, high } = this.picked;
    return `from ${formatTime(x + this.offset)} to ${formatTime(x + span + this.offset)}, ${formatTime(low)} to ${formatTime(high)} long`;
  }

  // The request that held the worker when a node began; undefined: none that is known. Times are rounded
  // to ns, and a call may go on when others hold the worker.
  requestOf(node, view) {
    const { begin, total, track } = view.nodes;
    return this.runs.at(this.page.chart.tracks[track[node]], begin[node] + Math.min(total[node] / 2, 10));
  }

  // Of that request; "" without one.
  titleOf(node, view) {
    const request = this.page.functions[view.nodes.func[node]].isDrawn ? undefined : this.requestOf(node, view);
    return request ? requestTitle(request, this.data) : "";
  }

  // Of a call over time, by request; "" of what is no call.
  callColour(node, view) {
    if (this.page.functions[view.nodes.func[node]].isDrawn) return "";
    const request = this.requestOf(node, view);
    return request ? requestColour(request, this.look.dark) : toneOf(-1, this.look.dark);
  }

  // By phase: the one that took longest. Else the largest of the four parts of its time.
  colourOf(request) {
    if (this.byPhase) return toneOf(this.phases.get(longestPhase(request)), this.look.dark);
    const largest = Object.keys(requestKinds).reduce((a, b) => (request[b] > request[a] ? b : a));
    return this.look.colour(this.ids[requestKinds[largest]]);
  }

  // [label, colour] of each colour of the dots.
  legend() {
    if (!this.byPhase) return [];
    const names = [...this.phases.keys()];
    const shown = names.slice(0, modulesInLegend).map((name, i) => [name || "no phase", toneOf(i, this.look.dark)]);
    return names.length > shown.length ? [...shown, [`${formatCount(names.length - shown.length)} others`, toneOf(-1, this.look.dark)]] : shown;
  }

  describe(request) {
    return { name: requestTitle(request, this.data), where: "", kind: "", func: null, rows: [["start", formatTime(request.begin + this.offset)], ...requestRows(request)] };
  }

  notes() {
    const { data } = this;
    const notes = [];
    if (data.count < data.all) notes.push(`${formatCount(data.count)} of ${formatCount(data.all)} requests are in the page: the slowest, and every so many-th of the others.`);
    if (this.waterfall.isSum) notes.push("Of this request only the sums are in the page.");
    return notes;
  }

  // The options that show what is left out; null: nothing is.
  remedy() {
    if (this.waterfall.isSum) return ["--request", String(this.selected.id)];
    return this.data.count < this.data.all ? ["--requests", "--limit", "0"] : null;
  }

  // The files without which the remedy works: ids are numbers in their file.
  get leftFiles() {
    return this.waterfall.isSum ? this.data.files.filter((_, i) => i !== this.selected.file) : [];
  }

  // -- The address --

  state() {
    const { selected, picked } = this;
    return { request: [selected.file, selected.id], picked: picked ? [picked.x, picked.span, picked.low, picked.high] : undefined, dots: this.byPhase ? "phase" : undefined, requestOrder: this.table.order === firstOrder ? undefined : this.table.order };
  }

  restore({ request, picked, dots, requestOrder }) {
    const found = request && this.data.list.find(({ file, id }) => file === request[0] && id === request[1]);
    if (found) this.setSelected(found);
    this.picked = picked ? { x: picked[0], span: picked[1], low: picked[2], high: picked[3] } : null;
    this.byPhase = dots === "phase";
    elementOf("dotColour").value = this.byPhase ? "phase" : "share";
    this.table.order = requestOrder ?? firstOrder;
    this.show();
  }
}

function longestPhase({ phases }) {
  return phases.reduce((a, b) => (b[1] + b[2] > a[1] + a[2] ? b : a), ["", 0, 0])[0];
}

// The phases that are the longest of some request, those of most requests first.
function phasesByTime({ list }) {
  const counts = new Map();
  for (const request of list) counts.set(longestPhase(request), (counts.get(longestPhase(request)) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([name]) => name);
}

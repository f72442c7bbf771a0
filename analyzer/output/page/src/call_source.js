// SPDX-License-Identifier: MIT
// The call tree that is shown, and the figures of functions that go with it: those of the whole recording
// or of a range of time, with transforms.
//
// Invariant: calls, inclusive and self of each function are sums over `calls`, except for the whole tree
// without transforms: there they are those of the data, which include pruned call paths.
import { swapTimes } from "./data.js";
import { treeOfRange } from "./range_tree.js";
import { addThreads } from "./runs.js";
import { transformed } from "./transforms.js";

export class CallSource {
  // chart(): the chart, null if there is none.
  constructor(whole, chart, functions) {
    Object.assign(this, { whole, chart, functions, range: null, transforms: [], swapped: false });
    this.ranged = whole;
    this.calls = whole;
    this.figures = functions.map(({ calls, inclusive, self, before, times }) => ({ calls, inclusive, self, before, times }));
  }

  // Calls that began in the recording.
  get countedCalls() {
    return this.figures.reduce((sum, { calls }) => sum + calls, 0);
  }

  get isWhole() {
    return !this.range && !this.transforms.length;
  }

  // range: { x, span } in ns, null: everything. A comparison has no times before for a part of the time.
  setRange(range) {
    const same = range?.x === this.range?.x && range?.span === this.range?.span;
    const chart = range && this.chart();
    if (same || this.whole.diff || (range && !chart)) return false;
    this.range = range && { ...range };
    if (range && !chart.pieces) addThreads(chart);
    this.ranged = range ? treeOfRange(chart, this.functions, this.whole.func[0], range.x, range.x + range.span) : this.whole;
    this.update();
    return true;
  }

  setTransforms(list) {
    this.transforms = list;
    this.update();
  }

  // Shows the times before instead of those now, or back.
  swap() {
    swapTimes(this.whole);
    this.swapped = !this.swapped;
    this.update();
  }

  update() {
    this.calls = transformed(this.ranged, this.functions.length, this.transforms);
    if (this.isWhole) {
      this.functions.forEach((f, id) => Object.assign(f, this.figures[id]));
      return;
    }
    const shown = sumsOf(this.calls, this.functions.length, ["calls", "total", "self"]);
    const other = this.calls.diff ? sumsOf(this.calls, this.functions.length, ["wasCalls", "wasTotal", "wasSelf"]) : () => null;
    const [now, before] = this.swapped ? [other, shown] : [shown, other];
    this.functions.forEach((f, id) => Object.assign(f, now(id), { before: before(id), times: null }));
  }
}

// By function: calls, inclusive time (of outermost calls) and self time. columns: those of the tree.
function sumsOf(tree, count, columns) {
  const [calls, total, self] = columns.map((name) => tree[name]);
  const sums = { calls: new Float64Array(count), inclusive: new Float64Array(count), self: new Float64Array(count) };
  const open = new Int32Array(count);  // calls of the function on the way from the root
  const path = [];
  for (let node = 1; node < tree.size; node++) {
    while (path.length >= tree.depth[node]) open[path.pop()]--;
    const func = tree.func[node];
    sums.calls[func] += calls[node];
    sums.self[func] += self[node];
    if (!open[func]) sums.inclusive[func] += total[node];
    open[func]++;
    path.push(func);
  }
  return (id) => ({ calls: sums.calls[id], inclusive: sums.inclusive[id], self: sums.self[id] });
}

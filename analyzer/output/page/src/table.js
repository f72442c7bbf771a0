// SPDX-License-Identifier: MIT
// The table of functions: totals over the whole profile, computed before pruning.
import { formatChange, formatCount, formatDelta, formatShare, formatTime, words } from "./format.js";
import { element } from "./details.js";
import { SortedTable } from "./sorted_table.js";

const delta = (key) => (f) => f[key] - f.before[key];
const names = [
  { key: "name", label: "Function", text: true, value: (f) => f.name },
  { key: "where", label: "Defined", text: true, value: (f) => f.where },
  { key: "calls", get label() { return words.calls[0].toUpperCase() + words.calls.slice(1); }, value: (f) => f.calls },
];
const plain = [
  { key: "inclusive", label: "Inclusive", value: (f) => f.inclusive, span: 2 },
  { key: "self", label: "Self", value: (f) => f.self, span: 2 },
];
const changeTitle = (of) => `Change of ${of} time: now minus before`;
const compared = [
  { key: "inclusive", label: "Inclusive", value: (f) => f.inclusive },
  { key: "inclusiveChange", label: "Change", value: delta("inclusive"), title: changeTitle("inclusive"), span: 2 },
  { key: "self", label: "Self", value: (f) => f.self },
  { key: "selfChange", label: "Change", value: delta("self"), title: changeTitle("self"), span: 2 },
];
// Only where coroutines are suspended in calls, and where it is known: of the whole time, unchanged.
const wallOf = (f) => f.times?.wall ?? 0;
const wall = { key: "wall", label: "Wall", value: wallOf, title: "From the beginning to the end of its calls, suspended time included" };

export class FunctionTable extends SortedTable {
  // total: the time of everything; diff: whether this is a comparison; colour(f): of the dot before a
  // name; on: see SortedTable.
  constructor(functions, total, diff, colour, on) {
    const waits = !diff && functions.some((f) => wallOf(f) > f.inclusive * 1.001);
    const columns = [...names, ...(diff ? compared : waits ? [wall, ...plain] : plain)];
    super(document.getElementById("functions"), columns, { key: diff ? "selfChange" : "self", down: true }, on);
    Object.assign(this, { functions, total, diff, colour, waits, marks: null });
    this.section.classList.toggle("wide", waits);
  }

  isListed(f) {
    const ever = f.calls + f.inclusive + (this.diff ? f.before.calls + f.before.inclusive : 0);
    return ever > 0 && (!this.marks || this.marks[f.id]);
  }

  listed() {
    return this.functions.filter((f) => this.isListed(f));
  }

  less(a, b) {
    return b.self - a.self || a.id - b.id;
  }

  emptyText() {
    return this.marks ? "No function matches" : "No calls";
  }

  cellsOf(f) {
    const name = this.nameCell(f.name, f.hint ? `${f.name}: name taken from a call` : f.name, this.colour(f));
    const where = element("td", "where");
    where.append(element("bdi", "", f.where));  // cut at its beginning, see page.css
    where.title = f.where;
    const cells = [name, where, element("td", "number", formatCount(f.calls))];
    if (this.waits) cells.push(element("td", "number", f.times ? formatTime(f.times.wall) : "–"));
    for (const key of ["inclusive", "self"]) {
      cells.push(element("td", "number", formatTime(f[key])));
      if (this.diff) cells.push(...this.changeCells(f[key], f.before[key]));
      else cells.push(this.shareCell(f[key]));
    }
    return cells;
  }

  shareCell(time) {
    const cell = element("td", "share", formatShare(time, this.total));
    cell.style.setProperty("--share", `${this.total > 0 ? (100 * time) / this.total : 0}%`);
    return cell;
  }

  changeCells(now, before) {
    const side = now > before ? "more" : now < before ? "less" : "";
    return [element("td", `number ${side}`, formatDelta(now - before)), element("td", `number ${side}`, formatChange(now, before))];
  }
}

// SPDX-License-Identifier: MIT
// The table of functions: totals over the whole profile, computed before pruning. Only the first
// maxRows rows are shown; a search finds the others.
import { formatChange, formatCount, formatDelta, formatShare, formatTime } from "./format.js";
import { button, element } from "./details.js";

const maxRows = 250;
const delta = (key) => (f) => f[key] - f.before[key];
const names = [
  { key: "name", label: "Function", text: true, value: (f) => f.name },
  { key: "where", label: "Defined", text: true, value: (f) => f.where },
  { key: "calls", label: "Calls", value: (f) => f.calls },
];
const plain = [
  { key: "inclusive", label: "Inclusive", value: (f) => f.inclusive, span: 2 },
  { key: "self", label: "Self", value: (f) => f.self, span: 2 },
];
const compared = [
  { key: "inclusive", label: "Inclusive", value: (f) => f.inclusive },
  { key: "inclusiveChange", label: "Change", value: delta("inclusive"), of: "inclusive", span: 2 },
  { key: "self", label: "Self", value: (f) => f.self },
  { key: "selfChange", label: "Change", value: delta("self"), of: "self", span: 2 },
];

export class FunctionTable {
  // total: the time of everything; diff: whether this is a comparison; colour(f): of the dot before a
  // name; on: callbacks choose(id), when a row is clicked, and open(id), when it is opened.
  constructor(functions, total, diff, colour, on) {
    this.functions = functions;
    this.total = total;
    this.diff = diff;
    this.columns = [...names, ...(diff ? compared : plain)];
    this.colour = colour;
    this.sort = { key: diff ? "selfChange" : "self", down: true };
    this.marks = null;
    this.chosen = -1;
    this.body = document.getElementById("rows");
    this.makeHead();
    this.listen(on);
  }

  listen({ choose, open }) {
    const idOf = (event) => event.target.closest("tr[data-id]")?.dataset.id;
    const act = (event, action) => {
      const id = idOf(event);
      if (id !== undefined) action(Number(id));
      return id !== undefined;
    };
    this.body.addEventListener("click", (event) => act(event, choose));
    this.body.addEventListener("dblclick", (event) => act(event, open));
    this.body.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -1e9, End: 1e9 };
      let done = event.key in steps && this.step(steps[event.key]);
      if (event.key === "Enter" || event.key === " ") done = act(event, choose);
      if (event.key === "s") done = act(event, open);
      if (!done) return;
      event.preventDefault();
      event.stopPropagation();
    });
  }

  // Moves the focus by a number of rows; false if no row has it.
  step(rows) {
    const list = [...this.body.querySelectorAll("tr[data-id]")];
    const at = list.indexOf(document.activeElement);
    if (at < 0) return false;
    this.enter(list[Math.min(list.length - 1, Math.max(0, at + rows))]);
    return true;
  }

  // Focuses a row. Only one row at a time is a stop of the Tab key.
  enter(row) {
    if (!row) return;
    for (const other of this.body.querySelectorAll("tr[tabindex='0']")) other.tabIndex = -1;
    row.tabIndex = 0;
    row.focus();
  }

  makeHead() {
    const head = document.getElementById("columns");
    for (const column of this.columns) {
      const cell = element("th", column.text ? "" : "number");
      cell.dataset.key = column.key;
      const title = column.of ? `Change of ${column.of} time: now minus before` : "";
      cell.append(button("", column.label, title, () => this.sortBy(column)));
      if (column.span) cell.colSpan = column.span;
      head.append(cell);
    }
  }

  sortBy({ key, text }) {
    const again = this.sort.key === key;
    this.sort = { key, down: again ? !this.sort.down : !text };
    this.show();
  }

  isListed(f) {
    const ever = f.calls + f.inclusive + (this.diff ? f.before.calls + f.before.inclusive : 0);
    return ever > 0 && (!this.marks || this.marks[f.id]);
  }

  sorted() {
    const { value, text } = this.columns.find((c) => c.key === this.sort.key);
    const sign = this.sort.down ? -1 : 1;
    const list = this.functions.filter((f) => this.isListed(f));
    const less = text
      ? (a, b) => compareText(value(a), value(b))
      : (a, b) => value(a) - value(b);
    return list.sort((a, b) => sign * less(a, b) || b.self - a.self || a.id - b.id);
  }

  show() {
    for (const cell of document.querySelectorAll("#columns th")) {
      const direction = this.sort.down ? "descending" : "ascending";
      cell.setAttribute("aria-sort", cell.dataset.key === this.sort.key ? direction : "none");
    }
    const list = this.sorted();
    const rows = list.slice(0, maxRows).map((f) => this.makeRow(f));
    if (rows.length) rows[0].tabIndex = 0;
    if (list.length > maxRows) rows.push(this.noteRow(`${formatCount(list.length - maxRows)} more: search to find them`));
    if (!list.length) rows.push(this.noteRow(this.marks ? "No function matches" : "No calls"));
    this.body.replaceChildren(...rows);
    this.revealSort();
  }

  // On a narrow screen, where columns are scrolled sideways, the sorted one is in the window.
  revealSort() {
    const box = this.body.closest("section");
    const heading = document.querySelector(`#columns th[data-key="${this.sort.key}"]`);
    const fixed = document.querySelector("#columns th").getBoundingClientRect();
    const { left, right } = heading.getBoundingClientRect();
    const edge = box.getBoundingClientRect().right - 14;
    if (this.sort.key === "name" || (left >= fixed.right && right <= edge)) return;
    box.scrollLeft += right > edge ? right - edge : left - fixed.right;
  }

  noteRow(text) {
    const row = element("tr", "note");
    const cell = element("td", "", text);
    cell.colSpan = this.columns.reduce((sum, column) => sum + (column.span ?? 1), 0);
    row.append(cell);
    return row;
  }

  makeRow(f) {
    const row = element("tr", f.id === this.chosen ? "chosen" : "");
    row.dataset.id = f.id;
    row.tabIndex = -1;
    const name = element("td", "name");
    const dot = element("i", "dot");
    dot.style.background = this.colour(f);
    name.append(dot, element("span", "", f.name));
    name.title = f.hint ? `${f.name}: name taken from a call` : f.name;
    const where = element("td", "where");
    where.append(element("bdi", "", f.where));  // cut at its beginning, see page.css
    where.title = f.where;
    row.append(name, where, element("td", "number", formatCount(f.calls)));
    for (const key of ["inclusive", "self"]) {
      row.append(element("td", "number", formatTime(f[key])));
      if (this.diff) row.append(...this.changeCells(f[key], f.before[key]));
      else row.append(this.shareCell(f[key]));
    }
    return row;
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

  select(id) {
    this.chosen = id;
    for (const row of this.body.children) row.classList.toggle("chosen", Number(row.dataset.id) === id);
  }
}

function compareText(a, b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

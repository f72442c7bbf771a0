// SPDX-License-Identifier: MIT
// The table of functions: totals over the whole profile, computed before anything was pruned.
// Only the first rows of the chosen order are made; a search finds the others.
import { formatCount, formatShare, formatTime } from "./format.js";
import { element } from "./details.js";

const mostRows = 250;
const columns = [
  { key: "name", label: "Function", text: true, value: (f) => f.name },
  { key: "where", label: "Defined", text: true, value: (f) => f.where },
  { key: "calls", label: "Calls", value: (f) => f.calls },
  { key: "inclusive", label: "Inclusive", value: (f) => f.inclusive, share: true },
  { key: "self", label: "Self", value: (f) => f.self, share: true },
];

export class FunctionTable {
  // functions: those to list; total: the time of everything; choose(id): a row was clicked.
  constructor(functions, total, colour, choose) {
    this.functions = functions;
    this.total = total;
    this.colour = colour;
    this.choose = choose;
    this.sort = { key: "self", down: true };
    this.marks = null;
    this.chosen = -1;
    this.body = document.getElementById("rows");
    this.makeHead();
    this.body.addEventListener("click", (event) => {
      const row = event.target.closest("tr[data-id]");
      if (row) this.choose(Number(row.dataset.id));
    });
  }

  makeHead() {
    const head = document.getElementById("columns");
    for (const column of columns) {
      const cell = element("th", column.text ? "" : "number");
      cell.dataset.key = column.key;
      const button = element("button", "", column.label);
      button.type = "button";
      button.addEventListener("click", () => this.sortBy(column));
      cell.append(button);
      if (column.share) cell.colSpan = 2;
      head.append(cell);
    }
  }

  sortBy({ key, text }) {
    const again = this.sort.key === key;
    this.sort = { key, down: again ? !this.sort.down : !text };
    this.show();
  }

  sorted() {
    const { value, text } = columns.find((c) => c.key === this.sort.key);
    const sign = this.sort.down ? -1 : 1;
    const list = this.functions.filter((f) => f.calls + f.inclusive > 0 && (!this.marks || this.marks[f.id]));
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
    const rows = list.slice(0, mostRows).map((f) => this.makeRow(f));
    if (list.length > mostRows) rows.push(this.noteRow(`${formatCount(list.length - mostRows)} more: search to find them`));
    if (!list.length) rows.push(this.noteRow(this.marks ? "No function matches" : "No calls"));
    this.body.replaceChildren(...rows);
  }

  noteRow(text) {
    const row = element("tr", "note");
    const cell = element("td", "", text);
    cell.colSpan = 7;
    row.append(cell);
    return row;
  }

  makeRow(f) {
    const row = element("tr", f.id === this.chosen ? "chosen" : "");
    row.dataset.id = f.id;
    const name = element("td", "name");
    const dot = element("i", "dot");
    dot.style.background = this.colour(f.id);
    name.append(dot, element("span", "", f.name));
    name.title = f.name;
    const where = element("td", "where");
    where.append(element("bdi", "", f.where));  // cut at its beginning, see page.css
    where.title = f.where;
    row.append(name, where, element("td", "number", formatCount(f.calls)));
    for (const time of [f.inclusive, f.self]) {
      row.append(element("td", "number", formatTime(time)), this.shareCell(time));
    }
    return row;
  }

  shareCell(time) {
    const cell = element("td", "share", formatShare(time, this.total));
    cell.style.setProperty("--share", `${this.total > 0 ? (100 * time) / this.total : 0}%`);
    return cell;
  }

  select(id) {
    this.chosen = id;
    for (const row of this.body.children) row.classList.toggle("chosen", Number(row.dataset.id) === id);
  }
}

function compareText(a, b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

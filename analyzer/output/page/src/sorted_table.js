// SPDX-License-Identifier: MIT
// A table whose headings sort it. Only the first maxRows rows are shown; a search finds the others.
//
// A subclass has listed(), the items to show; cellsOf(item), the cells of its row; and less(), which is the order of items
// that are equal; emptyText(), what is shown if there are none.
import { formatCount } from "./format.js";
import { button, element } from "./details.js";

const maxRows = 250;

export class SortedTable {
  // section: contains the table. columns: [{ key, label, value(item), text: is no number, span, title }].
  // sort: { key, down }. on: callbacks choose(id), when a row is clicked, open(id), when it is opened, and
  // sorted(), when the user sorts the table.
  constructor(section, columns, sort, on) {
    this.section = section;
    this.columns = columns;
    this.sort = sort;
    this.on = on;
    this.chosen = -1;
    this.head = section.querySelector("thead tr");
    this.body = section.querySelector("tbody");
    this.makeHead();
    this.listen(on);
    // A table that was hidden had no columns' positions, and a telephone may be turned.
    new ResizeObserver(([{ contentRect }]) => {
      if (contentRect.width !== this.width) this.revealSort();
      this.width = contentRect.width;
    }).observe(section);
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
    for (const column of this.columns) {
      const cell = element("th", column.text ? "" : "number");
      cell.dataset.key = column.key;
      cell.append(button("", column.label, column.title ?? "", () => this.sortBy(column)));
      if (column.span) cell.colSpan = column.span;
      this.head.append(cell);
    }
  }

  sortBy({ key, text }) {
    const again = this.sort.key === key;
    this.sort = { key, down: again ? !this.sort.down : !text };
    this.show();
    this.on.sorted();
  }

  // The order as text, "self-down", for the address; and back.
  get order() {
    return `${this.sort.key}-${this.sort.down ? "down" : "up"}`;
  }

  set order(text) {
    const [key, direction] = text.split("-");
    if (text === this.order || !this.columns.some((column) => column.key === key)) return;
    this.sort = { key, down: direction === "down" };
    this.show();
  }

  // Those with a greater number come after all others.
  group() {
    return 0;
  }

  sorted() {
    const { value, text } = this.columns.find((c) => c.key === this.sort.key);
    const sign = this.sort.down ? -1 : 1;
    const compare = text
      ? (a, b) => compareText(value(a), value(b))
      : (a, b) => value(a) - value(b);
    return this.listed().sort((a, b) => this.group(a) - this.group(b) || sign * compare(a, b) || this.less(a, b));
  }

  show() {
    for (const cell of this.head.children) {
      const direction = this.sort.down ? "descending" : "ascending";
      cell.setAttribute("aria-sort", cell.dataset.key === this.sort.key ? direction : "none");
    }
    const list = this.sorted();
    const rows = list.slice(0, maxRows).map((item) => this.newRow(item));
    if (rows.length) rows[0].tabIndex = 0;
    if (list.length > maxRows) rows.push(this.noteRow(`${formatCount(list.length - maxRows)} more: search to find them`));
    if (!list.length) rows.push(this.noteRow(this.emptyText()));
    this.body.replaceChildren(...rows);
    this.revealSort();
  }

  // On a narrow screen, where columns are scrolled sideways below the names, the sorted one is in the window, and
  // the names take the space of a column that would be cut: the rest of a number looks like another number.
  revealSort() {
    const names = this.head.firstChild;
    const heading = this.head.querySelector(`th[data-key="${this.sort.key}"]`);
    const rects = () => [names, heading].map((of) => of.getBoundingClientRect());
    const edge = this.section.getBoundingClientRect().left + this.section.clientWidth - 14;
    const isShown = ([fixed, { left, right }]) => heading === names || (left >= fixed.right - 1 && right <= edge + 1);
    if (!this.section.clientWidth || isShown(rects())) return;
    this.section.style.removeProperty("--names");
    const [fixed, { left, right }] = rects();
    this.section.scrollLeft += right > edge ? right - edge : Math.min(0, left - fixed.right);
    if (right <= edge || getComputedStyle(names).left === "auto") return;  // the names are scrolled, too
    let spare = edge - names.getBoundingClientRect().right;
    for (let column = heading; column !== names && column.offsetWidth <= spare; column = column.previousSibling) spare -= column.offsetWidth;
    this.section.style.setProperty("--names", `${fixed.width + spare}px`);
    this.section.scrollLeft += spare;
  }

  noteRow(text) {
    const row = element("tr", "note");
    const cell = element("td", "", text);
    cell.colSpan = this.columns.reduce((sum, column) => sum + (column.span ?? 1), 0);
    row.append(cell);
    return row;
  }

  // The number of an item.
  idOf(item) {
    return item.id;
  }

  newRow(item) {
    const id = this.idOf(item);
    const row = element("tr", id === this.chosen ? "chosen" : "");
    row.dataset.id = id;
    row.tabIndex = -1;
    row.append(...this.cellsOf(item));
    return row;
  }

  // The cell of a name, with a dot of its colour.
  nameCell(name, title, colour) {
    const cell = element("td", "name");
    const dot = element("i", "dot");
    dot.style.background = colour;
    cell.append(dot, element("span", "", name));
    cell.title = title;
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

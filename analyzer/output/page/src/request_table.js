// SPDX-License-Identifier: MIT
// The table of requests: the columns of --requests.
import { element } from "./details.js";
import { formatCount, formatTime } from "./format.js";
import { requestTitle } from "./request_data.js";
import { SortedTable } from "./sorted_table.js";

const time = (key, label, title) => ({ key, label, value: (r) => r[key], title, isTime: true });
const requestColumns = [
  { key: "id", label: "Request", text: true, value: (r) => r.index, title: "Its number in the trace, as in --requests" },
  time("begin", "From", "When it began"),
  time("wall", "Wall", "From its beginning to its end: the sum of the next four"),
  time("running", "Running", "In Lua, C functions, the garbage collector or the compiler"),
  time("wait", "Waits", "No call runs, and it waits in a function"),
  time("others", "Others", "Others held the worker"),
  time("rest", "Unattributed", "No call runs, nor does it wait in one"),
  { key: "coroutines", label: "Coroutines", value: (r) => r.coroutines },
  { key: "labels", label: "Labels", text: true, value: (r) => r.labels },
  { key: "entry", label: "Entry", text: true, value: (r) => r.entry, title: "Its content block, or where most of its time went" },
  { key: "longest", label: "Longest wait", text: true, value: (r) => longestWait(r) },
  { key: "phases", label: "Phases (running + waits)", text: true, value: (r) => phasesText(r) },
];

function longestWait({ waits }) {
  return waits.length && waits[0][2] ? `${waits[0][0]} ${formatTime(waits[0][2])}` : "";
}

function phasesText({ phases }) {
  return phases.map(([name, running, wait]) => `${name} ${formatTime(running)}${wait ? ` + ${formatTime(wait)}` : ""}`).join(", ");
}

// "<": it began before the recording; ">": its end was not seen; "~": one of its ends is not certain.
export const marksOf = (r) => (r.begunBefore ? "<" : "") + (r.unfinished ? ">" : "") + (r.unsure ? "~" : "") + (r.timer ? " timer" : "");

export class RequestTable extends SortedTable {
  // offset: added to times when they are shown. colour(request), on: see SortedTable.
  constructor(requests, offset, colour, on) {
    const columns = requestColumns.filter(({ key }) => key !== "labels" || requests.labels.length);
    super(document.getElementById("requestTable"), columns, { key: "wall", down: true }, on);
    Object.assign(this, { requests, offset, colour, marks: null });
  }

  listed() {
    return this.requests.list.filter((r) => !this.marks || this.marks[r.index]);
  }

  group({ timer }) {
    return timer ? 1 : 0;
  }

  less(a, b) {
    return b.wall - a.wall || a.index - b.index;
  }

  emptyText() {
    return "No request matches";
  }

  idOf(request) {
    return request.index;
  }

  cellsOf(request) {
    const title = requestTitle(request, this.requests);
    const name = this.nameCell(`${title.replace(/^request /, "")} ${marksOf(request)}`, title, this.colour(request));
    const cells = [name];
    for (const { key, value, isTime, text } of this.columns.slice(1)) {
      const shown = isTime ? formatTime(value(request) + (key === "begin" ? this.offset : 0)) : text ? value(request) : formatCount(value(request));
      const cell = element("td", text ? "text" : "number", shown);
      if (text) cell.title = shown;
      cells.push(cell);
    }
    return cells;
  }
}

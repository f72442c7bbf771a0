// SPDX-License-Identifier: MIT
// The dialog of the page, and the help in it: all keys and what the mouse does.
import { element } from "./details.js";

const help = [
  ["1 2 3 4 5 6", "top-down, bottom-up, over time, coroutines, sandwich, requests"],
  ["click", "zoom to a box; a click on a caller of the zoomed box zooms out. Over time: select; double-click: zoom"],
  ["/", "search; matches are marked and the table shows only matches"],
  ["Esc", "clear the search, then the selection, then the zoom"],
  ["W A S D", "over time: zoom in, move left, zoom out, move right"],
  ["← → ↑ ↓", "select a box; in the table: a row"],
  ["Enter", "zoom to the selected box; in the table: find the function"],
  ["+ −", "zoom in and out"],
  ["[ ]", "over time: move the range, also with Shift + wheel. Drag, Ctrl + wheel or a drag in the strip above: zoom"],
  ["n N", "next and previous box that matches the search, or of the selected function; of requests: in the table"],
  ["0", "show everything"],
  ["s 5", "sandwich: callers and callees of the selected function; over time only 5"],
  ["f m d r", "focus on the selected function, merge it into its callers, drop its calls, collapse its recursion; also by a right click"],
  ["u", "undo the last of these"],
  ["c", "copy the place of the selected function: file:line"],
  ["b", "top-down or bottom-up: functions by self time, then their callers"],
  ["i", "root at the top or at the bottom"],
  ["o", "over time: all coroutines, or only those active in the range"],
  ["w", "in a comparison: widths are times now or before"],
  ["t", "hide or show the table; drag its upper edge to resize it"],
  ["Tab", "to the next control: buttons, the graph, the table"],
];

export function showHelp() {
  const list = element("dl");
  for (const [keys, text] of help) {
    const name = element("dt");
    for (const key of keys.split(/ +/)) name.append(element("kbd", "", key), " ");
    list.append(name, element("dd", "", text));
  }
  const width = element("p", "", "The width of a box is its inclusive time: its own time and that of its callees. Over time it is the time from call to return. Nothing is sampled; the last line of the page says whether calls were lost.");
  showDialog("Keys and mouse", [list, width]);
}

export function showDialog(title, parts) {
  const dialog = document.getElementById("keys");
  const form = element("form");
  form.method = "dialog";
  form.append(element("button", "", "Close"));
  dialog.replaceChildren(element("h2", "", title), ...parts, form);
  dialog.showModal();
  dialog.scrollTop = 0;  // showModal() focuses the button at the end
}

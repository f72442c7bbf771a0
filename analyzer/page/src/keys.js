// SPDX-License-Identifier: MIT
// The keyboard, the help that lists it, and the grip between graph and table. Arrows go where they
// point: up is towards the callers in an icicle and towards the called in a flame.
import { element } from "./details.js";

const help = [
  ["click", "zoom to a box; a box above the zoomed one goes back"],
  ["/", "search; matches are marked and the table shows only them"],
  ["Esc", "clear the search, then the selection, then the zoom"],
  ["← → ↑ ↓", "select a box"],
  ["Enter  +", "zoom to the selected box"],
  ["−", "zoom out by one call"],
  ["0", "show everything"],
  ["i", "root on top or at the bottom"],
  ["b", "top-down or bottom-up: functions by self time, then their callers"],
  ["t", "hide or show the table; drag its upper edge to resize it"],
];

export function showHelp() {
  const dialog = document.getElementById("keys");
  const list = element("dl");
  for (const [keys, text] of help) {
    const name = element("dt");
    for (const key of keys.split(/ +/)) name.append(element("kbd", "", key), " ");
    list.append(name, element("dd", "", text));
  }
  const form = element("form");
  form.method = "dialog";
  form.append(element("button", "", "Close"));
  const width = element("p", "", "The width of a box is its inclusive time: its own time and that of all it called. Nothing is sampled; the last line of the page tells whether calls were lost.");
  dialog.replaceChildren(element("h2", "", "Keys and mouse"), list, width, form);
  dialog.showModal();
}

function zoomIn(page) {
  const { view } = page;
  const at = view.selected >= 0 && view.selected !== view.zoom ? view.selected : view.child(view.zoom);
  if (at >= 0) page.pick(at);
}

function zoomOut(page) {
  const up = page.view.parent(page.view.zoom);
  if (up >= 0) page.pick(up);
}

function escape(page) {
  if (document.getElementById("search").value) page.clearSearch();
  else if (page.look.chosen >= 0) page.choose(page.look.chosen);
  else if (page.view.selected >= 0 && page.view.selected !== page.view.zoom) page.select(-1);
  else reset(page);
}

function reset(page) {
  page.view.selected = -1;
  page.zoomTo(0);
}

function move(page, step) {
  const { view } = page;
  if (!view.tree.size) return;
  const node = view.selected < 0 ? view.zoom : step(view, view.selected);
  if (node >= 0) page.select(node);
}

const up = (view, node) => view.parent(node);
const down = (view, node) => view.child(node);

const actions = {
  "/": () => document.getElementById("search").select(),
  "?": showHelp,
  Escape: escape,
  ArrowUp: (page) => move(page, page.graph.flip ? down : up),
  ArrowDown: (page) => move(page, page.graph.flip ? up : down),
  ArrowLeft: (page) => move(page, (view, node) => view.beside(node, -1)),
  ArrowRight: (page) => move(page, (view, node) => view.beside(node, 1)),
  Enter: zoomIn,
  "+": zoomIn,
  "=": zoomIn,
  "-": zoomOut,
  0: reset,
  i: (page) => page.setFlip(!page.graph.flip),
  b: (page) => page.setCallers(!page.view.callers),
  t: toggleTable,
};

// Fields and buttons keep the keys that mean something to them.
function isTaken(event) {
  const tag = event.target.tagName;
  if (document.getElementById("keys").open) return true;
  if (tag === "INPUT" || tag === "SELECT") return event.key !== "Escape";
  return event.key === "Enter" && (tag === "BUTTON" || tag === "TR");
}

export function listenToKeys(page) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTaken(event)) return;
    if (!Object.hasOwn(actions, event.key)) return;
    event.preventDefault();
    if (event.target.tagName === "INPUT") event.target.blur();
    actions[event.key](page);
  });
  listenToGrip();
}

function toggleTable() {
  const table = document.getElementById("functions");
  table.hidden = !table.hidden;
}

function listenToGrip() {
  const grip = document.getElementById("grip");
  const table = document.getElementById("functions");
  grip.addEventListener("dblclick", toggleTable);
  grip.addEventListener("pointerdown", (event) => {
    const from = event.clientY;
    const height = table.offsetHeight;
    const drag = (moved) => {
      const room = document.querySelector("main").clientHeight - 130;
      table.style.height = `${Math.max(0, Math.min(room, height + from - moved.clientY))}px`;
    };
    grip.setPointerCapture(event.pointerId);
    grip.addEventListener("pointermove", drag);
    grip.addEventListener("lostpointercapture", () => grip.removeEventListener("pointermove", drag), { once: true });
  });
}

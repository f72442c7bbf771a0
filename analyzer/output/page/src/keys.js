// SPDX-License-Identifier: MIT
// The keyboard, and the grip between graph and table. Arrows go where
// they point: up is towards the root in an icicle and away from it in a flame.
import { showHelp } from "./help.js";
import { copyPlace, functionFor } from "./tools.js";
import { transforms } from "./transforms.js";

function zoomIn(page) {
  const { view } = page;
  if (view.isTime) return page.scale(0.5);
  const at = view.selected >= 0 && view.selected !== view.zoom ? view.selected : view.child(view.zoom);
  if (at >= 0) page.pick(at);
}

function zoomOut(page) {
  const { view } = page;
  if (view.isTime) return page.scale(2);
  const up = view.parent(view.zoom);
  if (up >= 0) page.pick(up);
}

function enter(page) {
  const { view } = page;
  if (!view.isTime) zoomIn(page);
  else if (view.selected >= 0) page.open(view.selected);
}

function escape(page) {
  if (document.getElementById("search").value) page.clearSearch();
  else if (page.mode === "requests" && page.view.selected < 0 && page.requests.picked) page.requests.pick(null);
  else if (page.look.chosen >= 0) page.choose(page.look.chosen);
  else if (page.view.selected >= 0 && page.view.selected !== page.view.zoom) page.select(-1);
  else if (page.view.isTime && page.view.selected >= 0) page.select(-1);
  else reset(page);
}

function reset(page) {
  if (page.view.isTime) {
    page.select(-1);
    page.showRange(0, page.view.end);
    return;
  }
  page.view.selected = -1;
  page.zoomTo(0);
}

function move(page, step) {
  const { view } = page;
  if (!view.tree.size) return;
  const first = view.isTime ? view.firstShown() : view.zoom;
  const node = view.selected < 0 ? first : step(view, view.selected);
  if (node >= 0) page.select(node);
}

const up = (view, node) => (view.above ? view.above(node, -1) : view.parent(node));
const down = (view, node) => (view.above ? view.above(node, 1) : view.child(node));
const numbered = ["calls", "callers", "chart", "lanes", "sandwich", "requests"];

const actions = {
  "/": () => document.getElementById("search").select(),
  "?": showHelp,
  Escape: escape,
  ArrowUp: (page) => move(page, page.graph.flip ? down : up),
  ArrowDown: (page) => move(page, page.graph.flip ? up : down),
  ArrowLeft: (page) => move(page, (view, node) => view.beside(node, -1)),
  ArrowRight: (page) => move(page, (view, node) => view.beside(node, 1)),
  Enter: enter,
  "+": zoomIn,
  "=": zoomIn,
  "-": zoomOut,
  "[": (page) => page.pan(-0.25),
  "]": (page) => page.pan(0.25),
  0: reset,
  i: (page) => page.setFlip(!page.graph.flip),
  b: (page) => page.setView(page.mode === "callers" ? "calls" : "callers"),
  5: (page) => page.openSelected(),
  w: (page) => (page.view.isTime ? page.scale(0.5) : page.setBefore(!page.look.before)),
  a: (page) => page.pan(-0.25),
  s: (page) => (page.view.isTime ? page.scale(2) : page.openSelected()),
  d: (page) => (page.view.isTime ? page.pan(0.25) : page.transform("drop", functionFor(page))),
  c: copyPlace,
  u: (page) => page.source.transforms.length && page.setTransforms(page.source.transforms.slice(0, -1)),
  n: (page) => (page.mode === "requests" ? page.requests.step(1) : page.findNext(1)),
  N: (page) => (page.mode === "requests" ? page.requests.step(-1) : page.findNext(-1)),
  o: (page) => page.setOnlyActive(!page.onlyActive),
  t: toggleTable,
};
numbered.forEach((name, i) => (actions[i + 1] ??= (page) => page.setView(name)));
for (const [type, { key }] of Object.entries(transforms)) actions[key] ??= (page) => page.transform(type, functionFor(page));

// Whether the open help or the focused field, button or row handles the key itself.
function isTaken(event) {
  const tag = event.target.tagName;
  if (document.getElementById("keys").open) return true;
  if (tag === "INPUT" || tag === "SELECT") return event.key !== "Escape";
  if (event.target.id === "grip") return event.key.startsWith("Arrow") || event.key === "Enter";
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
  listenToGrip(page);
}

// The table that is shown, or was before it was hidden.
function tableOf(page) {
  return document.getElementById(page.mode === "requests" ? "requestTable" : "functions");
}

function toggleTable(page) {
  const table = tableOf(page);
  table.hidden = !table.hidden;
}

function setTableHeight(height) {
  const maxHeight = document.querySelector("main").clientHeight - 130;
  for (const id of ["functions", "requestTable"]) document.getElementById(id).style.height = `${Math.max(0, Math.min(maxHeight, height))}px`;
}

function listenToGrip(page) {
  const grip = document.getElementById("grip");
  grip.addEventListener("dblclick", () => toggleTable(page));
  grip.addEventListener("keydown", (event) => {
    const steps = { ArrowUp: 40, ArrowDown: -40 };
    if (event.key === "Enter") toggleTable(page);
    else if (event.key in steps) setTableHeight(tableOf(page).offsetHeight + steps[event.key]);
  });
  grip.addEventListener("pointerdown", (event) => {
    const from = event.clientY;
    const height = tableOf(page).offsetHeight;
    const drag = (moved) => setTableHeight(height + from - moved.clientY);
    grip.setPointerCapture(event.pointerId);
    grip.addEventListener("pointermove", drag);
    grip.addEventListener("lostpointercapture", () => grip.removeEventListener("pointermove", drag), { once: true });
  });
}

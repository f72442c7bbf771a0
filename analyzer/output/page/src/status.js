// SPDX-License-Identifier: MIT
// The texts around the graph that follow the page's state: the path of the zoomed box or the range, what
// the call tree is restricted to, the line about the selection, the search's result, and the notes.
import { commandFor, commandForAll } from "./command.js";
import { copyText } from "./clipboard.js";
import { button, describe, element, fillLine, functionRows } from "./details.js";
import { formatCount, formatShare, formatTime } from "./format.js";
import { notesOf } from "./head.js";
import { rangeText } from "./ruler.js";
import { matchedTime } from "./search.js";
import { requestTitle } from "./request_data.js";
import { transforms } from "./transforms.js";
import { requestRows } from "./waterfall_view.js";

const byId = (id) => document.getElementById(id);

// The path from the root to the zoomed node, in a long one only its ends. Over time: the range.
export function showCrumbs(page) {
  const { view } = page;
  showScope(page);
  if (page.mode === "requests") {
    showRequestCrumb(page);
    return;
  }
  if (view.isTime) {
    showRangeCrumb(page);
    return;
  }
  const path = view.tree.size ? view.pathTo(view.zoom) : [];
  const shown = path.length > 8 ? [path[0], -1, ...path.slice(-5)] : path;
  const parts = [];
  for (const node of shown) {
    if (parts.length) parts.push(element("span", "", "›"));
    parts.push(node < 0 ? element("span", "", `${path.length - 6} more`) : crumb(page, node));
  }
  byId("crumbs").replaceChildren(...parts);
}

function showRangeCrumb(page) {
  const parts = [];
  if (page.view.isZoomed) {
    const all = button("", "all", "Show everything (0)", () => page.showRange(0, page.view.end));
    parts.push(all, element("span", "", "›"));
  }
  parts.push(element("b", "", rangeText(page.view)));
  byId("crumbs").replaceChildren(...parts);
}

function showRequestCrumb({ requests, view, profile }) {
  const { selected, data } = requests;
  const parts = [element("b", "", `${requestTitle(selected, data)} at ${formatTime(selected.begin + profile.chart.offset)}: ${rangeText(view)}`)];
  byId("crumbs").replaceChildren(...parts);
}

function crumb(page, node) {
  const { name } = page.functions[page.view.tree.func[node]];
  const made = button("", name, name, () => page.pick(node));
  if (node === page.view.zoom) made.setAttribute("aria-current", "true");
  return made;
}

// What the call tree and the table are restricted to: the range chosen over time, and transforms.
function showScope(page) {
  const { source, functions, view } = page;
  const chip = (text, title, act) => button("chip", `${text} ×`, title, act);
  const chips = source.transforms.map(({ type, func }, i) =>
    chip(`${transforms[type].short}: ${functions[func].name}`, "Show the call tree without this change", () => page.setTransforms(source.transforms.filter((_, j) => j !== i))));
  if (page.mode === "requests" && page.requests.picked)
    chips.unshift(chip(page.requests.pickedText(), "Show all requests", () => page.requests.pick(null)));
  if (page.range && (page.mode === "requests" || (!view.isTime && source.range))) {
    const { x, span } = page.range;
    const from = x + page.chart.offset;
    chips.unshift(chip(`${formatTime(from)} to ${formatTime(from + span)}`, "Show the calls of the whole time", () => page.setRange(null)));
  }
  byId("scope").replaceChildren(...chips);
}

export function showFocus(page) {
  const f = page.functions[page.calleesView.focus];
  const parts = [element("span", "arrow", "▲ callers"), element("b", "", f.name), element("span", "where", f.where), element("span", "arrow", "▼ callees")];
  const shown = page.calleesView.tree.total[0];
  const all = page.look.before ? f.before.inclusive : f.inclusive;
  if (shown < all && page.source.isWhole) parts.push(element("span", "warn", `${formatShare(all - shown, all)} of its time is in [pruned] call paths and not shown here`));
  byId("focus").replaceChildren(...parts);
}

// Shows how much of the time is in call stacks with a match, and how much of what is drawn matches.
export function showFound(page) {
  const { found, view, calls, look } = page;
  byId("search").setAttribute("aria-invalid", page.problem !== "");
  byId("found").classList.toggle("bad", page.problem !== "");
  byId("found").title = page.problem;
  if (!found) {
    byId("found").textContent = page.problem && "invalid regular expression";
    return;
  }
  const parts = [`${formatCount(found.count)} ${found.count === 1 ? "function" : "functions"}`];
  parts.push(`${formatShare(matchedTime(calls, found.flags, 0), page.treeView.total)} of time`);
  if (page.mode === "calls" && view.zoom > 0) {
    const share = formatShare(matchedTime(calls, found.flags, view.zoom), calls.total[view.zoom]);
    parts.push(`${share} of the zoomed box`);
  }
  if (page.mode === "requests") parts.push(page.requests.foundText());
  else if (view.isTime) parts.push(view.foundText(look));
  if (page.heldBack) parts.push("the link has it as a regular expression: .* runs it");
  byId("found").textContent = parts.join(" · ");
}

// Notes on what the view leaves out, and the command that shows it.
export function showNotes(page) {
  const { profile, view, source, requests } = page;
  const isRequests = page.mode === "requests";
  const notes = isRequests ? requests.notes() : notesOf(profile, view.isTime || source.range ? page.chart : null, view, source);
  byId("notes").textContent = notes.join(" ");
  const options = isRequests && requests.remedy();
  const command = options ? commandFor(profile, options, requests.leftFiles) : isRequests ? "" : commandForAll(profile, profile.chart && page.chart, view);
  byId("remedy").hidden = !command;
  if (!command) return;
  const copy = button("copy", "Copy", "Copy the command", async () => {
    copy.textContent = (await copyText(command)) ? "Copied" : "Not copied: the browser refuses";
  });
  byId("remedy").replaceChildren("To see all of it: ", element("code", "", command), copy);
}

// The selected part of the waterfall, or the request, and where else to see that time.
function showRequestDetails(page) {
  const { view, requests } = page;
  const box = byId("details");
  const node = view.selected;
  fillLine(box, node >= 0 ? view.describe(node) : { name: requestTitle(requests.selected, requests.data), rows: requestRows(requests.selected) });
  const other = node >= 0 ? view.columns.other[node] : null;
  const open = [["Over time", "Show this time in the view over time (Enter)", () => page.showOverTime(view.timeOf(node))],
    ["Flame graph", "Show the calls of this time, of all requests, top-down", () => page.showOverTime(view.timeOf(node), "calls")]];
  if (other) open.unshift([`Show ${requestTitle(other, requests.data)}`, "", () => requests.choose(other.index)]);
  const group = element("span", "openers");
  group.append(...open.map(([text, title, act]) => button("open", text, title, act)));
  box.firstChild.after(group);
}

export function showDetails(page) {
  if (page.mode === "requests") {
    showRequestDetails(page);
    return;
  }
  const { view, look } = page;
  const box = byId("details");
  let func = -1;
  if (look.chosen >= 0) {
    func = look.chosen;
    fillLine(box, describeFunction(page, page.functions[func]));
  } else if (view.selected >= 0) {
    const about = describe(view.selected, view);
    if (view.name !== "lanes" && about.more.length && !about.moreTitle) func = about.func.id;
    fillLine(box, about.moreTitle ? { ...about, rows: [...about.rows, ...about.more] } : about);
  } else {
    const hint = view.isTime
      ? "Drag to zoom · W A S D to move · double-click to open · right-click for more · ? for all keys"
      : "Click a box to zoom · right-click for more · / to search · ? for all keys";
    box.replaceChildren(element("span", "hint", page.treeView.total > 0 || page.profile.before > 0 ? hint : page.source.isWhole ? "No time was recorded" : "No calls are left: a click on what is set above shows them again"));
  }
  if (func < 0 || !page.isFunction(func) || page.mode === "sandwich" || page.profile.onlyGraph) return;
  box.append(button("open", "Callers and callees", "Open the sandwich of this function (s)", () => page.openFunction(func)));
}

function describeFunction(page, f) {
  const rows = functionRows(f, page.treeView.total, page.look.before).slice(0, 5);  // a line has space for these
  if (page.view.selected < 0 && page.mode !== "sandwich") rows.push(["in this view", "too small to be shown"]);
  return { name: f.name, where: f.where, rows };
}

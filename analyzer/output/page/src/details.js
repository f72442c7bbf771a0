// SPDX-License-Identifier: MIT
// What is known of one node, as rows of label and value, for the tooltip and for the line below the
// graph. Text enters the page as text nodes only, here as everywhere.
import { trackTitle } from "./chart_view.js";
import { kindLabel } from "./colour.js";
import { changeRows, timesOf } from "./diff.js";
import { formatCount, formatShare, formatTime, words } from "./format.js";

export function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

export function button(className, text, title, action) {
  const made = element("button", className, text);
  made.type = "button";
  made.title = title;
  made.addEventListener("click", action);
  return made;
}

// { name, where, kind, func, rows: of this node, more: of its function or coroutine, moreTitle }
export function describe(node, view) {
  if (view.name === "waterfall") return view.describe(node);
  if (view.name === "chart") return describeSlice(node, view);
  if (view.name === "lanes") return describeStretch(node, view);
  return describeNode(node, view);
}

// view: { tree, functions, total: time of everything, zoom: the zoomed node, callers: bottom-up }
function describeNode(node, view) {
  const { tree, functions, total, zoom, callers } = view;
  const func = functions[tree.func[node]];
  const time = tree.total[node];
  const focus = view.focus >= 0;
  const named = focus || node > 0;
  const rows = [];
  // Bottom-up all numbers are those of the function that the path begins with.
  const leaf = callers && tree.depth[node] > (focus ? 0 : 1) ? ` of ${functions[tree.func[leafOf(tree, node, focus)]].name}` : "";
  if (named) rows.push([`${words.calls}${leaf}`, formatCount(tree.calls[node])]);
  rows.push([callers && !focus && node > 0 ? `self${leaf}` : `inclusive${leaf}`, formatTime(time)]);
  if (!callers) rows.push(["self", `${formatTime(tree.self[node])} (${formatShare(tree.self[node], time)} of inclusive)`]);
  if (named && (!callers || focus) && tree.calls[node] > 0 && words.calls === "calls") rows.push(["per call", formatTime(time / tree.calls[node])]);
  rows.push(["of all", formatShare(time, total)]);
  if (node > 0) rows.push([callers ? "of the parent box" : "of the caller", formatShare(time, tree.total[tree.parent[node]])]);
  if (zoom > 0) rows.push(["of the zoomed box", formatShare(time, tree.total[zoom])]);
  if (tree.diff) rows.push(...changeRows(timesOf(tree, node, view.before), !named));
  const kind = named ? kindLabel(func) : "";
  return { name: func.name, where: func.where, kind, func, rows, more: named ? functionRows(func, total, view.before) : [] };
}

function leafOf(tree, node, focus) {
  while (tree.depth[node] > (focus ? 0 : 1)) node = tree.parent[node];
  return node;
}

// The function in all its call paths. before: `total` and the figures are those before.
export function functionRows(func, total, before) {
  if (!func.calls && !func.inclusive && !func.before?.inclusive) return [];
  const sums = before ? func.before : func;
  const rows = [[words.calls, formatCount(sums.calls)]];
  for (const [label, time] of [["inclusive", sums.inclusive], ["self", sums.self]]) {
    rows.push([label, `${formatTime(time)} (${formatShare(time, total)})`]);
  }
  const { times, cpu, apportioned } = func;
  if (apportioned?.inclusive && !before) {
    rows.push(["of it apportioned in compiled code, self", `${formatTime(apportioned.inclusive)}, ${formatTime(apportioned.self)}`]);
  }
  if (cpu && !before) rows.push(["CPU time, self", `${formatTime(cpu.inclusive)}, ${formatTime(cpu.self)}`]);
  if (times?.wall > func.inclusive * 1.001) rows.push(["including suspended time", formatTime(times.wall)]);
  if (!times?.complete) return rows;
  rows.push(["average call", formatTime(times.average)]);
  if (times.min === null) return [...rows, ["shortest, longest", "not known: calls inside compiled segments"]];
  rows.push(["shortest, longest", `${formatTime(times.min)}, ${formatTime(times.max)}`]);
  if (times.p50 === undefined) return rows;
  rows.push(["median, p90", `${formatTime(times.p50)}, ${formatTime(times.p90)}`]);
  rows.push(["p99, p99.9", `${formatTime(times.p99)}, ${formatTime(times.p999)}`]);
  rows.push(["standard deviation", formatTime(times.deviation)]);
  return rows;
}

function describeSlice(node, view) {
  const { slices, tracks } = view.chart;
  const piece = node;
  node = view.sliceOf(piece);
  if (node < 0) return describeLife(view.nodes.track[piece], view);
  const func = view.functions[slices.func[node]];
  const length = slices.length[node];
  const rows = [["start", formatTime(slices.begin[node] + view.offset)], ["duration", formatTime(length)]];
  const request = view.requestOf?.(piece);
  if (request) rows.unshift(["request", request]);
  const isShort = func.kind === "short";
  if (isShort) rows.unshift(["calls", formatCount(slices.calls[node])], ["self, all calls", formatTime(slices.self[node])]);
  const other = slices.other[node];
  if (other >= 0) rows.unshift(["for", trackTitle(tracks[other], view.functions)]);
  const isCall = func.calls > 0 || !["short", "waits", "suspended", "filtered"].includes(func.kind);
  if (isCall) rows.push(["running", formatTime(slices.running[node])], ["self", `${formatTime(slices.self[node])} (${formatShare(slices.self[node], length)} of duration)`]);
  const suspended = length - slices.running[node];
  if ((isCall || isShort) && suspended > 0) rows.push(["suspended", formatTime(suspended)]);
  if (isCall && slices.calls[node]) rows.push(["short calls inside, not drawn", formatCount(slices.calls[node])]);
  if (view.nodes.total[piece] < length) rows.push(["this part", formatTime(view.nodes.total[piece])]);
  rows.push(["in", trackTitle(tracks[slices.track[node]], view.functions)]);
  return { name: func.name, where: func.where, kind: kindLabel(func), func, rows, more: isCall ? functionRows(func, view.whole, false) : [] };
}

function describeStretch(node, view) {
  const { stretches, functions } = view;
  const { tracks } = view.chart;
  const track = tracks[stretches.track[node]];
  const state = functions[stretches.func[node]];
  const other = stretches.other[node];
  const rows = [["state", state.name], ["start", formatTime(stretches.begin[node] + view.offset)], ["duration", formatTime(stretches.total[node])]];
  if (other >= 0) rows.push(["for", trackTitle(tracks[other], functions)]);
  const more = trackRows(track, view);
  return { name: trackTitle(track, functions), where: track.thread, kind: "", func: state, rows, more, moreTitle: "the coroutine" };
}

// A coroutine as a whole.
function describeLife(id, view) {
  const track = view.chart.tracks[id];
  return { name: trackTitle(track, view.functions), where: track.thread, kind: "", func: null, rows: trackRows(track, view), more: [], moreTitle: "the coroutine" };
}

function trackRows(track, view) {
  const { tracks } = view.chart;
  const more = [["lifetime", `${formatTime(track.life)} from ${formatTime(track.begin + view.offset)}`]];
  for (const [label, time] of [["ran", track.running], ["waited", track.waiting], ["suspended", track.suspended]]) {
    more.push([label, `${formatTime(time)} (${formatShare(time, track.life)})`]);
  }
  more.push(["resumed", `${formatCount(track.resumes)} ${track.resumes === 1 ? "time" : "times"}`]);
  if (track.resumer >= 0) more.push(["resumer", trackTitle(tracks[track.resumer], view.functions)]);
  return more;
}

function rowsTable(rows) {
  const table = element("dl");
  for (const [label, value] of rows) table.append(element("dt", "", label), element("dd", "", value));
  return table;
}

export function fillTooltip(box, about, colour) {
  const head = element("div", "name");
  head.append(element("i", "dot"), element("b", "", about.name));
  head.firstChild.style.background = colour;
  const hint = about.func?.hint ? "name taken from a call" : "";
  const place = element("div", "where", [about.where, about.kind, hint].filter(Boolean).join(" · "));
  box.replaceChildren(head, place, rowsTable(about.rows));
  if (!about.more?.length) return;
  const more = rowsTable(about.more);
  more.className = "more";
  box.append(element("div", "heading", about.moreTitle ?? "the function in all its call paths"), more);
}

export function fillLine(box, about) {
  const parts = [element("b", "", about.name)];
  if (about.where) parts.push(element("span", "where", about.where));
  for (const [label, value] of about.rows) {
    const part = element("span", "fact", `${label} `);
    part.append(element("strong", "", value));
    parts.push(part);
  }
  box.replaceChildren(...parts);
}

// Places it beside the pointer, on the side that has space.
export function placeTooltip(box, x, y) {
  const { width, height } = box.getBoundingClientRect();
  const left = x + 14 + width > window.innerWidth ? x - 14 - width : x + 14;
  const top = y + 18 + height > window.innerHeight ? y - 10 - height : y + 18;
  box.style.left = `${Math.max(4, left)}px`;
  box.style.top = `${Math.max(4, Math.min(top, window.innerHeight - height - 4))}px`;
}

// SPDX-License-Identifier: MIT
// What is known of one node, as rows of label and value: shown in the tooltip and in the line under
// the graph. Text enters the page as text nodes only, here as everywhere.
import { formatCount, formatShare, formatTime } from "./format.js";
import { kindLabel } from "./colour.js";

export function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

// view: { tree, functions, total: time of everything, zoom: the zoomed node, callers: bottom-up }
export function describe(node, view) {
  const { tree, functions, total, zoom, callers } = view;
  const func = functions[tree.func[node]];
  const time = tree.total[node];
  const rows = [];
  // Bottom-up all numbers are those of the function that the way began at.
  const leaf = callers && tree.depth[node] > 1 ? ` of ${functions[tree.func[leafOf(tree, node)]].name}` : "";
  if (node > 0) rows.push([`calls${leaf}`, formatCount(tree.calls[node])]);
  rows.push([callers && node > 0 ? `self${leaf}` : "inclusive", formatTime(time)]);
  if (!callers) rows.push(["self", `${formatTime(tree.self[node])} (${formatShare(tree.self[node], time)} of it)`]);
  if (!callers && node > 0 && tree.calls[node] > 0) rows.push(["per call", formatTime(time / tree.calls[node])]);
  rows.push(["of all", formatShare(time, total)]);
  if (zoom > 0) rows.push(["of zoomed", formatShare(time, tree.total[zoom])]);
  return { name: func.name, where: func.where, kind: node > 0 ? kindLabel(func) : "", func, rows };
}

function leafOf(tree, node) {
  while (tree.depth[node] > 1) node = tree.parent[node];
  return node;
}

export function fillTooltip(box, about, colour) {
  const head = element("div", "name");
  head.append(element("i", "dot"), element("b", "", about.name));
  head.firstChild.style.background = colour;
  const place = element("div", "where", [about.where, about.kind].filter(Boolean).join(" · "));
  const table = element("dl");
  for (const [label, value] of about.rows) table.append(element("dt", "", label), element("dd", "", value));
  box.replaceChildren(head, place, table);
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

// Beside the pointer, on the side where there is room.
export function placeTooltip(box, x, y) {
  const { width, height } = box.getBoundingClientRect();
  const left = x + 14 + width > window.innerWidth ? x - 14 - width : x + 14;
  const top = y + 18 + height > window.innerHeight ? y - 10 - height : y + 18;
  box.style.left = `${Math.max(4, left)}px`;
  box.style.top = `${Math.max(4, top)}px`;
}

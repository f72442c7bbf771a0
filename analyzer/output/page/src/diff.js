// SPDX-License-Identifier: MIT
// Comparison of the figures now and before. Widths show one of them at a time; if they show those
// before (look.before), the columns of the tree are swapped, so that no other code differs.
import { changeColour } from "./colour.js";
import { formatChange, formatCount, formatDelta, formatTime } from "./format.js";

// { time, calls, self } of a node now and before.
export function timesOf(tree, node, before) {
  const shown = { time: tree.total[node], calls: tree.calls[node], self: tree.self[node] };
  const other = { time: tree.wasTotal[node], calls: tree.wasCalls[node], self: tree.wasSelf[node] };
  return before ? { now: other, was: shown } : { now: shown, was: other };
}

// node -> CSS colour.
export function changePalette(tree, whole, before, dark) {
  return (node) => {
    const { now, was } = timesOf(tree, node, before);
    return changeColour(now.time, was.time, whole, dark);
  };
}

// Rows for the tooltip.
export function changeRows({ now, was }, isRoot) {
  const rows = [["before", formatTime(was.time)], ["change", `${formatDelta(now.time - was.time)} (${formatChange(now.time, was.time)})`]];
  if (!isRoot) rows.push(["calls before", `${formatCount(was.calls)} (${formatChange(now.calls, was.calls)})`]);
  return rows;
}

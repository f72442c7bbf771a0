// SPDX-License-Identifier: MIT
// The call tree of a range of time, from the threads' lanes (runs.js). A call that is partly in the range
// counts with the part in it; it is counted as a call if it begins in the range.
//
// Exact if every call is in the chart. Calls that are not drawn individually are a node [short calls] of
// their caller; at the edges of the range their time is in proportion to the length.
import { codes } from "./chart_data.js";
import { TreeBuilder } from "./tree_builder.js";

export function treeOfRange(chart, functions, rootFunc, from, to) {
  const { slices, pieces, pseudo } = chart;
  const builder = new TreeBuilder(rootFunc, functions.length, false);
  const inRange = ownTimes(chart, from, to);
  const { whole, gaps } = (chart.wholeTimes ??= wholeTimes(chart));
  const nodeOf = new Int32Array(pieces.size);
  for (let piece = 0; piece < pieces.size; piece++) {
    const at = pieces.slice[piece];
    const begin = pieces.begin[piece];
    if (begin > to || begin + pieces.length[piece] < from) continue;
    const caller = pieces.parent[piece] < 0 ? 0 : nodeOf[pieces.parent[piece]];
    const func = slices.func[at];
    if (func === pseudo[codes.waits] || func === pseudo[codes.filtered]) {
      nodeOf[piece] = chart.linked || func === pseudo[codes.filtered] ? caller : 0;
      continue;
    }
    const node = (nodeOf[piece] = builder.child(caller, func));
    const part = whole[at] > 0 ? inRange[piece] / whole[at] : partOf(pieces, piece, from, to);
    builder.add(node, "self", slices.self[at] * part);
    const begins = begin === slices.begin[at] && begin >= from;
    if (func === pseudo[codes.short]) {
      builder.add(node, "calls", begins ? slices.calls[at] : 0);
      continue;
    }
    builder.add(node, "calls", begins ? 1 : 0);
    const hidden = slices.calls[at] ? Math.max(0, whole[at] + gaps[at] - slices.self[at]) * part : 0;
    if (!(hidden > 0)) continue;
    const short = builder.child(node, pseudo[codes.short]);
    builder.add(short, "self", hidden);
    builder.add(short, "calls", begins ? slices.calls[at] : 0);
  }
  return builder.finish();
}

// By slice: whole: its time without the slices in it; gaps: time in its blocks of short calls that is its own.
function wholeTimes(chart) {
  const { slices, pieces, pseudo } = chart;
  const own = ownTimes(chart, -Infinity, Infinity);
  const whole = new Float64Array(slices.size);
  const gaps = new Float64Array(slices.size);
  for (let piece = 0; piece < pieces.size; piece++) whole[pieces.slice[piece]] += own[piece];
  for (let at = 0; at < slices.size; at++) {
    if (slices.func[at] === pseudo[codes.short] && slices.parent[at] >= 0) gaps[slices.parent[at]] += Math.max(0, slices.running[at] - slices.self[at]);
  }
  return { whole, gaps };
}

// The time of each piece in the range, without the pieces in it.
function ownTimes({ pieces }, from, to) {
  const own = new Float64Array(pieces.size);
  for (let piece = 0; piece < pieces.size; piece++) {
    const begin = pieces.begin[piece];
    const time = Math.min(to, begin + pieces.length[piece]) - Math.max(from, begin);
    if (!(time > 0)) continue;
    own[piece] += time;
    if (pieces.parent[piece] >= 0) own[pieces.parent[piece]] -= time;
  }
  return own;
}

function partOf(pieces, piece, from, to) {
  const begin = pieces.begin[piece];
  const length = pieces.length[piece];
  return length > 0 ? Math.max(0, Math.min(to, begin + length) - Math.max(from, begin)) / length : 1;
}

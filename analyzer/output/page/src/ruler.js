// SPDX-License-Identifier: MIT
// What the views over time show around their slices: the axis above, the headings of tracks, the
// names of coroutines and the arrows between them.
import { formatMark, formatTime } from "./format.js";
import { rowHeight } from "./paint.js";

const rulerHeight = 20;
const maxArrows = 300;

// The distance of marks: 1, 2 or 5 times a power of ten ns, and on the screen not below minDistance
// pixels.
export function markStep(span, width, minDistance = 90) {
  const raw = (span * minDistance) / Math.max(width, 1);
  const power = 10 ** Math.floor(Math.log10(Math.max(raw, 1)));
  return [1, 2, 5, 10].map((n) => n * power).find((step) => step >= raw) ?? power * 10;
}

// The times in a range that are multiples of the step when the offset is added.
function marksIn(x, span, step, offset) {
  const first = Math.ceil((x + offset) / step);
  const last = Math.floor((x + span + offset) / step);
  return Array.from({ length: last - first + 1 }, (_, i) => (first + i) * step - offset);
}

export class Ruler {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
  }

  paint(view, painter, ink) {
    const ratio = window.devicePixelRatio || 1;
    const { width } = painter;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(rulerHeight * ratio);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${rulerHeight}px`;
    const c = this.context;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, width, rulerHeight);
    this.paintMarks(painter, ink, view.offset);
  }

  paintMarks(painter, ink, offset, top = 0) {
    const { scene, width } = painter;
    const { x, span, gutter } = scene;
    const step = markStep(span, width - gutter);
    const c = this.context;
    c.font = "11px system-ui, -apple-system, sans-serif";
    c.textBaseline = "middle";
    for (const time of marksIn(x, span, step, offset)) {
      const px = Math.round(painter.xOf(time)) + 0.5;
      c.fillStyle = ink.grid;
      c.fillRect(px - 0.5, top + 2, 1, rulerHeight - 2);
      const text = formatMark(time + offset, step, x + span + offset);
      if (px + 4 + c.measureText(text).width > width) continue;
      c.fillStyle = ink.soft;
      c.fillText(text, px + 4, top + 10);
    }
  }
}

// Lines at the marks of the axis, behind the boxes.
function paintGrid(painter, { ink, x, span, gutter }, offset) {
  const step = markStep(span, painter.width - gutter);
  const c = painter.context;
  c.fillStyle = ink.grid;
  for (const time of marksIn(x, span, step, offset)) {
    c.fillRect(Math.round(painter.xOf(time)), 0, 1, painter.height);
  }
}

// The headings in the rows of the chart.
export function paintHeadings(view, painter, from, to) {
  const { scene, width } = painter;
  const { ink } = scene;
  paintGrid(painter, scene, view.offset);
  const c = painter.context;
  for (let row = from; row <= to; row++) {
    const heading = view.headingOf(row);
    if (!heading) continue;
    const y = painter.yOf(row);
    c.fillStyle = heading.thread ? ink.thread : ink.heading;
    c.fillRect(0, y, width, rowHeight - 1);
    const end = painter.write(heading.text, heading.thread ? 6 : 10, row, width - 20, heading.thread ? ink.soft : ink.text, !heading.thread);
    if (heading.facts) painter.write(heading.facts, end + 14, row, width - end - 20, ink.soft, false);
  }
}

// The names of coroutines beside their rows.
export function paintLabels(view, painter, from, to) {
  const { scene } = painter;
  const { ink, gutter, selected, hovered } = scene;
  paintGrid(painter, scene, view.offset);
  const c = painter.context;
  const lit = new Set([selected, hovered].filter((node) => node >= 0).map((node) => view.tree.depth[node]));
  for (let row = from; row <= to; row++) {
    if (lit.has(row)) {
      c.fillStyle = ink.heading;
      c.fillRect(0, painter.yOf(row), painter.width, rowHeight - 1);
    }
    painter.write(view.labelOf(row), 6, row, gutter - 14, lit.has(row) ? ink.text : ink.soft, false);
  }
}

// Arrows from resumers to the coroutines that they resumed: all up to maxArrows, else only those of
// the coroutine under the pointer or selected.
export function paintArrows(view, painter) {
  const { selected, hovered, ink } = painter.scene;
  const node = hovered >= 0 ? hovered : selected;
  const own = node >= 0 ? view.trackOf(node) : -1;
  const few = view.resumptionsShown(maxArrows);
  const list = few ?? (own < 0 ? [] : view.resumptionsShown(maxArrows * 4, own));
  const last = new Map();  // by pair: x of the last arrow; arrows too near to it are left out
  for (const { time, from, to } of list) {
    const px = Math.round(painter.xOf(time)) + 0.5;
    const pair = `${from} ${to}`;
    if (px < painter.scene.gutter || px < (last.get(pair) ?? -Infinity) + 7) continue;
    last.set(pair, px);
    const rows = [from, to].map((track) => painter.yOf(view.rowOfTrack[track]) + rowHeight / 2);
    paintArrow(painter.context, px, ...rows, from === own || to === own ? ink.select : ink.arrow);
  }
}

function paintArrow(c, px, a, b, colour) {
  c.strokeStyle = c.fillStyle = colour;
  c.lineWidth = 1;
  c.beginPath();
  c.moveTo(px, a);
  c.lineTo(px, b);
  c.stroke();
  const side = b > a ? -5 : 5;
  c.beginPath();
  c.moveTo(px, b);
  c.lineTo(px - 3, b + side);
  c.lineTo(px + 3, b + side);
  c.fill();
}

export function rangeText({ range, end, offset }) {
  const { x, span } = range;
  const part = `${formatTime(x + offset)} to ${formatTime(x + offset + span)}`;
  if (span >= end) return offset ? `${part}: all ${formatTime(end)}` : `all ${formatTime(end)}`;
  return `${part}: ${formatTime(span)} of ${formatTime(end)}`;
}

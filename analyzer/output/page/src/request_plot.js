// SPDX-License-Identifier: MIT
// The plot of requests: a dot for each, to the right by its start, up by its wall time (logarithmic). A
// drag chooses a part of both; what does not match it, or the search, is pale.
import { fillTooltip, placeTooltip } from "./details.js";
import { formatMark, formatTime } from "./format.js";
import { font } from "./paint.js";
import { markStep } from "./ruler.js";

const edge = { left: 66, bottom: 20, top: 22, right: 10 };
const radius = 3.5;
const maxOutlined = 2000;  // more dots have no outlines
const reach = 12;  // pixels from the pointer to a dot

export class RequestPlot {
  // owner: { data, selected, marks, colourOf(request), offset, range, look, describe(request) } and what the
  // user does: choose(index), pick({ x, span, low, high }), enter().
  constructor(box, owner) {
    Object.assign(this, { box, owner, hovered: null, band: null });
    this.canvas = box.querySelector("canvas");
    this.context = this.canvas.getContext("2d");
    this.tooltip = document.getElementById("tooltip");
    this.canvas.addEventListener("pointermove", (event) => this.hover(event));
    this.canvas.addEventListener("pointerleave", () => this.leave());
    this.canvas.addEventListener("pointerdown", (event) => this.press(event));
    box.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.paint()).observe(box);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const act = { ArrowLeft: () => this.step("begin", -1), ArrowRight: () => this.step("begin", 1), ArrowUp: () => this.step("wall", 1), ArrowDown: () => this.step("wall", -1), Enter: () => this.owner.enter() };
    if (!Object.hasOwn(act, event.key)) return;
    act[event.key]();
    event.preventDefault();
    event.stopPropagation();
  }

  // To the next request by start or by wall time, of those that match.
  step(key, direction) {
    const { data, marks, selected } = this.owner;
    const order = (a, b) => (a[key] - b[key] || a.index - b.index) * direction;
    let next = null;
    for (const request of data.list) {
      if (!marks[request.index] || order(request, selected) <= 0) continue;
      if (!next || order(request, next) < 0) next = request;
    }
    if (next) this.owner.choose(next.index);
  }

  // The axes: time from `x`, powers of ten from `low` to `high`.
  scales() {
    const { data, range } = this.owner;
    let [first, last, low, high] = [Infinity, 0, Infinity, 1];
    for (const { begin, wall } of data.list) {
      first = Math.min(first, begin);
      last = Math.max(last, begin);
      low = Math.min(low, Math.max(wall, 1));
      high = Math.max(high, wall);
    }
    const [x, span] = range ? [range.x, range.span] : [first, Math.max(last - first, 1) * 1.01];
    const from = Math.floor(Math.log10(low));
    return { x, span, from, to: Math.max(from + 1, Math.ceil(Math.log10(high) + 0.02)) };
  }

  get width() {
    return this.box.clientWidth - edge.left - edge.right;
  }

  get height() {
    return this.box.clientHeight - edge.top - edge.bottom;
  }

  xOf(time) {
    return edge.left + ((time - this.axes.x) / this.axes.span) * this.width;
  }

  yOf(wall) {
    const { from, to } = this.axes;
    return edge.top + (1 - (Math.log10(Math.max(wall, 1)) - from) / (to - from)) * this.height;
  }

  timeAt(px) {
    return this.axes.x + ((px - edge.left) / this.width) * this.axes.span;
  }

  wallAt(py) {
    const { from, to } = this.axes;
    return 10 ** (from + (1 - (py - edge.top) / this.height) * (to - from));
  }

  paint() {
    const { box, context: c, owner } = this;
    if (box.hidden || !box.clientWidth) return;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(box.clientWidth * ratio);
    this.canvas.height = Math.round(box.clientHeight * ratio);
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, box.clientWidth, box.clientHeight);
    this.axes = this.scales();
    this.paintAxes(owner.look.ink);
    this.paintDots();
    if (this.band) this.paintBand(owner.look.ink);
  }

  paintAxes(ink) {
    const { context: c, axes } = this;
    c.font = font.replace("12px", "11px");
    c.textBaseline = "middle";
    for (let power = axes.from; power <= axes.to; power++) {
      const y = Math.round(this.yOf(10 ** power));
      c.fillStyle = ink.grid;
      c.fillRect(edge.left, y, this.width, 1);
      c.fillStyle = ink.soft;
      const text = formatTime(10 ** power).replace(/\.0+(?= )/, "");
      c.fillText(text, edge.left - 8 - c.measureText(text).width, y);
    }
    c.fillText("wall time, by start", edge.left + 6, edge.top - 12);  // above all dots
    const { offset } = this.owner;
    const step = markStep(axes.span, this.width);
    for (let time = Math.ceil((axes.x + offset) / step) * step; time <= axes.x + axes.span + offset; time += step) {
      const x = Math.round(this.xOf(time - offset));
      c.fillStyle = ink.grid;
      c.fillRect(x, edge.top, 1, this.height + 4);
      const text = formatMark(time, step, axes.x + axes.span + offset);
      c.fillStyle = ink.soft;
      if (x + 4 + c.measureText(text).width < this.box.clientWidth) c.fillText(text, x + 4, edge.top + this.height + edge.bottom / 2 + 1);
    }
  }

  // Those that match are drawn last, the slowest on top.
  paintDots() {
    const { context: c, owner } = this;
    const { data, marks, selected } = owner;
    c.save();
    c.beginPath();
    c.rect(edge.left - radius, 0, this.width + 2 * radius, edge.top + this.height + radius);
    c.clip();
    c.lineWidth = 1;
    c.strokeStyle = owner.look.ink.hover;
    const outlined = data.list.length <= maxOutlined;
    for (const shown of [0, 1]) {
      c.globalAlpha = shown ? 0.85 : 0.15;
      for (const request of data.list) {
        if (marks[request.index] !== shown) continue;
        c.fillStyle = owner.colourOf(request);
        const square = [this.xOf(request.begin) - radius, this.yOf(request.wall) - radius, 2 * radius, 2 * radius];
        c.fillRect(...square);
        if (outlined) c.strokeRect(...square);
      }
    }
    c.globalAlpha = 1;
    c.restore();
    for (const request of [this.hovered, selected]) if (request) this.paintRing(request, request === selected);
  }

  paintRing({ begin, wall }, strong) {
    const { ink } = this.owner.look;
    const c = this.context;
    const x = this.xOf(begin);
    if (x < edge.left - radius || x > edge.left + this.width + radius) return;
    c.strokeStyle = strong ? ink.select : ink.hover;
    c.lineWidth = strong ? 2 : 1;
    c.beginPath();
    c.arc(x, this.yOf(wall), radius + 4, 0, 2 * Math.PI);
    c.stroke();
  }

  paintBand(ink) {
    const [x1, y1, x2, y2] = this.band;
    this.context.fillStyle = ink.band;
    this.context.fillRect(Math.min(x1, x2), Math.min(y1, y2), Math.abs(x2 - x1), Math.abs(y2 - y1));
  }

  // The nearest dot that matches, or null.
  hit(px, py) {
    let [best, nearest] = [null, reach * reach];
    for (const request of this.owner.data.list) {
      if (!this.owner.marks[request.index]) continue;
      const distance = (this.xOf(request.begin) - px) ** 2 + (this.yOf(request.wall) - py) ** 2;
      if (distance <= nearest) [best, nearest] = [request, distance];
    }
    return best;
  }

  hover(event) {
    if (this.band || !this.axes) return;
    const request = this.hit(event.offsetX, event.offsetY);
    if (!request) return this.leave();
    if (request !== this.hovered) {
      this.hovered = request;
      fillTooltip(this.tooltip, this.owner.describe(request), this.owner.colourOf(request));
      this.tooltip.hidden = false;
      this.canvas.style.cursor = "pointer";
      this.paint();
    }
    placeTooltip(this.tooltip, event.clientX, event.clientY);
  }

  leave() {
    if (!this.hovered) return;
    this.hovered = null;
    this.tooltip.hidden = true;
    this.canvas.style.cursor = "";
    this.paint();
  }

  // A drag chooses a part, a click the nearest request.
  press(event) {
    if (event.button !== 0) return;
    const { canvas, box } = this;
    const from = [event.offsetX, event.offsetY];
    const move = ({ offsetX, offsetY }) => {
      if (!this.band && Math.hypot(offsetX - from[0], offsetY - from[1]) < 5) return;
      this.leave();
      const within = (value, low, high) => Math.min(high, Math.max(low, value));
      this.band = [...from, within(offsetX, edge.left, box.clientWidth - edge.right), within(offsetY, edge.top, edge.top + this.height)];
      this.paint();
    };
    const end = () => {
      canvas.removeEventListener("pointermove", move);
      const { band } = this;
      this.band = null;
      if (band) this.pick(band);
      else if (this.hit(...from)) this.owner.choose(this.hit(...from).index);
    };
    canvas.setPointerCapture(event.pointerId);
    canvas.addEventListener("pointermove", move);
    canvas.addEventListener("lostpointercapture", end, { once: true });
  }

  pick([x1, y1, x2, y2]) {
    const [begin, end] = [x1, x2].map((px) => this.timeAt(px)).sort((a, b) => a - b);
    const [low, high] = [y1, y2].map((py) => this.wallAt(py)).sort((a, b) => a - b);
    const x = Math.max(0, Math.floor(begin));  // of what begins before the chart, too
    this.owner.pick({ x, span: Math.max(0, Math.ceil(end) - x), low: Math.floor(low), high: Math.ceil(high) });
  }
}

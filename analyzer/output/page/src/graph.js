// SPDX-License-Identifier: MIT
// A graph on the screen: scrolling, the pointer, the tooltip and the animation from one zoom to the
// next. Paints up to once per frame.
import { describe, fillTooltip, placeTooltip } from "./details.js";
import { changePalette } from "./diff.js";
import { Painter, rowHeight } from "./paint.js";
import { Minimap } from "./minimap.js";
import { paintArrows, paintHeadings, paintLabels, Ruler } from "./ruler.js";

const glideTime = 170;  // ms from one zoom to the next

export class Graph {
  // box: the element that scrolls, with .sizer and a canvas in it. look: { colour(func), ink, dark,
  // marks, chosen, before }, changed by the page. on: callbacks for the user's actions: pick(node),
  // open(node), range(x, span, quiet), toggle(key) of a heading, menu(node, x, y), use().
  constructor(box, view, look, on) {
    this.view = view;
    this.look = look;
    this.on = on;
    this.flip = false;
    this.hovered = -1;
    this.box = box;
    this.sizer = box.querySelector(".sizer");
    this.tooltip = document.getElementById("tooltip");
    this.painter = new Painter(box.querySelector("canvas"));
    this.ruler = new Ruler(document.getElementById("ruler"));
    this.minimap = new Minimap(document.getElementById("minimap"), (x, span) => this.on.range(x, span, true));
    this.range = view.range;
    this.listen();
  }

  listen() {
    const { canvas } = this.painter;
    this.box.addEventListener("scroll", () => this.draw(), { passive: true });
    this.box.addEventListener("focus", () => this.on.use());
    this.box.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("pointermove", (event) => this.hover(event));
    canvas.addEventListener("pointerleave", () => this.leave());
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("click", (event) => this.click(event));
    canvas.addEventListener("dblclick", (event) => {
      const node = this.painter.hit(event.offsetX, event.offsetY);
      if (node >= 0) this.on.open(node);
    });
    this.box.addEventListener("contextmenu", (event) => this.openMenu(event));
    new ResizeObserver(() => this.fit()).observe(this.box);
  }

  // By the right button at the node under the pointer, by the keyboard at the selected one.
  openMenu(event) {
    const byPointer = event.target === this.painter.canvas;
    const node = byPointer ? this.painter.hit(event.offsetX, event.offsetY) : this.view.selected;
    if (node < 0) return;
    event.preventDefault();
    this.on.use();
    this.leave();
    const { left, top } = this.clientRect(node);
    this.on.menu(node, byPointer ? event.clientX : left, byPointer ? event.clientY : top + rowHeight);
  }

  click(event) {
    if (this.dragged) return;
    this.on.use();
    const node = this.painter.hit(event.offsetX, event.offsetY);
    if (node >= 0) {
      this.leave();
      this.on.pick(node);
    } else if (this.view.headingOf) {
      const heading = this.view.headingOf(this.painter.rowAt(event.offsetY));
      if (heading?.key) this.on.toggle(heading.key);
    }
  }

  // Over time, dragging chooses a range.
  press(event) {
    this.dragged = false;
    if (!this.view.isTime || event.button !== 0) return;
    const { painter } = this;
    const from = event.offsetX;
    if (from < this.gutter) return;
    const { canvas } = painter;
    const move = (moved) => {
      const to = Math.min(painter.width, Math.max(this.gutter, moved.offsetX));
      if (!this.dragged && Math.abs(to - from) < 4) return;
      this.dragged = true;
      this.leave();
      this.band = [Math.min(from, to), Math.max(from, to)];
      this.draw();
    };
    canvas.setPointerCapture(event.pointerId);
    canvas.addEventListener("pointermove", move);
    canvas.addEventListener("lostpointercapture", () => {
      canvas.removeEventListener("pointermove", move);
      const { band } = this;
      this.band = null;
      if (!band) return;
      const [begin, end] = band.map((px) => painter.timeAt(px));
      this.on.range(begin, end - begin);
    }, { once: true });
  }

  // Over time: with Ctrl (or a pinch) the wheel zooms at the pointer; with Shift, or sideways, it
  // moves the range.
  wheel(event) {
    if (!this.view.isTime) return;
    const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
    if (!event.ctrlKey && !sideways) return;
    event.preventDefault();
    if (event.ctrlKey) this.view.scale(Math.exp(event.deltaY / 300), this.painter.timeAt(Math.max(this.gutter, event.offsetX)));
    else this.view.pan(sideways / Math.max(this.painter.width, 1));
    const { x, span } = this.view.range;
    this.on.range(x, span, true);
  }

  get gutter() {
    return this.view.labelOf ? Math.min(250, Math.max(120, this.painter.width * 0.2)) : 0;
  }

  // Shows another view.
  setView(view) {
    this.leave();
    this.view = view;
    this.range = view.range;
    this.glide = null;
  }

  // Fits the canvas and the scrolled height to the size of the box and the number of rows.
  fit() {
    const rows = this.view.rowsShown();
    const fromBottom = this.content - this.box.scrollTop - this.height;
    this.height = this.box.clientHeight;
    this.rowsHeight = rows * rowHeight;
    this.content = Math.max(this.rowsHeight, this.height);
    this.sizer.style.height = `${this.content}px`;
    const width = this.box.clientWidth;
    if (width !== this.painter.width || this.height !== this.painter.height) this.painter.resize(width, this.height);
    if (this.flip && fromBottom > -2) this.box.scrollTop = this.content - Math.max(0, fromBottom) - this.height;
    this.paint();
  }

  // Shows the view as it is now; glide: with an animation from the range shown.
  update(glide) {
    this.leave();
    this.fit();
    if (!this.view.isTime) this.reveal(this.view.zoom, 2);
    const to = this.view.range;
    if (!glide || window.matchMedia("(prefers-reduced-motion: reduce)").matches) {
      this.range = to;
      this.glide = null;
    } else {
      this.glide = { from: this.range, to, begin: performance.now() };
    }
    this.draw();
  }

  // Puts the root at the bottom or at the top and scrolls to it.
  setFlip(flip) {
    this.flip = flip;
    this.fit();
    this.box.scrollTop = flip ? this.content : 0;
    this.draw();
  }

  // Scrolls so that the node and `spare` rows before it are in the window.
  reveal(node, spare) {
    if (node < 0 || !this.view.tree.size) return;
    this.revealRow(this.view.tree.depth[node], spare);
  }

  revealRow(depth, spare) {
    const top = this.flip ? this.content - (depth + 1) * rowHeight : depth * rowHeight;
    const low = this.box.scrollTop;
    if (top >= low && top + rowHeight <= low + this.height) return;
    const back = spare * rowHeight;
    this.box.scrollTop = this.flip ? top + rowHeight + back - this.height : top - back;
  }

  draw() {
    if (this.frame) return;
    this.frame = requestAnimationFrame((now) => {
      this.frame = 0;
      this.step(now);
      this.paint();
      if (this.glide) this.draw();
    });
  }

  step(now) {
    if (!this.glide) return;
    const { from, to, begin } = this.glide;
    const part = Math.min(1, Math.max(0, (now - begin) / glideTime));
    const eased = 1 - (1 - part) ** 3;
    this.range = {
      x: from.x + (to.x - from.x) * eased,
      span: from.span + (to.span - from.span) * eased,
    };
    if (part === 1) {
      this.range = to;
      this.glide = null;
    }
  }

  // A function: node -> CSS colour.
  get colourOf() {
    const { view, look } = this;
    if (view.tree.diff) return changePalette(view.tree, view.total, look.before, look.dark);
    const { func } = view.tree;
    if (look.ofCall && view.name === "chart") return (node) => look.ofCall(node, view) || look.colour(func[node]);
    return (node) => look.colour(func[node]);
  }

  // Of all rows, in pixels.
  contentHeight() {
    return this.rowsHeight;
  }

  // What the painter draws.
  scene() {
    const { view, look } = this;
    return {
      ink: look.ink,
      isMarked: look.marks && ((node) => view.isMarked(node, look)),
      keepsColour: view.name === "lanes",
      chosen: view.focus >= 0 ? -1 : look.chosen,
      colourOf: this.colourOf,
      ...this.range,
      layout: view.layout,
      functions: view.functions,
      zoomDepth: view.zoomDepth,
      gutter: this.gutter,
      near: view.isTime,
      flip: this.flip,
      scroll: this.box.scrollTop,
      content: this.content,
      selected: view.selected,
      hovered: this.hovered,
      hasMore: (node) => view.hasMore(node),
      labelFor: view.labelFor && ((node) => view.labelFor(node)),
      ...this.decoration(),
    };
  }

  paint() {
    const { view, look, painter } = this;
    if (this.box.hidden) return;
    painter.paint(this.scene());
    if (view.isTime) this.ruler.paint(view, painter, look.ink);
    if (view.isTime && view.name !== "waterfall") this.minimap.paint(view, painter, look.ink);
    if (this.band) this.paintBand();
  }

  decoration() {
    const { view } = this;
    if (view.headingOf) return { decorate: (painter, from, to) => paintHeadings(view, painter, from, to) };
    if (view.labelOf) {
      return {
        decorate: (painter, from, to) => paintLabels(view, painter, from, to),
        decorateAfter: (painter) => view.resumptionsShown && paintArrows(view, painter),
      };
    }
    return {};
  }

  paintBand() {
    const [from, to] = this.band;
    const c = this.painter.context;
    c.fillStyle = this.look.ink.band;
    c.fillRect(from, 0, to - from, this.height);
  }

  hover(event) {
    const node = this.painter.hit(event.offsetX, event.offsetY);
    if (node < 0 || this.band) {
      this.leave();
      if (this.view.headingOf?.(this.painter.rowAt(event.offsetY))?.key) this.painter.canvas.style.cursor = "pointer";
      return;
    }
    const { view, tooltip } = this;
    if (node !== this.hovered) {
      this.hovered = node;
      fillTooltip(tooltip, describe(node, view), this.colourOf(node));
      tooltip.hidden = false;
      this.painter.canvas.style.cursor = "pointer";
      this.draw();
    }
    placeTooltip(tooltip, event.clientX, event.clientY);
  }

  leave() {
    if (this.hovered >= 0) this.draw();
    this.hovered = -1;
    this.tooltip.hidden = true;
    this.painter.canvas.style.cursor = "default";
  }

  // The rectangle of a node in the window, in CSS pixels.
  clientRect(node) {
    const rect = this.painter.rectOf(node);
    const { left, top } = this.painter.canvas.getBoundingClientRect();
    return { left: left + rect.left, top: top + rect.top, width: rect.width, height: rect.height };
  }
}

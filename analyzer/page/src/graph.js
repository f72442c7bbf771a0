// SPDX-License-Identifier: MIT
// The graph on the screen: scrolling, the pointer, the tooltip and the way from one zoom to the
// next. Paints at most once per frame.
import { describe, fillTooltip, placeTooltip } from "./details.js";
import { rowsIn } from "./layout.js";
import { Painter, rowHeight } from "./paint.js";

const glideTime = 170;  // ms from one zoom to the next

export class Graph {
  // look: { colour(func), ink, marks, chosen }, changed by the page; onPick(node): it was clicked.
  constructor(view, look, onPick) {
    this.view = view;
    this.look = look;
    this.flip = false;
    this.hovered = -1;
    this.box = document.getElementById("graph");
    this.room = document.getElementById("room");
    this.tooltip = document.getElementById("tooltip");
    this.painter = new Painter(document.getElementById("canvas"));
    this.range = view.range;
    this.listen(onPick);
  }

  listen(onPick) {
    const { canvas } = this.painter;
    this.box.addEventListener("scroll", () => this.draw(), { passive: true });
    canvas.addEventListener("pointermove", (event) => this.hover(event));
    canvas.addEventListener("pointerleave", () => this.leave());
    canvas.addEventListener("click", (event) => {
      const node = this.painter.hit(event.offsetX, event.offsetY);
      if (node < 0) return;
      this.leave();
      onPick(node);
    });
    new ResizeObserver(() => this.fit()).observe(this.box);
  }

  // The window on the graph has another size, or the rows another number.
  fit() {
    const { x, span } = this.view.range;
    const depth = this.view.tree.size ? this.view.tree.depth[this.view.zoom] : 0;
    const rows = this.view.tree.size ? rowsIn(this.view.layout, depth, x, span) : 0;
    const fromBottom = this.content - this.box.scrollTop - this.height;
    this.height = this.box.clientHeight;
    this.content = Math.max(rows * rowHeight, this.height);
    this.room.style.height = `${this.content}px`;
    const width = this.box.clientWidth;
    if (width !== this.painter.width || this.height !== this.painter.height) this.painter.resize(width, this.height);
    if (this.flip && fromBottom >= 0) this.box.scrollTop = this.content - fromBottom - this.height;
    this.paint();
  }

  // Shows the view as it is now; glides there if only the zoom has changed.
  update(glide) {
    this.leave();
    this.fit();
    this.reveal(this.view.zoom, 2);
    const to = this.view.range;
    if (!glide || window.matchMedia("(prefers-reduced-motion: reduce)").matches) {
      this.range = to;
      this.glide = null;
    } else {
      this.glide = { from: this.range, to, begin: performance.now() };
    }
    this.draw();
  }

  // Root at the bottom or on top; shows the root.
  setFlip(flip) {
    this.flip = flip;
    this.fit();
    this.box.scrollTop = flip ? this.content : 0;
    this.draw();
  }

  // Scrolls so that the node and `spare` rows before it are in the window.
  reveal(node, spare) {
    if (node < 0 || !this.view.tree.size) return;
    const depth = this.view.tree.depth[node];
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

  paint() {
    const { view } = this;
    this.painter.paint({
      ...this.look,
      ...this.range,
      layout: view.layout,
      functions: view.functions,
      zoomDepth: view.tree.size ? view.tree.depth[view.zoom] : 0,
      flip: this.flip,
      scroll: this.box.scrollTop,
      content: this.content,
      selected: view.selected,
      hovered: this.hovered,
      hasMore: (node) => view.hasMore(node),
    });
  }

  hover(event) {
    const node = this.painter.hit(event.offsetX, event.offsetY);
    if (node < 0) {
      this.leave();
      return;
    }
    const { view, tooltip } = this;
    if (node !== this.hovered) {
      this.hovered = node;
      fillTooltip(tooltip, describe(node, view), this.look.colour(view.tree.func[node]));
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

  // Where a node is in the window, in CSS pixels.
  clientRect(node) {
    const rect = this.painter.rectOf(node);
    const { left, top } = this.painter.canvas.getBoundingClientRect();
    return { left: left + rect.left, top: top + rect.top, width: rect.width, height: rect.height };
  }
}

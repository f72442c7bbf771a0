// SPDX-License-Identifier: MIT
// Draws the visible part of a layout on a canvas. The canvas is as large as the visible part of the
// graph and stays in place while the graph is scrolled, so the cost depends on the pixels: a row
// costs up to one bisection for each pixel column, however many nodes it has.
import { firstAfter, nodeAt } from "./layout.js";

export const rowHeight = 20;
export const font = '12px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
const minBoxWidth = 0.7;  // narrower nodes are drawn together, one pixel column at a time
const minLabelWidth = 26;
// The shapes of nodes that are not plain boxes, by kind of function.
const shapes = { short: "hatched", laneMixed: "hatched", laneSuspended: "line" };

export class Painter {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.widths = new Map();  // text -> its width
  }

  // Sets the size of the canvas, in CSS pixels.
  resize(width, height) {
    const ratio = window.devicePixelRatio || 1;
    this.width = width;
    this.height = height;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
  }

  // scene: { layout, functions, colourOf(node), ink: theme colours, x, span: the part shown in ns,
  // isMarked(node): matches the search, null: no search, zoomDepth, flip: root at the bottom, scroll, content: height of all rows in pixels, gutter: width
  // for names on the left, chosen: function or -1, selected,
  // hovered: node or -1, keepsColour: marked nodes have their own colour, hasMore(node), labelFor(node): { name, where } if not the function's, near:
  // see hit(), decorate(painter, from, to), decorateAfter(painter): draw behind and over the boxes }
  paint(scene) {
    this.scene = scene;
    const c = this.context;
    if (!scene.over) c.clearRect(0, 0, this.width, this.height);
    if (!scene.layout?.rows || !(scene.span > 0)) return;
    c.font = font;
    c.textBaseline = "middle";
    const [from, to] = this.depthsShown();
    scene.decorate?.(this, from, to);
    for (let depth = from; depth <= to; depth++) this.paintRow(depth);
    scene.decorateAfter?.(this);
    for (const node of [scene.hovered, scene.selected]) {
      if (node >= 0) this.outline(node, node === scene.selected);
    }
  }

  depthsShown() {
    const { scroll, content, flip, layout } = this.scene;
    const top = flip ? content - scroll - this.height : scroll;
    const from = Math.max(0, Math.floor(top / rowHeight));
    return [from, Math.min(layout.rows - 1, Math.floor((top + this.height) / rowHeight))];
  }

  yOf(depth) {
    const { scroll, content, flip } = this.scene;
    return (flip ? content - (depth + 1) * rowHeight : depth * rowHeight) - scroll;
  }

  // Pixels per ns.
  get scale() {
    return (this.width - this.scene.gutter) / this.scene.span;
  }

  xOf(time) {
    return this.scene.gutter + (time - this.scene.x) * this.scale;
  }

  timeAt(px) {
    return this.scene.x + (px - this.scene.gutter) / this.scale;
  }

  paintRow(depth) {
    const { layout, x, span, gutter } = this.scene;
    const { row, start, tree, rowFirst } = layout;
    const { scale } = this;
    const end = x + span;
    const y = this.yOf(depth);
    let place = firstAfter(layout, depth, x);
    while (place < rowFirst[depth + 1] && start[row[place]] < end) {
      const node = row[place];
      const left = Math.max(gutter, this.xOf(start[node]));
      const right = Math.min(this.width, this.xOf(start[node] + tree.total[node]));
      if (right - left >= minBoxWidth) {
        this.paintBox(node, depth, left, y, right - left);
        place++;
      } else {
        this.paintNarrow(node, left, y);
        place = Math.max(place + 1, firstAfter(layout, depth, x + (left - gutter + 1) / scale, place));
      }
    }
  }

  // Draws one line for all nodes too narrow to be drawn that begin in this pixel column.
  paintNarrow(node, left, y) {
    const c = this.context;
    c.globalAlpha = 0.7;
    c.fillStyle = this.fillOf(node);
    c.fillRect(left, y, 0.8, rowHeight - 1);
    c.globalAlpha = 1;
  }

  fillOf(node) {
    const { isMarked, colourOf, ink, keepsColour } = this.scene;
    return isMarked?.(node) && !keepsColour ? ink.mark : colourOf(node);
  }

  paintBox(node, depth, left, y, width) {
    const { layout, isMarked, chosen, ink, zoomDepth } = this.scene;
    const func = layout.tree.func[node];
    const c = this.context;
    const faded = (isMarked || chosen >= 0) && !isMarked?.(node) && func !== chosen;
    c.globalAlpha = faded ? 0.35 : depth < zoomDepth ? 0.55 : 1;
    c.fillStyle = this.fillOf(node);
    const shape = shapes[this.scene.functions[func].kind] ?? "box";
    const [top, height] = shape === "line" ? [y + rowHeight / 2 - 2, 3] : [y, rowHeight - 1];
    c.fillRect(left, top, width > 3 ? width - 1 : width, height);
    if (shape === "hatched") this.hatch(left, y, width);
    c.globalAlpha = faded ? 0.75 : 1;
    if (func === chosen && width > 2) {
      c.strokeStyle = ink.chosen;
      c.lineWidth = 1.5;
      c.strokeRect(left + 0.75, y + 0.75, width - 2.5, rowHeight - 2.5);
    }
    if (width >= minLabelWidth && shape !== "line") this.paintLabel(node, func, left + 5, y + rowHeight / 2, width - 11);
    c.globalAlpha = 1;
  }

  // Strokes that mark a box as many calls instead of one.
  hatch(left, y, width) {
    const c = this.context;
    c.save();
    c.beginPath();
    c.rect(left, y, width > 3 ? width - 1 : width, rowHeight - 1);
    c.clip();
    c.strokeStyle = this.scene.ink.hatch;
    c.lineWidth = 1;
    c.beginPath();
    for (let x = Math.floor(left / 6) * 6 - rowHeight; x < left + width; x += 6) {
      c.moveTo(x, y + rowHeight);
      c.lineTo(x + rowHeight, y);
    }
    c.stroke();
    c.restore();
  }

  // Writes a text of a row outside of the boxes; returns the x at which it ends.
  write(text, x, depth, maxWidth, colour, bold) {
    const c = this.context;
    c.fillStyle = colour;
    c.font = bold ? `600 ${font}` : font;
    const shown = bold ? text : this.fit(text, maxWidth);
    c.fillText(shown, x, this.yOf(depth) + rowHeight / 2);
    const end = x + c.measureText(shown).width;
    c.font = font;
    return end;
  }

  // The name, and its location if there is space for all of it.
  paintLabel(node, func, x, y, maxWidth) {
    const { functions, isMarked, keepsColour, ink, hasMore } = this.scene;
    const c = this.context;
    const { name, where } = this.scene.labelFor?.(node) ?? functions[func];
    const marked = isMarked?.(node) && !keepsColour;
    c.fillStyle = marked ? ink.markText : ink.text;
    const text = this.fit(node > 0 && hasMore(node) ? `${name} …` : name, maxWidth);
    c.fillText(text, x, y);
    const rest = maxWidth - this.widthOf(text) - 8;
    if (!where || rest < 40 || this.widthOf(where) > rest) return;
    c.fillStyle = marked ? ink.markText : ink.fainter;
    c.fillText(where, x + maxWidth - rest, y);
  }

  widthOf(text) {
    let width = this.widths.get(text);
    if (width === undefined) {
      if (this.widths.size > 20000) this.widths.clear();
      width = this.context.measureText(text).width;
      this.widths.set(text, width);
    }
    return width;
  }

  // The text, or as much of it as fits with an ellipsis.
  fit(text, maxWidth) {
    const width = this.widthOf(text);
    if (width <= maxWidth) return text;
    const letters = Array.from(text.slice(0, 400));
    let keep = Math.min(letters.length, Math.ceil((letters.length * maxWidth) / width) + 1);
    for (; keep > 0; keep--) {
      const shorter = `${letters.slice(0, keep).join("")}…`;
      if (this.context.measureText(shorter).width <= maxWidth) return shorter;
    }
    return "";
  }

  outline(node, strong) {
    const { ink } = this.scene;
    const { left, top, width } = this.rectOf(node);
    const c = this.context;
    c.strokeStyle = strong ? ink.select : ink.hover;
    c.lineWidth = strong ? 2 : 1;
    c.strokeRect(left + 0.5, top + 0.5, Math.max(1, width - 2), rowHeight - 2);
  }

  // The rectangle of a node on the canvas, clipped at the left and right.
  rectOf(node) {
    const { layout, gutter } = this.scene;
    const left = Math.max(gutter, this.xOf(layout.start[node]));
    const right = Math.min(this.width, this.xOf(layout.start[node] + layout.tree.total[node]));
    return { left, top: this.yOf(layout.tree.depth[node]), width: right - left, height: rowHeight };
  }

  rowAt(py) {
    const { scroll, content, flip } = this.scene;
    return Math.floor((flip ? content - scroll - py : scroll + py) / rowHeight);
  }

  // The node at a point on the canvas, or -1. With `near` a node that begins within the next pixel is
  // hit, too: slices may be narrower than a pixel.
  hit(px, py) {
    const { layout, gutter, span } = this.scene;
    if (px < gutter || !(span > 0)) return -1;
    const node = nodeAt(layout, this.rowAt(py), this.timeAt(px));
    return node < 0 && this.scene.near ? nodeAt(layout, this.rowAt(py), this.timeAt(px + 1)) : node;
  }
}

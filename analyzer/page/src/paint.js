// SPDX-License-Identifier: MIT
// Draws the visible part of a layout on a canvas. The canvas is as large as the window on the
// graph and stays in place while the graph is scrolled, so the cost is that of the pixels: a row
// costs a bisection for each pixel column at most, however many nodes it has.
import { firstAfter, nodeAt } from "./layout.js";

export const rowHeight = 20;
const font = '12px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
const smallestBox = 0.7;  // narrower nodes are drawn together, one pixel column at a time
const smallestLabel = 26;

export class Painter {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.widths = new Map();  // text -> its width
  }

  // Fits the canvas to the window on the graph; sizes in CSS pixels.
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

  // scene: { layout, functions, colour(func), ink: theme colours, x, span: the part shown in ns,
  // zoomDepth, flip: root at the bottom, scroll, content: height of all rows in pixels, marks:
  // flags per function or null, chosen: function or -1, selected, hovered: node or -1, hasMore }
  paint(scene) {
    this.scene = scene;
    const c = this.context;
    c.clearRect(0, 0, this.width, this.height);
    if (!scene.layout.rows || !(scene.span > 0)) return;
    c.font = font;
    c.textBaseline = "middle";
    const [from, to] = this.depthsShown();
    for (let depth = from; depth <= to; depth++) this.paintRow(depth);
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

  paintRow(depth) {
    const { layout, x, span } = this.scene;
    const { row, start, tree, rowFirst } = layout;
    const scale = this.width / span;
    const end = x + span;
    const y = this.yOf(depth);
    let place = firstAfter(layout, depth, x);
    while (place < rowFirst[depth + 1] && start[row[place]] < end) {
      const node = row[place];
      const left = Math.max(0, (start[node] - x) * scale);
      const right = Math.min(this.width, (start[node] + tree.total[node] - x) * scale);
      if (right - left >= smallestBox) {
        this.paintBox(node, depth, left, y, right - left);
        place++;
      } else {
        this.paintDust(node, left, y);
        place = Math.max(place + 1, firstAfter(layout, depth, x + (left + 1) / scale, place));
      }
    }
  }

  // Stands for all nodes too narrow to be drawn that begin in this pixel column.
  paintDust(node, left, y) {
    const c = this.context;
    c.globalAlpha = 0.45;
    c.fillStyle = this.fillOf(this.scene.layout.tree.func[node]);
    c.fillRect(left, y, 0.8, rowHeight - 1);
    c.globalAlpha = 1;
  }

  fillOf(func) {
    const { marks, colour, ink } = this.scene;
    return marks && marks[func] ? ink.mark : colour(func);
  }

  paintBox(node, depth, left, y, width) {
    const { layout, marks, chosen, ink, zoomDepth } = this.scene;
    const func = layout.tree.func[node];
    const c = this.context;
    const faded = (marks || chosen >= 0) && !(marks && marks[func]) && func !== chosen;
    c.globalAlpha = faded ? 0.35 : depth < zoomDepth ? 0.55 : 1;
    c.fillStyle = this.fillOf(func);
    c.fillRect(left, y, width > 3 ? width - 1 : width, rowHeight - 1);
    c.globalAlpha = faded ? 0.75 : 1;
    if (func === chosen && width > 2) {
      c.strokeStyle = ink.chosen;
      c.lineWidth = 1.5;
      c.strokeRect(left + 0.75, y + 0.75, width - 2.5, rowHeight - 2.5);
    }
    if (width >= smallestLabel) this.paintLabel(node, func, left + 5, y + rowHeight / 2, width - 11);
    c.globalAlpha = 1;
  }

  // The name, and where it is defined if there is room for all of it.
  paintLabel(node, func, x, y, room) {
    const { functions, marks, ink, hasMore } = this.scene;
    const c = this.context;
    const { name, where } = functions[func];
    const marked = marks && marks[func];
    c.fillStyle = marked ? ink.markText : ink.text;
    const text = this.fit(node > 0 && hasMore(node) ? `${name} …` : name, room);
    c.fillText(text, x, y);
    const rest = room - this.widthOf(text) - 8;
    if (!where || rest < 40 || this.widthOf(where) > rest) return;
    c.fillStyle = marked ? ink.markText : ink.fainter;
    c.fillText(where, x + room - rest, y);
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

  // As much of the text as fits, with an ellipsis.
  fit(text, room) {
    const width = this.widthOf(text);
    if (width <= room) return text;
    const letters = Array.from(text.slice(0, 400));
    let keep = Math.min(letters.length, Math.ceil((letters.length * room) / width) + 1);
    for (; keep > 0; keep--) {
      const shorter = `${letters.slice(0, keep).join("")}…`;
      if (this.context.measureText(shorter).width <= room) return shorter;
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

  // Where a node is on the canvas, cut to its sides.
  rectOf(node) {
    const { layout, x, span } = this.scene;
    const scale = this.width / span;
    const left = Math.max(0, (layout.start[node] - x) * scale);
    const right = Math.min(this.width, (layout.start[node] + layout.tree.total[node] - x) * scale);
    return { left, top: this.yOf(layout.tree.depth[node]), width: right - left, height: rowHeight };
  }

  // The node at a place on the canvas, or -1.
  hit(px, py) {
    const { layout, x, span, scroll, content, flip } = this.scene;
    const depth = Math.floor((flip ? content - scroll - py : scroll + py) / rowHeight);
    return nodeAt(layout, depth, x + (px / this.width) * span);
  }
}

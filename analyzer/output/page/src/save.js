// SPDX-License-Identifier: MIT
// Saves what a graph shows as a picture, SVG or PNG: all its rows, as wide as on the screen, below a line
// that names the program and the part that is shown.
import { formatCount } from "./format.js";
import { font, Painter, rowHeight } from "./paint.js";
import { Ruler } from "./ruler.js";
import { SvgContext } from "./svg.js";

const headHeight = 30;
const axisHeight = 20;  // over time
const gap = 10;  // between the halves of the sandwich
const maxHeight = 16000;  // browsers have no larger canvases

// How many rows a picture of the graphs has not: "" if it has all.
export function cutText(graphs) {
  const height = heightOf(graphs);
  if (height <= maxHeight) return "";
  const rows = (pixels) => formatCount(Math.floor(pixels / rowHeight));
  return `only the first ${rows(maxHeight)} of ${rows(height)} rows`;
}

function heightOf(graphs) {
  const top = headHeight + (graphs[0].view.isTime ? axisHeight : 0);
  return graphs.reduce((sum, graph) => sum + graph.contentHeight() + gap, top - gap);
}

// Returns the picture of graphs, one below the other, as a Blob. caption: what is shown.
export async function pictureOf(graphs, caption, kind, background) {
  const { width } = graphs[0].painter;
  const height = Math.min(maxHeight, heightOf(graphs));
  if (kind === "svg") {
    const context = new SvgContext();
    draw(graphs, { getContext: () => context }, width, height, caption);
    return new Blob([context.text(width, height, background)], { type: "image/svg+xml" });
  }
  const canvas = document.createElement("canvas");
  const ratio = height > maxHeight / 2 ? 1 : 2;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  // The painter clears its canvas, so the background comes last.
  draw(graphs, canvas, width, height, caption);
  context.globalCompositeOperation = "destination-over";
  context.fillStyle = background;
  context.fillRect(0, 0, width, height);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

function draw(graphs, canvas, width, height, caption) {
  const painter = new Painter(canvas);
  painter.width = width;
  painter.height = height;
  let top = headHeight + (graphs[0].view.isTime ? axisHeight : 0);
  for (const graph of graphs) {
    const content = Math.min(graph.contentHeight(), height - top);
    painter.paint({ ...graph.scene(), hovered: -1, selected: -1, scroll: -top, content, over: graph !== graphs[0] });
    top += content + gap;
  }
  const { scene, context: c } = painter;
  const { view } = graphs[0];
  c.globalAlpha = 1;
  if (view.isTime) Ruler.prototype.paintMarks.call({ context: c }, painter, scene.ink, view.offset, headHeight);
  c.textBaseline = "middle";
  c.font = `600 ${font}`;
  c.fillStyle = scene.ink.text;
  c.fillText(painter.fit(caption, width - 12), 6, headHeight / 2);
}

export function download(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

// SPDX-License-Identifier: MIT
// Saves what a graph shows as a picture, SVG or PNG: all its rows, as wide as on the screen, below a line
// that names the program and the part that is shown.
import { font, Painter } from "./paint.js";
import { SvgContext } from "./svg.js";

const headHeight = 30;
const maxHeight = 16000;  // browsers have no larger canvases

// Returns the picture as a Blob. caption: what is shown.
export async function pictureOf(graph, caption, kind, background) {
  const width = graph.painter.width;
  const height = Math.min(maxHeight, graph.contentHeight() + headHeight);
  if (kind === "svg") {
    const context = new SvgContext();
    draw(graph, { getContext: () => context }, width, height, caption);
    return new Blob([context.text(width, height, background)], { type: "image/svg+xml" });
  }
  const canvas = document.createElement("canvas");
  const ratio = height > maxHeight / 2 ? 1 : 2;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  // The painter clears its canvas, so the background comes last.
  draw(graph, canvas, width, height, caption);
  context.globalCompositeOperation = "destination-over";
  context.fillStyle = background;
  context.fillRect(0, 0, width, height);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

function draw(graph, canvas, width, height, caption) {
  const painter = new Painter(canvas);
  painter.width = width;
  painter.height = height;
  const scene = graph.scene();
  painter.paint({ ...scene, hovered: -1, selected: -1, scroll: -headHeight, content: height - headHeight });
  const c = painter.context;
  c.globalAlpha = 1;
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

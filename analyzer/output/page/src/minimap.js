// SPDX-License-Identifier: MIT
// The whole recording in one strip above the views over time: how deep the calls were at each moment, and
// which part is shown. A drag in the strip chooses another part, a drag of the part moves it.
const height = 18;

export class Minimap {
  // range(x, span): called when the user chooses a part.
  constructor(canvas, range) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.depths = null;
    this.range = range;
    canvas.addEventListener("pointerdown", (event) => this.press(event));
  }

  paint(view, { width, scene }, ink) {
    this.view = view;
    this.left = scene.gutter;
    this.width = width - scene.gutter;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    const c = this.context;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.fillStyle = ink.track;
    c.fillRect(this.left, 0, this.width, height);
    this.paintDepths(ink);
    const { x, span } = scene;
    const shown = Math.max(3, (span / view.end) * this.width);
    const from = this.left + Math.min(this.width - shown, (x / view.end) * this.width);
    c.fillStyle = ink.outside;
    c.fillRect(this.left, 0, from - this.left, height);
    c.fillRect(from + shown, 0, width - from - shown, height);
    c.strokeStyle = ink.range;
    c.lineWidth = 2;
    c.strokeRect(from + 1, 1, Math.max(1, shown - 2), height - 2);
  }

  paintDepths(ink) {
    const columns = Math.max(1, Math.floor(this.width));
    if (this.depths?.length !== columns) this.depths = depthsOf(this.view.chart, this.view.end, columns);
    const deepest = this.depths.reduce((most, depth) => Math.max(most, depth), 1);
    const c = this.context;
    c.fillStyle = ink.depth;
    this.depths.forEach((depth, column) => {
      const tall = depth && Math.max(2, (depth / deepest) * (height - 3));
      c.fillRect(this.left + column, height - tall, 1, tall);
    });
  }

  timeAt(px) {
    return ((Math.min(this.left + this.width, Math.max(this.left, px)) - this.left) / this.width) * this.view.end;
  }

  press(event) {
    if (!this.view || event.button !== 0) return;
    const { x, span } = this.view.range;
    const from = this.timeAt(event.offsetX);
    const moves = this.view.isZoomed && from >= x && from <= x + span;
    let dragged = false;
    const drag = (moved) => {
      const to = this.timeAt(moved.offsetX);
      dragged ||= Math.abs(moved.offsetX - event.offsetX) >= 3;
      if (!dragged) return;
      if (moves) this.range(x + to - from, span);
      else this.range(Math.min(from, to), Math.abs(to - from));
    };
    this.canvas.setPointerCapture(event.pointerId);
    this.canvas.addEventListener("pointermove", drag);
    this.canvas.addEventListener("lostpointercapture", () => {
      this.canvas.removeEventListener("pointermove", drag);
      if (!dragged) this.range(from - span / 2, span);
    }, { once: true });
  }
}

// The deepest level of calls in each of some columns of equal time. Between the beginnings of two slices
// of a track the depth only falls, so each slice is looked at when it begins and when it ends.
function depthsOf({ slices, tracks, pseudo }, end, columns) {
  const depths = new Int32Array(columns);
  const isCall = (at) => slices.func[at] <= pseudo[0] || slices.func[at] > pseudo.at(-1);
  const place = (time) => Math.min(columns - 1, Math.floor((time / end) * columns));
  for (const track of tracks) {
    for (let at = track.first; at < track.last; at++) {
      const next = at + 1 < track.last ? slices.begin[at + 1] : Infinity;
      let from = slices.begin[at];
      for (let open = at; open >= 0 && from <= next; open = slices.parent[open]) {
        const to = Math.min(next, slices.begin[open] + slices.length[open]);
        const depth = slices.level[open] + (isCall(open) ? 1 : 0);
        for (let column = place(from), last = place(to); column <= last; column++) if (depths[column] < depth) depths[column] = depth;
        if (to === next) break;
        from = to;
      }
    }
  }
  return depths;
}

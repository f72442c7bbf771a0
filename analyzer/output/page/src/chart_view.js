// SPDX-License-Identifier: MIT
// The flame chart: every call at its time. One track for each coroutine: a row with its name, below
// it a row for each level of its calls. The tracks of a thread are below the thread's name.
import { formatTime } from "./format.js";
import { TimeView } from "./time_view.js";

export class ChartView extends TimeView {
  constructor(functions, chart, whole) {
    super(functions, chart);
    this.name = "chart";
    this.whole = whole;  // the time of everything
    this.closed = new Set();  // tracks of which only the name is shown
    this.arrange();
  }

  arrange() {
    const { slices } = this.chart;
    this.headings = [];  // by row: { track } or { thread }, undefined for rows of calls
    this.rowOfTrack = new Int32Array(this.chart.tracks.length).fill(-1);
    const rowOf = new Int32Array(slices.size).fill(-1);
    let rows = 0;
    let thread = null;
    for (const track of this.tracksShown()) {
      if (track.thread !== thread) this.headings[rows++] = { thread: (thread = track.thread) };
      this.rowOfTrack[track.id] = rows;
      this.headings[rows++] = { track };
      if (this.closed.has(track.id)) continue;
      for (let at = track.first; at < track.last; at++) rowOf[at] = rows + slices.level[at];
      rows += track.levels;
    }
    this.setRows({ ...slices, total: slices.length }, slices.begin, rowOf, rows);
  }

  // A wait is labelled with the coroutine that is waited for.
  labelFor(node) {
    const other = this.chart.slices.other[node];
    return other < 0 ? null : { name: `→ ${trackTitle(this.chart.tracks[other], this.functions)}`, where: "" };
  }

  toggle(track) {
    if (!this.closed.delete(track)) this.closed.add(track);
    this.rearrange();
  }

  // The heading in a row, null for a row of calls.
  headingOf(row) {
    const heading = this.headings[row];
    if (!heading) return null;
    if (!heading.track) return { text: heading.thread, thread: true };
    const { track } = heading;
    const facts = [`ran ${formatTime(track.running)}`];
    if (track.waiting) facts.push(`waited ${formatTime(track.waiting)}`);
    if (track.suspended) facts.push(`suspended ${formatTime(track.suspended)}`);
    const mark = this.closed.has(track.id) ? "▸" : "▾";
    return { text: `${mark} ${trackTitle(track, this.functions)}`, facts: facts.join(" · "), track: track.id };
  }

  zoomToTrack(id) {
    const track = this.chart.tracks[id];
    this.showAround(track.begin, track.life);
  }
}

// "coroutine 7 · worker".
export function trackTitle(track, functions) {
  return track.func < 0 ? track.name : `${track.name} · ${functions[track.func].name}`;
}

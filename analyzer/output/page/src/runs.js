// SPDX-License-Identifier: MIT
// What each thread did: the runs of its coroutines, joined to one flame chart. A run is a time in which a
// coroutine runs or waits for one that it resumed; a suspension ends it. The runs of a resumed
// coroutine are below the call that waits for it, so a thread's call stack has one place for each call.
//
// A piece is the part of a slice in one run. Pieces are columns with one entry per piece: slice, begin,
// length, parent (a piece, or -1), row (in its thread, 0: outermost), thread (index of chart.threads).
//
// Invariants: the pieces of a thread are in preorder and sorted by begin, and no two of a row overlap.
// Time and memory grow with the number of slices: a call that is open in many runs has a piece in each,
// so if there would be more than `maxPieces` pieces, the shortest runs are left out and counted.
import { codes } from "./chart_data.js";

const maxPieces = (slices) => 2 * slices + 100000;

// Adds chart.threads: [{ name, first: its first piece, last, rows, tracks }], chart.pieces and
// chart.runsLeftOut.
export function addThreads(chart) {
  const runs = findRuns(chart);
  const shortest = shortestRun(chart.slices, runs);
  linkRuns(chart, runs);
  const roots = rootRuns(chart, runs);
  const pieces = new Pieces(chart, runs, shortest);
  chart.threads = [];
  for (const [name, list] of roots) {
    const thread = { name, tracks: 0, first: pieces.size, last: 0, rows: 0 };
    chart.threads.push(thread);
    for (const run of list) pieces.add(run, chart.threads.length - 1);
    thread.last = pieces.size;
    thread.rows = pieces.rows;
    pieces.rows = 0;
  }
  const places = new Map(chart.threads.map((thread, i) => [thread.name, i]));
  for (const track of chart.tracks) chart.threads[places.get(track.thread)].tracks++;
  chart.pieces = pieces.columns();
  chart.runsLeftOut = pieces.leftOut;
}

// Columns with one entry per run: track, begin, end, next (the slice from which it goes on), stop (the
// first slice after it), after (the suspension that it follows, or -1), parent (the slice that waits
// for it, or -1). Those of a track are adjacent and sorted: from firstOf[track] to firstOf[track + 1].
function findRuns(chart) {
  const { slices, tracks } = chart;
  const runs = { size: 0, firstOf: new Int32Array(tracks.length + 1) };
  let bound = 0;
  for (let at = 0; at < slices.size; at++) bound += slices.level[at] === 0 || isSuspension(chart, at) ? 1 : 0;
  for (const name of ["track", "next", "stop", "after", "parent"]) runs[name] = new Int32Array(bound);
  for (const name of ["begin", "end"]) runs[name] = new Float64Array(bound);
  const begin = (track, time, next, after) => {
    runs.track[runs.size] = track;
    runs.begin[runs.size] = time;
    runs.next[runs.size] = next;
    runs.after[runs.size] = after;
    runs.parent[runs.size] = -1;
  };
  const end = (time, stop) => {
    runs.end[runs.size] = Math.max(time, runs.begin[runs.size]);
    runs.stop[runs.size++] = stop;
  };
  for (const track of tracks) {
    runs.firstOf[track.id] = runs.size;
    let until = -1;  // the end of the outermost slice; -1: no run is open
    for (let at = track.first; at < track.last; at++) {
      const suspends = isSuspension(chart, at);
      const after = slices.begin[at] + slices.length[at];
      if (slices.level[at] === 0) {
        if (until >= 0) end(until, at);
        until = suspends ? -1 : after;
        if (!suspends) begin(track.id, slices.begin[at], at, -1);
      } else if (suspends && until >= 0) {
        end(slices.begin[at], at);
        begin(track.id, after, at + 1, at);
      }
    }
    if (until >= 0) end(until, track.last);
  }
  runs.firstOf[tracks.length] = runs.size;
  return runs;
}

// Several short suspensions may be one slice.
function isSuspension({ slices, pseudo }, at) {
  const func = slices.func[at];
  return func === pseudo[codes.suspended] || (func === pseudo[codes.short] && slices.running[at] <= 0);
}

// Runs shorter than this are left out. Counts pieces by the power of two of the length of their run.
function shortestRun({ size, level }, runs) {
  const counts = new Float64Array(64);
  for (let run = 0; run < runs.size; run++) {
    const length = runs.end[run] - runs.begin[run];
    counts[Math.floor(Math.log2(length + 1))] += runs.after[run] < 0 ? 0 : level[runs.after[run]];
  }
  let left = maxPieces(size) - size;
  for (let power = 63; power >= 0; power--) {
    left -= counts[power];
    if (left < 0) return 2 ** (power + 1) - 1;
  }
  return 0;
}

// Sets the parent of each run that another coroutine on the same thread waits for. `nested` has, for
// each slice that waits, the first of its runs; they are adjacent.
function linkRuns({ slices, tracks }, runs) {
  runs.nested = new Map();
  for (let at = 0; at < slices.size; at++) {
    const other = slices.other[at];
    if (other < 0 || tracks[other].thread !== tracks[slices.track[at]].thread) continue;
    const end = slices.begin[at] + slices.length[at];
    let run = firstRunFrom(runs, other, slices.begin[at]);
    for (const first = run; run < runs.firstOf[other + 1] && runs.end[run] <= end; run++) {
      if (runs.parent[run] >= 0) break;
      runs.parent[run] = at;
      if (run === first) runs.nested.set(at, first);
    }
  }
}

function firstRunFrom({ firstOf, begin }, track, time) {
  let low = firstOf[track];
  let high = firstOf[track + 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (begin[middle] < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Thread -> the runs that no call waits for, by time.
function rootRuns({ tracks }, runs) {
  const lists = new Map();
  for (const track of tracks) if (!lists.has(track.thread)) lists.set(track.thread, []);
  for (let run = 0; run < runs.size; run++) if (runs.parent[run] < 0) lists.get(tracks[runs.track[run]].thread).push(run);
  for (const list of lists.values()) list.sort((a, b) => runs.begin[a] - runs.begin[b] || a - b);
  return lists;
}

class Pieces {
  constructor(chart, runs, shortest) {
    Object.assign(this, { chart, runs, shortest, size: 0, rows: 0, leftOut: 0 });
    this.made = {};
    for (const name of ["slice", "parent", "row", "thread"]) this.made[name] = new Int32Array(1024);
    for (const name of ["begin", "length"]) this.made[name] = new Float64Array(1024);
  }

  // Adds a run and all runs below it. A run that overlaps the one before it is cut to what is left.
  add(root, thread) {
    this.thread = thread;
    const from = this.size > 0 && this.made.thread[this.size - 1] === thread ? this.busyUntil : 0;
    const frames = [];
    this.enter(frames, root, 0, -1, from, Infinity);
    this.busyUntil = Math.max(from, this.runs.end[root]);
    while (frames.length) {
      const frame = frames.at(-1);
      while (frame.path.length) this.piece(frame, frame.path.pop());
      if (frame.next < frame.stop) this.slice(frames, frame);
      else frames.pop();
    }
  }

  // Starts a run in `base` rows below the top. `path`: its calls that are open already.
  enter(frames, run, base, parent, from, until) {
    const { slices } = this.chart;
    const begin = Math.max(from, this.runs.begin[run]);
    const end = Math.min(until, this.runs.end[run]);
    if (end < begin) return;  // All of it is that of the run before.
    if (end - begin < this.shortest) {
      this.leftOut++;
      return;
    }
    const after = this.runs.after[run];
    const path = [];
    for (let at = after < 0 ? -1 : slices.parent[after]; at >= 0; at = slices.parent[at]) path.push(at);
    frames.push({ base, parent, begin, end, path, next: this.runs.next[run], stop: this.runs.stop[run], open: [] });
  }

  slice(frames, frame) {
    const { slices } = this.chart;
    const at = frame.next++;
    const piece = this.piece(frame, at);
    let run = piece < 0 ? undefined : this.runs.nested.get(at);
    if (run === undefined) return;
    // Frames are taken from the end, so the first run is pushed last.
    const list = [];
    for (; run < this.runs.size && this.runs.parent[run] === at; run++) list.push(run);
    const end = slices.begin[at] + slices.length[at];
    const base = frame.base + slices.level[at] + 1;
    while (list.length) this.enter(frames, list.pop(), base, piece, frame.begin, Math.min(end, frame.end));
  }

  // Adds the piece of a slice; returns it, or -1 if nothing of it is in the run.
  piece(frame, at) {
    const { slices } = this.chart;
    const level = slices.level[at];
    const begin = Math.max(frame.begin, slices.begin[at]);
    const end = Math.min(frame.end, slices.begin[at] + slices.length[at]);
    frame.open.length = Math.min(frame.open.length, level);
    const parent = level > 0 ? frame.open[level - 1] ?? -1 : frame.parent;
    if (end < begin || (level > 0 && parent < 0)) {
      frame.open[level] = -1;
      return -1;
    }
    if (this.size === this.made.slice.length) this.widen();
    const piece = this.size++;
    const row = frame.base + level;
    const { made } = this;
    made.slice[piece] = at;
    made.begin[piece] = begin;
    made.length[piece] = end - begin;
    made.parent[piece] = parent;
    made.row[piece] = row;
    made.thread[piece] = this.thread;
    this.rows = Math.max(this.rows, row + 1);
    frame.open[level] = piece;
    return piece;
  }

  widen() {
    for (const [name, column] of Object.entries(this.made)) {
      this.made[name] = new column.constructor(column.length * 2);
      this.made[name].set(column);
    }
  }

  columns() {
    const { size } = this;
    return { size, ...Object.fromEntries(Object.entries(this.made).map(([name, column]) => [name, column.subarray(0, size)])) };
  }
}

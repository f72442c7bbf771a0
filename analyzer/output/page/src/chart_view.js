// SPDX-License-Identifier: MIT
// The flame chart: every call at its time. Each thread has a lane with all that ran on it (runs.js),
// unless it ran one coroutine only; below it are its coroutines: one with a body of its own has a row for
// its name and a row for each level of its calls; several with the same body are a group, packed into
// slots (packing.js).
//
// Nodes are the slices of the chart, then the pieces of the threads' lanes, then the lifetimes of the
// coroutines, which name them in the slots.
import { codes } from "./chart_data.js";
import { formatCount, formatTime } from "./format.js";
import { groupKey, groupTitle, groupTracks, packSlots } from "./packing.js";
import { addThreads } from "./runs.js";
import { TimeView } from "./time_view.js";

const maxRowsOpen = 24;  // a group with more rows is closed at first

export class ChartView extends TimeView {
  constructor(functions, chart, whole) {
    super(functions, chart);
    this.name = "chart";
    this.whole = whole;  // the time of everything
    this.openness = new Map();  // key of a thread, coroutine or group -> whether its rows are shown
    if (!chart.pieces) addThreads(chart);
    this.nodes = makeNodes(chart);
    this.arrange();
  }

  isOpen(key, otherwise = true) {
    return this.openness.get(key) ?? otherwise;
  }

  arrange() {
    this.headings = [];  // by row: { text, facts, key, thread, track }, undefined for rows of calls
    this.rowOfTrack = new Int32Array(this.chart.tracks.length).fill(-1);
    this.rowOf = new Int32Array(this.nodes.size).fill(-1);
    this.rows = 0;
    let thread = null;
    for (const group of groupTracks(this.tracksShown())) {
      if (group.thread !== thread) this.addThread((thread = group.thread));
      if (group.tracks.length === 1) this.addTrack(group.tracks[0]);
      else this.addGroup(group);
    }
    this.setRows(this.nodes, this.nodes.begin, this.rowOf, this.rows);
  }

  addThread(name) {
    const thread = this.chart.threads.find((one) => one.name === name);
    if (thread.tracks < 2) {
      this.headings[this.rows++] = { text: name, thread: true };
      return;
    }
    const key = `thread ${name}`;
    this.addHeading(name, `all that ran on it: ${formatCount(thread.tracks)} coroutines`, key, { thread: true });
    if (!this.isOpen(key)) return;
    const { row } = this.chart.pieces;
    const first = this.chart.slices.size;
    for (let piece = thread.first; piece < thread.last; piece++) this.rowOf[first + piece] = this.rows + row[piece];
    this.rows += thread.rows;
  }

  addTrack(track) {
    const key = `track ${track.id}`;
    this.rowOfTrack[track.id] = this.rows;
    this.addHeading(trackTitle(track, this.functions), factsOf([track]), key, { track: track.id });
    if (this.isOpen(key)) this.rows += this.addCalls(track);
  }

  // Returns the number of rows.
  addCalls(track) {
    const { level } = this.chart.slices;
    for (let at = track.first; at < track.last; at++) this.rowOf[at] = this.rows + level[at];
    return track.levels;
  }

  addGroup(group) {
    const key = `group ${groupKey(group)}`;
    const slots = packSlots(group.tracks);
    const height = (slot) => 1 + slot.reduce((levels, track) => Math.max(levels, track.levels), 0);
    const rows = slots.reduce((sum, slot) => sum + height(slot), 0);
    for (const track of group.tracks) this.rowOfTrack[track.id] = this.rows;
    const facts = `up to ${formatCount(slots.length)} at a time · ${factsOf(group.tracks)}`;
    this.addHeading(`${groupTitle(group, this.functions)}`, facts, key, { isOpen: this.isOpen(key, rows <= maxRowsOpen) });
    if (!this.isOpen(key, rows <= maxRowsOpen)) return;
    for (const slot of slots) {
      const next = this.rows + height(slot);
      const lives = this.rows++;
      for (const track of slot) {
        this.rowOfTrack[track.id] = this.rowOf[this.nodes.firstLife + track.id] = lives;
        this.addCalls(track);
      }
      this.rows = next;
    }
  }

  addHeading(text, facts, key, more) {
    const isOpen = more.isOpen ?? this.isOpen(key);
    this.headings[this.rows++] = { ...more, text: `${isOpen ? "▾" : "▸"} ${text}`, facts, key, isOpen };
  }

  // The heading in a row, null for a row of calls.
  headingOf(row) {
    return this.headings[row] ?? null;
  }

  // The slice of a node; -1 for a lifetime.
  sliceOf(node) {
    const { slices, pieces } = this.chart;
    if (node < slices.size) return node;
    return node < this.nodes.firstLife ? pieces.slice[node - slices.size] : -1;
  }

  // A wait is labelled with the coroutine that is waited for, a lifetime with its coroutine.
  labelFor(node) {
    const { slices, tracks } = this.chart;
    const slice = this.sliceOf(node);
    if (slice < 0) return { name: trackTitle(tracks[this.nodes.track[node]], this.functions), where: "" };
    const other = slices.other[slice];
    return other < 0 ? null : { name: `→ ${trackTitle(tracks[other], this.functions)}`, where: "" };
  }

  // A lifetime matches by the name of its coroutine.
  isMarked(node, look) {
    if (node < this.nodes.firstLife) return super.isMarked(node, look);
    return look.matcher(trackTitle(this.chart.tracks[this.nodes.track[node]], this.functions));
  }

  // A call is found once, however many pieces it has in the lane of its thread.
  nextOf(matches, from, step) {
    const isSecond = (node) => node >= this.chart.slices.size && (node >= this.nodes.firstLife || this.rowOf[this.sliceOf(node)] >= 0);
    return super.nextOf((node) => !isSecond(node) && matches(node), from, step);
  }

  // How much of what is shown matches, as text.
  foundText(look) {
    const { slices } = this.chart;
    const { x, span } = this.range;
    let calls = 0;
    for (let at = 0; at < slices.size; at++) {
      if (look.marks[slices.func[at]] && slices.begin[at] <= x + span && slices.begin[at] + slices.length[at] >= x) calls++;
    }
    return `${formatCount(calls)} drawn in this range`;
  }

  toggle(key) {
    const heading = this.headings.find((one) => one?.key === key);
    if (heading) this.openness.set(key, !heading.isOpen);
    this.rearrange();
  }

  zoomToTrack(id) {
    const track = this.chart.tracks[id];
    this.openness.set(`track ${id}`, true);
    this.openness.set(`group ${groupKey(track)}`, true);
    this.showAround(track.begin, track.life);
    this.arrange();
  }
}

function makeNodes({ slices, pieces, tracks, pseudo }) {
  const size = slices.size + pieces.size + tracks.length;
  const nodes = { size, firstLife: slices.size + pieces.size };
  for (const name of ["func", "parent", "track"]) nodes[name] = new Int32Array(size);
  for (const name of ["begin", "total"]) nodes[name] = new Float64Array(size);
  for (const name of ["func", "parent", "track", "begin"]) nodes[name].set(slices[name]);
  nodes.total.set(slices.length);
  nodes.begin.set(pieces.begin, slices.size);
  nodes.total.set(pieces.length, slices.size);
  for (let piece = 0; piece < pieces.size; piece++) {
    const node = slices.size + piece;
    nodes.func[node] = slices.func[pieces.slice[piece]];
    nodes.track[node] = slices.track[pieces.slice[piece]];
    nodes.parent[node] = pieces.parent[piece] < 0 ? -1 : slices.size + pieces.parent[piece];
  }
  for (const track of tracks) {
    const node = nodes.firstLife + track.id;
    nodes.func[node] = pseudo[codes.lifetime];
    nodes.track[node] = track.id;
    nodes.parent[node] = -1;
    nodes.begin[node] = track.begin;
    nodes.total[node] = track.life;
  }
  return nodes;
}

function factsOf(tracks) {
  const sum = (key) => tracks.reduce((total, track) => total + track[key], 0);
  const facts = [`ran ${formatTime(sum("running"))}`];
  if (sum("waiting")) facts.push(`waited ${formatTime(sum("waiting"))}`);
  if (sum("suspended")) facts.push(`suspended ${formatTime(sum("suspended"))}`);
  return facts.join(" · ");
}

// "coroutine 7 · worker".
export function trackTitle(track, functions) {
  return track.func < 0 ? track.name : `${track.name} · ${functions[track.func].name}`;
}

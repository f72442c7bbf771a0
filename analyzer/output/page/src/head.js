// SPDX-License-Identifier: MIT
// The texts around the graph: title, notes on the view that is shown, and the legend.
import { changeColour, isHatched, kindColour, kindLabel, kindOf, moduleColours, modulesInLegend, toneOf } from "./colour.js";
import { element } from "./details.js";
import { formatCount, formatShare, formatTime } from "./format.js";

export function showHead(profile) {
  const title = document.getElementById("title");
  title.textContent = profile.title;
  title.title = profile.title;
  const subtitle = document.getElementById("subtitle");
  subtitle.replaceChildren(...profile.subtitle.map((text) => element("span", "", text)));
  subtitle.title = profile.subtitle.join(" · ");
  document.getElementById("trust").textContent = profile.trust;
}

// Notes on what the view leaves out or scales.
export function notesOf(profile, chart, view, source) {
  if (view.isTime) return chartNotes(chart);
  return source.range ? rangeNotes(chart, chart.calls - source.countedCalls) : treeNotes(profile);
}

function rangeNotes(chart, opened) {
  const notes = [];
  if (opened > 0) notes.push(`${formatCount(opened)} ${opened === 1 ? "call that was" : "calls that were"} open when the recording began, or after a gap, ${opened === 1 ? "counts as a call" : "count as calls"} in a range.`);
  if (chart.hiddenCalls) notes.push("In a range, calls that are not drawn individually over time are [short calls] of their callers.");
  if (chart.hiddenTracks) notes.push(`The calls of ${formatCount(chart.hiddenTracks)} short-lived coroutines are not in it.`);
  if (chart.runsLeftOut) notes.push(leftOutText(chart));
  return notes;
}

function leftOutText({ runsLeftOut }) {
  return `${formatCount(runsLeftOut)} of the shortest runs of coroutines are not in the lanes of threads, nor in ranges.`;
}

function treeNotes(profile) {
  const notes = [];
  if (profile.prunedNodes) {
    const share = formatShare(profile.prunedTime, profile.total);
    notes.push(`${formatCount(profile.prunedNodes)} small call paths, ${share} of the time, are drawn as [pruned]; the table includes them.`);
  }
  if (profile.scale !== 1) notes.push(`Times before are multiplied by ${profile.scale.toPrecision(4)}.`);
  return notes;
}

function chartNotes(chart) {
  const notes = [];
  if (chart.hiddenCalls) {
    const share = formatShare(chart.hiddenTime, chart.self);
    notes.push(`${formatCount(chart.hiddenCalls)} of ${formatCount(chart.calls)} calls, ${share} of the self time, are not drawn individually. All sums include them.`);
    if (chart.shortest > 1) notes.push(`Calls shorter than ${formatTime(chart.shortest)} are hatched blocks where they are close to each other and not drawn where they are single.`);
  }
  if (chart.hiddenTracks) {
    const one = chart.hiddenTracks === 1;
    notes.push(`${formatCount(chart.hiddenTracks)} short-lived ${one ? "coroutine is" : "coroutines are"} not shown.`);
  }
  if (chart.runsLeftOut) notes.push(leftOutText(chart));
  if (chart.note) notes.push(chart.note);
  return notes;
}

function entry(label, colour, className = "dot") {
  const part = element("span");
  part.append(element("i", className), label);
  part.firstChild.style.backgroundColor = colour;
  return part;
}

const laneKinds = ["laneRuns", "laneWaits", "laneSuspended", "laneMixed"];

// A swatch of a kind, drawn as its boxes are.
function kindEntry(kind, dark) {
  return entry(kindLabel({ kind }), kindColour(kind, dark), isHatched(kind) ? "dot hatched" : "dot");
}

function moduleEntries(functions, dark) {
  const all = [...moduleColours(functions, dark)];
  const shown = all.slice(0, modulesInLegend).map(([module, colour]) => entry(module.replace(/^.*\/(?=[^/]+\/[^/]+$)/, "…/"), colour));
  if (all.length > shown.length) shown.push(entry(`${all.length - shown.length} others`, all.at(-1)[1]));
  return shown;
}

const requestKindNames = ["requestRuns", "requestWaits", "requestOthers", "requestRest"];

// look: { dark, modules, ofCall }; dots: [label, colour] of those in the plot of requests, besides the kinds.
export function showLegend(functions, view, diff, { dark, modules, ofCall }, dots = []) {
  const box = document.getElementById("legend");
  if (view.name === "waterfall") {
    box.replaceChildren(...dots.map(([label, colour]) => entry(label, colour)), ...requestKindNames.map((kind) => kindEntry(kind, dark)));
    return;
  }
  if (view.name === "lanes") {
    box.replaceChildren(...laneKinds.map((kind) => kindEntry(kind, dark)));
    return;
  }
  if (diff && !view.isTime) {
    const steps = [[0, 1], [0.6, 1], [1, 1], [1, 0.6], [1, 0]];
    const ramp = element("span", "ramp");
    for (const [now, before] of steps) {
      const cell = element("i", "dot");
      cell.style.background = changeColour(now * 1e6, before * 1e6, 1e9, dark);
      ramp.append(cell);
    }
    box.replaceChildren(element("span", "", "less than before"), ramp, element("span", "", "more"));
    return;
  }
  const others = view.isTime ? ["short", "waits", "suspended"] : [];
  if (ofCall && view.name === "chart") {
    box.replaceChildren(element("span", "", "a colour for each request"), entry("of none that is known", toneOf(-1, dark)), ...others.map((kind) => kindEntry(kind, dark)));
    return;
  }
  if (modules) {
    box.replaceChildren(...moduleEntries(functions, dark), ...others.map((kind) => kindEntry(kind, dark)));
    return;
  }
  const shown = new Set([...functions.filter((f) => f.calls > 0).map(kindOf), ...others]);
  box.replaceChildren(...[...shown].map((kind) => kindEntry(kind, dark)));
}

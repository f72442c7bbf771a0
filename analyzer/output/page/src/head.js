// SPDX-License-Identifier: MIT
// The texts around the graph: title, notes on the view that is shown, and the legend.
import { changeColour, kindColour, kindLabel, kindOf } from "./colour.js";
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
export function notesOf(profile, chart, view) {
  return (view.isTime ? chartNotes(chart) : treeNotes(profile)).join(" ");
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
    if (chart.shortest) notes.push(`Calls shorter than ${formatTime(chart.shortest)} are hatched blocks where they are close to each other and not drawn where they are single.`);
  }
  if (chart.hiddenTracks) {
    const one = chart.hiddenTracks === 1;
    notes.push(`${formatCount(chart.hiddenTracks)} short-lived ${one ? "coroutine is" : "coroutines are"} not shown.`);
  }
  if (chart.note) notes.push(chart.note);
  return notes;
}

function entry(label, colour, className) {
  const part = element("span");
  part.append(element("i", className ?? "dot"), label);
  part.firstChild.style.background = colour;
  return part;
}

const laneKinds = ["laneRuns", "laneWaits", "laneSuspended", "laneMixed"];

export function showLegend(functions, view, diff, dark) {
  const box = document.getElementById("legend");
  if (view.name === "lanes") {
    box.replaceChildren(...laneKinds.map((kind) => entry(kindLabel({ kind }), kindColour(kind, dark))));
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
  const kinds = new Map();
  const others = view.isTime ? ["short", "waits", "suspended"] : [];
  for (const f of functions) if (f.calls > 0) kinds.set(kindOf(f), kindLabel(f));
  for (const kind of others) kinds.set(kind, kindLabel({ kind }));
  box.replaceChildren(...[...kinds].map(([kind, label]) => entry(label, kindColour(kind, dark))));
}

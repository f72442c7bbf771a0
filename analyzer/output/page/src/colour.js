// SPDX-License-Identifier: MIT
// Colours: the kind of a function gives the hue, a hash of its name the shade, so that a function
// has the same colour everywhere and in every page. In a comparison the colour is the change: red
// for more time than before, blue for less; the larger the change, the stronger the colour.

const kinds = {
  lua: { label: "Lua", hue: 20, spread: 30, rich: 84 },
  c: { label: "C", hue: 205, spread: 20, rich: 68 },
  builtin: { label: "builtin", hue: 252, spread: 26, rich: 58 },
  coroutine: { label: "coroutine", hue: 138, spread: 26, rich: 42 },
  pseudo: { label: "other", hue: 30, spread: 0, rich: 6 },
  root: { label: "root", hue: 30, spread: 0, rich: 8 },
  // Of the views over time:
  short: { label: "short calls", hue: 38, spread: 0, rich: 60 },
  waits: { label: "waiting for a coroutine", hue: 138, spread: 0, rich: 22 },
  suspended: { label: "suspended", hue: 225, spread: 0, rich: 14 },
  filtered: { label: "filtered", hue: 30, spread: 0, rich: 4 },
  laneRuns: { label: "running", hue: 28, spread: 0, rich: 86 },
  laneWaits: { label: "waiting for a coroutine it resumed", hue: 138, spread: 0, rich: 34 },
  laneSuspended: { label: "suspended", hue: 225, spread: 0, rich: 18 },
  laneMixed: { label: "running and suspended in turn", hue: 28, spread: 0, rich: 60 },
};

export function kindOf(func) {
  return Object.hasOwn(kinds, func.kind) ? func.kind : "pseudo";
}

export function kindLabel(func) {
  return kinds[kindOf(func)].label;
}

function hash(text) {
  let h = 2166136261;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619);
  h ^= h >>> 15;
  return (Math.imul(h, 2246822519) >>> 0) / 2 ** 32;
}

// The middle colour of a kind, for the legend.
export function kindColour(kind, dark) {
  return shade(kinds[kind], 0.5, dark);
}

function shade(kind, place, dark) {
  const hue = kind.hue + kind.spread * place;
  const saturation = dark ? kind.rich * 0.55 : kind.rich;
  const light = dark ? 27 + 8 * (1 - place) : 74 + 8 * place;
  return `hsl(${hue.toFixed(1)} ${saturation}% ${light.toFixed(1)}%)`;
}

// func id -> CSS colour, made on first use.
export function makePalette(functions, dark) {
  const made = new Array(functions.length);
  return (id) => {
    const func = functions[id];
    return (made[id] ??= shade(kinds[kindOf(func)], hash((func.bare || func.name) + "\0" + func.chunk), dark));
  };
}

const changes = {
  light: { same: [226, 222, 215], more: [238, 106, 86], less: [104, 158, 230] },
  dark: { same: [56, 59, 66], more: [176, 54, 42], less: [44, 98, 172] },
};

// now, before: times of a box; whole: the time of everything. The strength depends on the change
// relative to the box and relative to everything: a tenth of a box that is nearly everything is much.
export function changeColour(now, before, whole, dark) {
  const { same, more, less } = changes[dark ? "dark" : "light"];
  const delta = now - before;
  const own = Math.abs(delta) / Math.max(now, before, 1);
  const part = Math.min(1, Math.max(own, (3 * Math.abs(delta)) / Math.max(whole, 1)));
  const to = delta > 0 ? more : less;
  const strength = own < 0.005 ? 0 : Math.sqrt(part);
  return `rgb(${same.map((from, i) => Math.round(from + (to[i] - from) * strength)).join(" ")})`;
}

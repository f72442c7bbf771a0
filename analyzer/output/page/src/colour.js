// SPDX-License-Identifier: MIT
// Colours: the kind of a function gives the hue, a hash of its name the shade, so that a function
// has the same colour everywhere and in every page. By module, each Lua file or library has one. In a comparison the colour is the change: red
// for more time than before, blue for less; the larger the change, the stronger the colour.

// rich: saturation; spread: of the hue over the functions. tones: hue, saturation and lightness in the light
// and the dark theme, of kinds without shades. Kinds that are shown together can be
// told apart in both themes, see tests/page/browser/colours.test.mjs.
const kinds = {
  lua: { label: "Lua", hue: 20, spread: 26, rich: 84 },
  c: { label: "C", hue: 200, spread: 20, rich: 72 },
  builtin: { label: "builtin", hue: 262, spread: 24, rich: 64 },
  coroutine: { label: "coroutine", hue: 138, spread: 22, rich: 46 },
  pseudo: { label: "other", hue: 30, spread: 0, rich: 6 },
  root: { label: "root", hue: 30, spread: 0, rich: 8 },
  // Of the views over time:
  short: { label: "short calls", tones: ["42 50% 54%", "50 60% 20%"], isHatched: true },
  waits: { label: "waiting for a coroutine", tones: ["170 30% 52%", "160 60% 20%"] },
  suspended: { label: "suspended", tones: ["225 12% 88%", "300 10% 41%"] },
  filtered: { label: "filtered", hue: 30, spread: 0, rich: 4 },
  lifetime: { label: "coroutine", tones: ["48 26% 86%", "225 7% 20%"] },
  laneRuns: { label: "running", hue: 28, spread: 0, rich: 86 },
  laneWaits: { label: "waiting for a coroutine it resumed", tones: ["170 30% 52%", "160 60% 20%"] },
  laneSuspended: { label: "suspended", tones: ["225 18% 66%", "225 10% 41%"] },
  requestRuns: { label: "running", tones: ["28 86% 66%", "28 60% 38%"] },
  requestWaits: { label: "waits", tones: ["208 62% 74%", "208 45% 36%"] },
  requestOthers: { label: "others held the worker", tones: ["326 50% 70%", "326 42% 40%"] },
  requestRest: { label: "unattributed", tones: ["60 6% 66%", "60 3% 27%"] },
  laneMixed: { label: "running and suspended in turn", tones: ["42 50% 54%", "50 60% 20%"], isHatched: true },
};

export function kindOf(func) {
  return Object.hasOwn(kinds, func.kind) ? func.kind : "pseudo";
}

export function kindLabel(func) {
  return kinds[kindOf(func)].label;
}

export function isHatched(kind) {
  return kinds[kind].isHatched === true;
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
  if (kind.tones) return `hsl(${kind.tones[dark ? 1 : 0]})`;
  const hue = kind.hue + kind.spread * place;
  const saturation = dark ? kind.rich * 0.55 : kind.rich;
  const light = dark ? 27 + 8 * (1 - place) : 74 + 8 * place;
  return `hsl(${hue.toFixed(1)} ${saturation}% ${light.toFixed(1)}%)`;
}

// func id -> CSS colour, made on first use. modules: by module instead of by kind and name.
export function makePalette(functions, dark, modules = false) {
  const made = new Array(functions.length);
  const byModule = modules ? moduleColours(functions, dark) : null;
  const colour = (func) => byModule?.get(moduleOf(func)) ?? shade(kinds[kindOf(func)], hash((func.bare || func.name) + "\0" + func.chunk), dark);
  return (id) => (made[id] ??= colour(functions[id]));
}

// Hue, saturation and lightness; chosen so that the least similar of all are the first.
const moduleTones = {
  light: ["24 80% 74%", "192 80% 58%", "300 80% 82%", "120 45% 58%", "48 80% 60%", "240 80% 76%", "348 80% 68%", "156 70% 76%", "300 70% 66%", "60 25% 66%"],
  dark: ["24 60% 34%", "204 60% 38%", "300 45% 44%", "120 60% 26%", "44 60% 30%", "244 50% 50%", "348 60% 40%", "165 45% 32%", "285 50% 28%", "75 14% 36%"],
};
const otherTone = { light: "30 8% 66%", dark: "30 6% 24%" };

// The Lua file or the library of a function; "" for what is no function.
export function moduleOf({ kind, chunk }) {
  if (kind === "builtin") return "builtin";
  return chunk.replace(/^[@=]/, "");
}

// Module -> CSS colour: a colour of its own for each of those with the largest self time, one for all
// others. In this order, for the legend.
export function moduleColours(functions, dark) {
  const times = new Map();
  for (const f of functions) {
    const module = moduleOf(f);
    if (module) times.set(module, (times.get(module) ?? 0) + f.self);
  }
  const list = [...times].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  return new Map(list.map(([module], i) => [module, toneOf(i, dark)]));
}

// The i-th of the colours of modules, which differ as much as possible; -1 and beyond them: of all others.
export function toneOf(i, dark) {
  const theme = dark ? "dark" : "light";
  return `hsl(${moduleTones[theme][i] ?? otherTone[theme]})`;
}

export const modulesInLegend = moduleTones.light.length;

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

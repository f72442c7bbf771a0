// SPDX-License-Identifier: MIT
// Colours: the kind of a function gives the hue, a hash of its name the shade, so that a function
// looks the same wherever it stands and in every page.

const kinds = {
  lua: { label: "Lua", hue: 20, spread: 30, rich: 84 },
  c: { label: "C", hue: 205, spread: 20, rich: 68 },
  ff: { label: "built-in", hue: 252, spread: 26, rich: 58 },
  coroutine: { label: "coroutine", hue: 138, spread: 26, rich: 42 },
  pseudo: { label: "other", hue: 30, spread: 0, rich: 6 },
  root: { label: "root", hue: 30, spread: 0, rich: 8 },
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
  const light = dark ? 33 + 9 * (1 - place) : 72 + 8 * place;
  return `hsl(${hue.toFixed(1)} ${saturation}% ${light.toFixed(1)}%)`;
}

// func id -> CSS colour, made on first use.
export function makePalette(functions, dark) {
  const made = new Array(functions.length);
  return (id) => {
    const func = functions[id];
    return (made[id] ??= shade(kinds[kindOf(func)], hash(func.name + "\0" + func.chunk), dark));
  };
}

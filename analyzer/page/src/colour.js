// SPDX-License-Identifier: MIT
// Colours: the kind of a function gives the hue, a hash of its name the shade, so that a function
// looks the same wherever it stands and in every page.

const kinds = {
  lua: { label: "Lua", hue: 22, spread: 30 },
  c: { label: "C", hue: 203, spread: 22 },
  ff: { label: "built-in", hue: 262, spread: 22 },
  coroutine: { label: "coroutine", hue: 138, spread: 24 },
  pseudo: { label: "other", hue: 0, spread: 0, grey: true },
  root: { label: "root", hue: 0, spread: 0, grey: true },
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
  const saturation = kind.grey ? 6 : dark ? 46 : 84;
  const light = dark ? 33 + 9 * (1 - place) : (kind.grey ? 80 : 71) + 8 * place;
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

// SPDX-License-Identifier: MIT
// Decodes the data in the page: `profile` (names and totals per function) and the call tree.
//
// A tree, here and in bottom_up.js, is a set of columns with one entry per node: parent, func,
// depth, calls, self, total (times in ns). Node 0 is the root; a parent precedes its children.
// A comparison adds wasCalls, wasSelf and wasTotal: the figures before.

export function readProfile(text) {
  const meta = JSON.parse(text);
  const from = meta.functions;
  const functions = from.name.map((name, id) => ({
    id,
    name: name ? name + (from.hint[id] ? "?" : "") : "(anonymous)",
    bare: name,
    hint: from.hint[id] === 1,  // the name comes from a call, not from the definition: shown with "?"
    where: from.main[id] ? "main chunk" : placeText(from.chunks[from.chunk[id]], from.line[id]),
    chunk: from.chunks[from.chunk[id]],
    kind: from.kinds[from.kind[id]],
    calls: from.calls[id],
    inclusive: from.inclusive[id],
    self: from.self[id],
    before: meta.diff ? { calls: from.beforeCalls[id], inclusive: from.beforeInclusive[id], self: from.beforeSelf[id] } : null,
    times: readTimes(from.times[id]),
    apportioned: from.apportioned ? { inclusive: from.apportioned[id], self: from.selfApportioned[id] } : null,
    cpu: from.cpu ? { inclusive: from.cpu[id], self: from.selfCpu[id] } : null,  // if CPU times are known
  }));
  addPseudo(functions, "[pruned]", "call paths too small to keep", "pseudo");
  addPseudo(functions, "all", "", "root");
  return { ...meta, functions };
}

// Adds an entry for something that is drawn but is not a function; returns its id.
export function addPseudo(functions, name, where, kind, isDrawn = false) {
  const before = { calls: 0, inclusive: 0, self: 0 };
  return functions.push({ id: functions.length, name, where, chunk: "", kind, isDrawn, before, calls: 0, inclusive: 0, self: 0, times: null }) - 1;
}

function readTimes(list) {
  if (!list) return null;
  const [complete, min, average, max, wall, p50, p90, p99, p999, deviation] = list;
  return { complete, min, average, max, wall, p50, p90, p99, p999, deviation };
}

// "file.lua:12". The prefixes "@" and "=" of Lua's chunk names are not part of the name.
function placeText(chunk, line) {
  const name = chunk.replace(/^[@=]/, "");
  return line ? `${name}:${line}` : name;
}

function bytesOf(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

// Returns a function that reads the next number: unsigned LEB128 in base64.
export function numbersOf(base64) {
  const bytes = bytesOf(base64);
  let at = 0;
  return () => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[at++];
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  };
}

const figures = ["calls", "self", "total"];
const figuresBefore = ["wasCalls", "wasSelf", "wasTotal"];

export function figuresOf(diff) {
  return diff ? [...figures, ...figuresBefore] : figures;
}

export function newTree(size, diff) {
  const tree = { size, diff, parent: new Int32Array(size), func: new Int32Array(size), depth: new Int32Array(size) };
  for (const name of figuresOf(diff)) tree[name] = new Float64Array(size);
  return tree;
}

// Swaps the figures now and before.
export function swapTimes(tree) {
  figures.forEach((name, i) => ([tree[name], tree[figuresBefore[i]]] = [tree[figuresBefore[i]], tree[name]]));
}

// The nodes are in preorder: levels up from one below the previous node, function, calls, self
// time; in a comparison also calls and self time before.
export function readTree(base64, size, diff) {
  const number = numbersOf(base64);
  const tree = newTree(size, diff);
  const path = [];  // the last node of each depth
  let below = 0;
  for (let node = 0; node < size; node++) {
    const depth = below - number();
    path[depth] = node;
    below = depth + 1;
    tree.parent[node] = depth ? path[depth - 1] : -1;
    tree.depth[node] = depth;
    tree.func[node] = number();
    tree.calls[node] = number();
    tree.self[node] = number();
    if (!diff) continue;
    tree.wasCalls[node] = number();
    tree.wasSelf[node] = number();
  }
  sumTotals(tree);
  return tree;
}

// Sets the totals from the self times.
export function sumTotals(tree) {
  sumUp(tree, tree.self, tree.total);
  if (tree.diff) sumUp(tree, tree.wasSelf, tree.wasTotal);
}

function sumUp({ size, parent }, self, total) {
  for (let node = size - 1; node >= 0; node--) {
    total[node] += self[node];
    if (node) total[parent[node]] += total[node];
  }
}

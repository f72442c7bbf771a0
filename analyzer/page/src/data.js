// SPDX-License-Identifier: MIT
// The data in the page to columns in memory: `profile` (names and totals per function) and the
// call tree.
//
// A tree, here and in bottom_up.js, is a set of columns with one place per node: parent, func,
// depth, calls, self, total (times in ns). Node 0 is the root; a parent stands before its children.

export function readProfile(text) {
  const meta = JSON.parse(text);
  const from = meta.functions;
  const functions = from.name.map((name, id) => ({
    id,
    name: name || (from.line[id] ? "(anonymous)" : "(main chunk)"),
    where: placeText(from.chunks[from.chunk[id]], from.line[id]),
    chunk: from.chunks[from.chunk[id]],
    kind: from.kinds[from.kind[id]],
    calls: from.calls[id],
    inclusive: from.inclusive[id],
    self: from.self[id],
  }));
  const pseudo = (name, where, kind) =>
    functions.push({ id: functions.length, name, where, chunk: "", kind, calls: 0, inclusive: 0, self: 0 });
  pseudo("[pruned]", "calls too small to keep", "pseudo");
  pseudo("all", "", "root");
  return { ...meta, functions };
}

// "file.lua:12"; the marks "@" and "=" of Lua's chunk names are not part of the name.
function placeText(chunk, line) {
  const name = chunk.replace(/^[@=]/, "");
  return line ? `${name}:${line}` : name;
}

function bytesOf(base64) {
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

export function newTree(size) {
  return {
    size,
    parent: new Int32Array(size),
    func: new Int32Array(size),
    depth: new Int32Array(size),
    calls: new Float64Array(size),
    self: new Float64Array(size),
    total: new Float64Array(size),
  };
}

// The nodes come in preorder: levels up from one below the last node, function, calls, self time.
export function readTree(base64, size) {
  const bytes = bytesOf(base64);
  const tree = newTree(size);
  let at = 0;
  const number = () => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[at++];
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  };
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
  }
  for (let node = size - 1; node >= 0; node--) {
    tree.total[node] += tree.self[node];
    if (node) tree.total[tree.parent[node]] += tree.total[node];
  }
  return tree;
}

// SPDX-License-Identifier: MIT
// Search: which functions match, and how much time is spent in stacks that hold one of them.

// A test for a text, or null for an empty one. Plain text is found anywhere, in any case; with
// `regex` it is a regular expression. Throws SyntaxError for a bad expression.
export function makeMatcher(text, regex) {
  if (text === "") return null;
  if (regex) {
    const expression = new RegExp(text, "i");
    return (candidate) => expression.test(candidate);
  }
  const wanted = text.toLowerCase();
  return (candidate) => candidate.toLowerCase().includes(wanted);
}

// { flags: one byte per function, count }. The name, the place or both in a line can match, so that
// "^" and "$" of an expression mean the ends of either; the root is never a match, and what is drawn
// over time without being a function is marked but not counted.
export function matchFunctions(functions, matcher) {
  const flags = new Uint8Array(functions.length);
  let count = 0;
  for (const f of functions) {
    if (f.kind === "root" || ![f.name, f.bare ?? f.name, f.where, `${f.name} ${f.where}`].some(matcher)) continue;
    flags[f.id] = 1;
    if (!f.isDrawn) count++;
  }
  return { flags, count };
}

// The self time of all nodes under `top` that match or have a match among their callers, so that
// nested matches count once. Needs the call tree (preorder).
export function matchedTime(calls, flags, top) {
  const inside = new Uint8Array(calls.size);
  let time = 0;
  for (let node = 0; node < calls.size; node++) {
    const parent = calls.parent[node];
    inside[node] = flags[calls.func[node]] | (parent >= 0 ? inside[parent] : 0);
    if (node > top && calls.depth[node] <= calls.depth[top]) break;
    if (node >= top && inside[node]) time += calls.self[node];
  }
  return time;
}

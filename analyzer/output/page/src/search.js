// SPDX-License-Identifier: MIT
// Search: which functions match, and how much time is spent in call stacks with one of them.

// A function that tests a string; null if the text is empty. The text is searched for regardless of
// case; with `regex` it is a regular expression. Throws SyntaxError if that is invalid.
export function makeMatcher(text, regex) {
  if (text === "") return null;
  if (regex) {
    const expression = new RegExp(text, "i");
    return (candidate) => expression.test(candidate);
  }
  const wanted = text.toLowerCase();
  return (candidate) => candidate.toLowerCase().includes(wanted);
}

// Whether a regular expression takes little time whatever it is matched against. That of an address is
// not run otherwise: a browser cannot stop it. With one quantifier, not of a group, the time grows with the
// square of a name's length; each choice in a group may double it.
export function isHarmless(text) {
  const bare = text.replace(/\\[^\d]/g, "x").replace(/\[[^\]]*\]/g, "x");
  const count = (marks) => (bare.match(marks) ?? []).length;
  const choices = bare.includes("(") ? count(/\|/g) : 0;
  return text.length <= 200 && !/\\\d|\)[*+?{]/.test(bare) && count(/[*+?{]/g) <= 1 && choices <= 4;
}

// { flags: one byte per function, count }. The name, the location, or both joined by a space can
// match, so that "^" and "$" stand for the ends of each. The root never matches; what is drawn over
// time but is not a function is marked but not counted.
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

// The self time of `top` and all nodes below it that match or have a match among their callers, so
// that nested matches count once. Needs the call tree (preorder).
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

// SPDX-License-Identifier: MIT
// The tests' own sums over a call tree, written for clarity: each call stack is spelled out, and no
// code is shared with the page. Nodes are [parent, function, calls, self], node 0 is the root.

// Every function has a different share, one is recursive, one has three call paths and one runs in a
// coroutine, so that confusing any two gives a different number.
export const sample = {
  functions: [
    ["lua", 1, "@main.lua", "main"],
    ["lua", 10, "@main.lua", "alpha"],
    ["lua", 20, "@lib/b.lua", "beta"],
    ["builtin", 0, "[builtin]", "string.gsub"],
    ["coroutine", 33, "@lib/b.lua", "worker"],
    ["c", 0, "/usr/lib/native.so", "lua_native"],
  ],
  nodes: [
    [0, 0, 0, 0],
    [0, 0, 1, 200_000],
    [1, 1, 10, 2_000_000],
    [2, 2, 20, 3_000_000],
    [3, 3, 40, 1_500_000],
    [1, 2, 5, 4_000_000],
    [5, 1, 7, 600_000],
    [0, 4, 3, 500_000],
    [7, 3, 9, 2_500_000],
    [6, 5, 2, 700_000],
    [2, 1, 4, 900_000],
  ],
};

// Each node with its call stack: function names from the outermost call to its own.
export function stacks({ functions, nodes }) {
  const made = [[]];
  return nodes.map(([parent, f, calls, self], i) => {
    if (i > 0) made[i] = [...made[parent], functions[f][3]];
    return { stack: made[i], calls, self };
  });
}

const sum = (list, key) => list.reduce((total, item) => total + item[key], 0);

export function totalTime(tree) {
  return sum(stacks(tree), "self");
}

// Time of all call stacks that begin with the path, e.g. "main/alpha"; "" is everything.
export function inclusive(tree, path) {
  const names = path === "" ? [] : path.split("/");
  return sum(stacks(tree).filter(({ stack }) => names.every((name, i) => stack[i] === name)), "self");
}

// Time of the call stacks that begin with the path and have a name that passes the test.
export function timeWith(tree, test, path = "") {
  const names = path === "" ? [] : path.split("/");
  const under = stacks(tree).filter(({ stack }) => names.every((name, i) => stack[i] === name));
  return sum(under.filter(({ stack }) => stack.some(test)), "self");
}

// Path from a leaf to its callers ("string.gsub/beta") -> { time, calls } of the leaf.
export function bottomUp(tree) {
  const paths = new Map();
  for (const { stack, calls, self } of stacks(tree)) {
    if (self === 0) continue;
    const back = [...stack].reverse();
    for (let length = 1; length <= back.length; length++) {
      const path = back.slice(0, length).join("/");
      const entry = paths.get(path) ?? { time: 0, calls: 0 };
      paths.set(path, { time: entry.time + self, calls: entry.calls + calls });
    }
  }
  return paths;
}

// Per function: calls, inclusive (recursion once) and self.
export function byFunction(tree) {
  return tree.functions.map(([, , , name]) => {
    const own = stacks(tree).filter(({ stack }) => stack.at(-1) === name);
    const with_ = stacks(tree).filter(({ stack }) => stack.includes(name));
    return { name, calls: sum(own, "calls"), inclusive: sum(with_, "self"), self: sum(own, "self") };
  });
}

export function percent(part, whole) {
  return `${((100 * part) / whole).toFixed(2)} %`;
}

// A tree of `size` nodes with similar times, so that no part of it is small; the same for the same
// seed.
export function randomTree(size, seed) {
  let state = seed;
  const random = (below) => {
    state = (state * 48271) % 2147483647;
    return state % below;
  };
  const functions = Array.from({ length: 12 }, (_, i) => ["lua", i + 1, "@r.lua", `f${i}`]);
  const nodes = [[0, 0, 0, 0]];
  const known = new Set();
  while (nodes.length < size) {
    const parent = random(nodes.length);
    const f = random(functions.length);
    if (known.has(`${parent} ${f}`)) continue;  // siblings differ in function, as in a trace
    known.add(`${parent} ${f}`);
    nodes.push([parent, f, 1 + random(9), random(4) ? 1000 + random(1000) : 0]);
  }
  return { functions, nodes };
}

// A chart of the sample's functions: coroutine 1 resumes 2 twice, which resumes 3; no
// two lengths are equal. Slices: [kind, depth, what, begin, length, self, suspended, calls].
export const kinds = { short: 0, call: 1, resumed: 2, suspended: 3, filtered: 4 };
export const timeSample = {
  chart: { shortest: 700, calls: 1007, self: 9_000_000, hiddenCalls: 1000, hiddenTime: 600_000, hiddenTracks: 4, note: "A note." },
  tracks: [
    { thread: "thread 11", name: "coroutine 1", begin: 5_000_000, end: 15_000_000, suspended: 0, waiting: 2_500_000, resumes: 0, resumer: 0, slices: [
      [1, 0, 0, 5_000_000, 10_000_000, 2_000_000, 0, 0],
      [1, 1, 1, 6_000_000, 3_000_000, 2_400_000, 0, 7],
      [0, 2, 0, 6_500_000, 1_000_000, 600_000, 0, 1000],
      [2, 1, 2, 10_000_000, 1_000_000, 0, 0, 0],
      [1, 1, 2, 11_000_000, 900_000, 900_000, 0, 0],
      [2, 1, 2, 13_000_000, 1_500_000, 0, 0, 0],
    ] },
    { thread: "thread 11", name: "coroutine 2", begin: 10_000_000, end: 14_500_000, suspended: 2_000_000, waiting: 500_000, resumes: 2, resumer: 1, slices: [
      [1, 0, 4, 10_000_000, 4_500_000, 2_000_000, 2_000_000, 0],
      [3, 1, 0, 11_000_000, 2_000_000, 0, 0, 0],
      [2, 1, 3, 13_500_000, 500_000, 0, 0, 0],
    ] },
    { thread: "thread 12", name: "coroutine 3", begin: 13_500_000, end: 14_000_000, suspended: 0, waiting: 0, resumes: 1, resumer: 2, slices: [
      [1, 0, 5, 13_500_000, 500_000, 500_000, 0, 0],
    ] },
  ],
};

// The lines that make_page reads.
export function timeText({ chart, tracks }) {
  const lines = [["chart", chart.shortest, chart.calls, chart.self, chart.hiddenCalls, chart.hiddenTime, chart.hiddenTracks, chart.note, chart.zero ?? 0]];
  for (const track of tracks) {
    const { thread, name, begin, end, suspended, waiting, resumes, resumer, vm, slices } = track;
    lines.push(["track", thread, name, begin, end, suspended, waiting, resumes, resumer, vm ?? 1]);
    for (const slice of slices) lines.push(["slice", ...slice]);
  }
  return lines.map((line) => line.join("\t")).join("\n") + "\n";
}

// SPDX-License-Identifier: MIT
// The position of each node of a tree: x in ns from the left edge, and the row.
//
// A row is the list of the nodes of one depth from left to right. Siblings touch and a parent's
// children start at its left edge, so a row is sorted by both ends of its nodes and any part of it
// is found by bisection: painting costs by the pixel, not by the node.

// The children of each node: those of n are list[first[n]] ... list[first[n + 1] - 1].
function childLists(tree) {
  const first = new Int32Array(tree.size + 2);
  const list = new Int32Array(Math.max(tree.size - 1, 0));
  for (let node = 1; node < tree.size; node++) first[tree.parent[node] + 2]++;
  for (let i = 1; i < first.length; i++) first[i] += first[i - 1];
  for (let node = 1; node < tree.size; node++) list[first[tree.parent[node] + 1]++] = node;
  return { first, list };
}

// order: "size" (largest first), "name" (rank[function] is its place in alphabetical order) or "call"
// (the order in the tree, which is that of the first calls).
export function makeLayout(tree, order, rank) {
  const { first, list } = childLists(tree);
  const { total, func, depth } = tree;
  const compare = order === "size"
    ? (a, b) => total[b] - total[a] || a - b
    : (a, b) => rank[func[a]] - rank[func[b]] || a - b;
  const start = new Float64Array(tree.size);
  const row = new Int32Array(tree.size);
  const rowFirst = [];
  let filled = tree.size ? 1 : 0;
  for (let at = 0; at < filled; at++) {
    const node = row[at];
    if (rowFirst.length === depth[node]) rowFirst.push(at);
    const children = list.subarray(first[node], first[node + 1]);
    if (order !== "call" && children.length > 1) sortPart(children, compare);
    let x = start[node];
    for (const child of children) {
      start[child] = x;
      x += total[child];
      row[filled++] = child;
    }
  }
  rowFirst.push(filled);
  return { tree, start, row, rowFirst, rows: rowFirst.length - 1 };
}

// Most nodes have few children: an insertion sort of these is faster than a general sort.
function sortPart(part, compare) {
  if (part.length > 12) {
    part.sort(compare);
    return;
  }
  for (let i = 1; i < part.length; i++) {
    const node = part[i];
    let j = i;
    for (; j > 0 && compare(part[j - 1], node) > 0; j--) part[j] = part[j - 1];
    part[j] = node;
  }
}

// The first index in the row, not before `from`, whose node ends after x; the row's end if none.
export function firstAfter(layout, depth, x, from = layout.rowFirst[depth]) {
  const { row, start, tree } = layout;
  let low = from;
  let high = layout.rowFirst[depth + 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (start[row[middle]] + tree.total[row[middle]] > x) high = middle;
    else low = middle + 1;
  }
  return low;
}

// The node at x in a row, or -1.
export function nodeAt(layout, depth, x) {
  if (depth < 0 || depth >= layout.rows) return -1;
  const place = firstAfter(layout, depth, x);
  if (place === layout.rowFirst[depth + 1]) return -1;
  const node = layout.row[place];
  return layout.start[node] <= x ? node : -1;
}

// The node of the row `step` below (above, if negative) at the time at which `node` begins, else the
// next or the last one there; -1 if there is no such row.
export function atSameTime(layout, node, step) {
  const row = layout.tree.depth[node] + step;
  if (row < 0 || row >= layout.rows) return -1;
  const at = firstAfter(layout, row, layout.start[node]);
  const last = layout.rowFirst[row + 1] - 1;
  return last < layout.rowFirst[row] ? -1 : layout.row[Math.min(at, last)];
}

// The number of rows up to the last one that has a node between x and x + width, from `depth` on
// without a gap.
export function rowsIn(layout, depth, x, width) {
  let rows = depth + 1;
  while (rows < layout.rows) {
    const place = firstAfter(layout, rows, x);
    if (place === layout.rowFirst[rows + 1] || layout.start[layout.row[place]] >= x + width) break;
    rows++;
  }
  return rows;
}

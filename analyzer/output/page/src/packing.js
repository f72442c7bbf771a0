// SPDX-License-Identifier: MIT
// How many coroutines share few rows: those with the same body (outermost function) on the same thread
// form a group, and within it a coroutine takes the first slot that no other one has at its time.
//
// Invariant: the lifetimes in a slot do not overlap.

// tracks, in the order of their beginning -> [{ thread, func: the body, tracks, begin }]; groups of a
// thread are adjacent, threads and groups in the order of their first coroutine.
export function groupTracks(tracks) {
  const threads = new Map();
  for (const track of tracks) {
    if (!threads.has(track.thread)) threads.set(track.thread, new Map());
    const groups = threads.get(track.thread);
    if (!groups.has(track.func)) groups.set(track.func, { thread: track.thread, func: track.func, tracks: [] });
    groups.get(track.func).tracks.push(track);
  }
  return [...threads.values()].flatMap((groups) => [...groups.values()]);
}

// The slots of a group: lists of tracks, one after the other in time.
export function packSlots(tracks) {
  const slots = [];
  const busy = new Heap((a, b) => a.end - b.end);
  const free = new Heap((a, b) => a.slot - b.slot);
  for (const track of [...tracks].sort((a, b) => a.begin - b.begin || a.id - b.id)) {
    while (busy.size && busy.first.end <= track.begin) free.add(busy.take());
    const slot = free.size ? free.take().slot : slots.push([]) - 1;
    slots[slot].push(track);
    busy.add({ slot, end: Math.max(track.end, track.begin) });
  }
  return slots;
}

// The key of a group, for remembering which are open.
export function groupKey(group) {
  return `${group.thread} ${group.func}`;
}

export function groupTitle({ func, tracks }, functions) {
  const body = func < 0 ? "coroutines without calls" : functions[func].name;
  return tracks.length === 1 ? body : `${body} × ${tracks.length.toLocaleString("en-US")}`;
}

class Heap {
  constructor(compare) {
    this.compare = compare;
    this.list = [];
  }

  get size() {
    return this.list.length;
  }

  get first() {
    return this.list[0];
  }

  add(item) {
    const { list, compare } = this;
    let at = list.push(item) - 1;
    for (let up = (at - 1) >> 1; at > 0 && compare(list[at], list[up]) < 0; at = up, up = (at - 1) >> 1) {
      [list[at], list[up]] = [list[up], list[at]];
    }
  }

  take() {
    const { list, compare } = this;
    const top = list[0];
    const last = list.pop();
    if (!list.length) return top;
    list[0] = last;
    for (let at = 0; ; ) {
      let least = at;
      for (const child of [2 * at + 1, 2 * at + 2]) if (child < list.length && compare(list[child], list[least]) < 0) least = child;
      if (least === at) return top;
      [list[at], list[least]] = [list[least], list[at]];
      at = least;
    }
  }
}

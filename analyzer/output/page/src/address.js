// SPDX-License-Identifier: MIT
// The state of the page in its address, after "#": a link opens the same place, and Back goes back.
//
// The address is untrusted: what does not fit this page is ignored.
import { transforms } from "./transforms.js";

const maxPath = 200;  // functions in the path of a zoomed box
const views = ["calls", "callers", "chart", "lanes", "sandwich", "requests"];
const oneOf = (list) => (text) => (list.includes(text) ? text : undefined);
const flag = (text) => text === "1";

const number = (text) => (/^\d{1,16}$/.test(text) ? Number(text) : undefined);
const numbers = (text) => {
  const list = text.split(".").map(number);
  return list.length <= maxPath && !list.includes(undefined) ? list : undefined;
};

const listOf = (count) => (text) => {
  const list = numbers(text);
  return list?.length === count ? list : undefined;
};

// How each part is read; the names are those in the address.
const parts = {
  view: oneOf(views),
  range: (text) => {
    const list = numbers(text.replace("-", "."));
    return list?.length === 2 && list[1] > list[0] ? { x: list[0], span: list[1] - list[0] } : undefined;
  },
  zoom: numbers,    // the functions from the root to the zoomed box
  node: number,     // the zoomed box, where the path would be too long
  of: number,       // the function of the sandwich
  half: oneOf(["callers"]),  // of the sandwich: zoom is that of the callers
  chosen: number,   // the function that is marked
  flip: flag,
  order: oneOf(["size", "name", "call"]),
  lanes: oneOf(["packed", "begin", "life", "running", "suspended", "resumes"]),
  active: flag,
  sort: (text) => (/^[a-zA-Z]+-(up|down)$/.test(text) ? text : undefined),
  request: listOf(2),  // file and id
  picked: listOf(4),   // the part of the plot of requests: x, span, low, high
  dots: oneOf(["share", "phase"]),
  requestOrder: (text) => (/^[a-zA-Z]+-(up|down)$/.test(text) ? text : undefined),
  before: flag,
  colour: oneOf(["function", "module", "request"]),
  search: (text) => text.slice(0, 1000),
  regex: flag,
  with: (text) => {
    const list = text.split(" ").map((one) => {
      const [type, func] = one.split("-");
      return { type, func: number(func ?? "") };
    });
    return list.every(({ type, func }) => Object.hasOwn(transforms, type) && func !== undefined) ? list.slice(0, 50) : undefined;
  },
};

const writers = {
  range: ({ x, span }) => `${Math.floor(x)}-${Math.ceil(x + span)}`,
  zoom: (list) => list.join("."),
  request: (list) => list.join("."),
  picked: (list) => list.join("."),
  with: (list) => list.map(({ type, func }) => `${type}-${func}`).join(" "),
};

// The parts of a state that are not as in `usual`, as text.
export function stateText(state, usual) {
  const words = new URLSearchParams();
  for (const name of Object.keys(parts)) {
    const value = state[name];
    if (value === undefined || value === usual[name] || (Array.isArray(value) && !value.length)) continue;
    words.set(name, writers[name] ? writers[name](value) : value === true ? "1" : value === false ? "0" : value);
  }
  return words.toString();
}

export function stateFrom(text, usual) {
  const state = { ...usual };
  for (const [name, value] of new URLSearchParams(text.replace(/^#/, ""))) {
    const read = Object.hasOwn(parts, name) ? parts[name](value) : undefined;
    if (read !== undefined) state[name] = read;
  }
  return state;
}

// Keeps the address up to date. page: state(), usual (the state of a page that was just opened) and
// restore(state).
export class Address {
  constructor(page) {
    this.page = page;
    this.text = "";
    this.timer = 0;
    this.isRestoring = false;
    this.isStep = this.isPut = false;  // since when changes are parts of one step: see changed()
    window.addEventListener("popstate", () => this.restore());
    window.addEventListener("hashchange", () => this.restore());
  }

  // Shows what the address says.
  restore() {
    const text = location.hash.replace(/^#/, "");
    if (text === this.text) return;
    this.text = text;
    this.isRestoring = true;
    this.page.restore(stateFrom(text, this.page.usual));
    this.isRestoring = false;
    this.settle();
  }

  // To be called after each change. isStep: Back shall come back to what was before it. The first change
  // is written as soon as the page has done all of it; those that soon follow, as with a wheel, are part of
  // the same step, of which only the last state is kept.
  changed(isStep) {
    if (this.isRestoring) return;
    this.isStep = this.isStep || isStep;
    if (!this.timer) queueMicrotask(() => this.put());
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.write(), 250);
  }

  // The step is complete.
  write() {
    this.put();
    this.settle();
  }

  settle() {
    clearTimeout(this.timer);
    this.timer = 0;
    this.isStep = this.isPut = false;
  }

  put() {
    const text = stateText(this.page.state(), this.page.usual);
    if (text === this.text || this.isRestoring) return;
    const isStep = this.isStep && !this.isPut;
    this.isPut = this.isPut || isStep;
    this.text = text;
    const address = text ? `#${text}` : location.pathname;
    try {
      if (isStep) history.pushState(null, "", address);
      else history.replaceState(null, "", address);
    } catch {
      // In some frames the address cannot be changed: the page works without it.
    }
  }
}

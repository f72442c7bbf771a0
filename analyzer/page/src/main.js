// SPDX-License-Identifier: MIT
// Start reading here. Reads the data, makes the view (what is looked at), the graph and the table,
// and joins them to the buttons, the search box and the keys.
import { kindColour, kindLabel, kindOf, makePalette } from "./colour.js";
import { readProfile, readTree } from "./data.js";
import { describe, element, fillLine } from "./details.js";
import { formatCount, formatShare, formatTime } from "./format.js";
import { Graph } from "./graph.js";
import { listenToKeys, showHelp } from "./keys.js";
import { makeMatcher, matchedTime, matchFunctions } from "./search.js";
import { FunctionTable } from "./table.js";
import { inks, startTheme } from "./theme.js";
import { View } from "./view.js";

const at = (id) => document.getElementById(id);

class Page {
  constructor() {
    this.profile = readProfile(at("meta").textContent);
    this.calls = readTree(at("nodes").textContent, this.profile.nodes);
    this.functions = this.profile.functions;
    this.view = new View(this.profile, this.calls);
    this.look = { marks: null, chosen: -1 };
    this.found = null;  // the functions that match the search
    this.problem = "";  // why the search cannot be understood
    this.setTheme(startTheme((theme) => this.setTheme(theme)));
    this.graph = new Graph(this.view, this.look, (node) => this.pick(node));
    const colour = (id) => this.look.colour(id);
    this.table = new FunctionTable(this.functions, this.view.total, colour, (id) => this.choose(id));
    this.showHead();
    this.listen();
    this.table.show();
    this.graph.fit();
    this.showState();
  }

  setTheme(theme) {
    const dark = theme === "dark";
    this.look.ink = inks[theme];
    this.look.colour = makePalette(this.functions, dark);
    this.showLegend(dark);
    if (!this.table) return;  // still starting
    this.table.show();
    this.graph.draw();
  }

  listen() {
    for (const button of document.querySelectorAll("[data-view]")) {
      button.addEventListener("click", () => this.setCallers(button.dataset.view === "callers"));
    }
    for (const button of document.querySelectorAll("[data-shape]")) {
      button.addEventListener("click", () => this.setFlip(button.dataset.shape === "flame"));
    }
    at("order").addEventListener("change", (event) => this.setOrder(event.target.value));
    at("search").addEventListener("input", () => this.search());
    at("regex").addEventListener("click", () => this.setRegex(at("regex").getAttribute("aria-pressed") !== "true"));
    at("help").addEventListener("click", showHelp);
    listenToKeys(this);
  }

  setCallers(callers) {
    this.view.setCallers(callers);
    this.graph.update(false);
    this.graph.setFlip(this.graph.flip);
    this.showState();
  }

  setFlip(flip) {
    this.graph.setFlip(flip);
    this.showState();
  }

  setOrder(order) {
    at("order").value = order;
    this.view.setOrder(order);
    this.graph.update(false);
  }

  pick(node) {
    this.view.selected = node;
    this.zoomTo(node);
  }

  zoomTo(node) {
    if (!this.view.tree.size) return;
    this.view.zoomTo(node);
    if (this.view.selected >= 0 && !this.view.isInZoom(this.view.selected)) this.view.selected = -1;
    this.graph.update(true);
    this.showState();
  }

  select(node) {
    this.view.selected = node;
    this.graph.reveal(node, 1);
    this.graph.draw();
    this.showDetails();
  }

  // A function of the table: its frames are marked and the widest is shown; -1 or again: none.
  choose(id) {
    this.look.chosen = id === this.look.chosen ? -1 : id;
    this.table.select(this.look.chosen);
    const node = this.look.chosen < 0 ? -1 : this.view.widest(id);
    if (node >= 0 && !this.view.isInZoom(node)) this.zoomTo(0);
    this.select(node);
  }

  setRegex(on) {
    at("regex").setAttribute("aria-pressed", on);
    this.search();
  }

  clearSearch() {
    at("search").value = "";
    this.search();
  }

  search() {
    const regex = at("regex").getAttribute("aria-pressed") === "true";
    let matcher = null;
    this.problem = "";
    try {
      matcher = makeMatcher(at("search").value, regex);
    } catch (error) {
      this.problem = error.message;
    }
    this.found = matcher && matchFunctions(this.functions, matcher);
    this.look.marks = this.table.marks = this.found ? this.found.flags : null;
    this.table.show();
    this.showFound();
    this.graph.draw();
  }

  // How much of the time is in stacks that hold a match.
  showFound() {
    const { found, view, calls } = this;
    at("search").setAttribute("aria-invalid", this.problem !== "");
    at("found").classList.toggle("bad", this.problem !== "");
    at("found").title = this.problem;
    if (!found) {
      at("found").textContent = this.problem && "not a regular expression";
      return;
    }
    const parts = [`${formatCount(found.count)} ${found.count === 1 ? "function" : "functions"}`];
    parts.push(`${formatShare(matchedTime(calls, found.flags, 0), view.total)} of time`);
    if (view.zoom > 0 && !view.callers) {
      const share = formatShare(matchedTime(calls, found.flags, view.zoom), calls.total[view.zoom]);
      parts.push(`${share} of zoomed`);
    }
    at("found").textContent = parts.join(" · ");
  }

  showState() {
    const press = (button, on) => button.setAttribute("aria-pressed", on);
    for (const button of document.querySelectorAll("[data-view]")) {
      press(button, (button.dataset.view === "callers") === this.view.callers);
    }
    for (const button of document.querySelectorAll("[data-shape]")) {
      press(button, (button.dataset.shape === "flame") === this.graph.flip);
    }
    this.showCrumbs();
    this.showDetails();
    this.showFound();
  }

  // The way from the root to the zoomed node; of a long one its ends.
  showCrumbs() {
    const { view } = this;
    const way = view.tree.size ? view.wayTo(view.zoom) : [];
    const shown = way.length > 8 ? [way[0], -1, ...way.slice(-5)] : way;
    const parts = [];
    for (const node of shown) {
      if (parts.length) parts.push(element("span", "", "›"));
      parts.push(node < 0 ? element("span", "", `${way.length - 6} more`) : this.crumb(node));
    }
    at("crumbs").replaceChildren(...parts);
  }

  crumb(node) {
    const button = element("button", "", this.functions[this.view.tree.func[node]].name);
    button.type = "button";
    button.title = button.textContent;
    if (node === this.view.zoom) button.setAttribute("aria-current", "true");
    button.addEventListener("click", () => this.pick(node));
    return button;
  }

  showDetails() {
    const { view, look } = this;
    if (look.chosen >= 0) {
      fillLine(at("details"), this.describeFunction(this.functions[look.chosen]));
    } else if (view.selected >= 0) {
      fillLine(at("details"), describe(view.selected, view));
    } else {
      const hint = view.total > 0 ? "Click a box to zoom · / to search · ? for all keys" : "No time was recorded";
      at("details").replaceChildren(element("span", "hint", hint));
    }
  }

  describeFunction(f) {
    const rows = [["calls", formatCount(f.calls)]];
    for (const [label, time] of [["inclusive", f.inclusive], ["self", f.self]]) {
      rows.push([label, `${formatTime(time)} (${formatShare(time, this.view.total)})`]);
    }
    if (this.view.selected < 0) rows.push(["in this graph", "too small to be shown"]);
    return { name: f.name, where: f.where, rows };
  }

  showHead() {
    const { profile } = this;
    at("title").textContent = profile.title;
    at("subtitle").replaceChildren(...profile.subtitle.map((text) => element("span", "", text)));
    at("subtitle").title = profile.subtitle.join(" · ");
    at("trust").textContent = profile.trust;
    const notes = [];
    if (profile.prunedNodes) {
      const share = formatShare(profile.prunedTime, profile.total);
      notes.push(`${formatCount(profile.prunedNodes)} small call paths, ${share} of the time, are drawn as [pruned]; the table counts them in full.`);
    }
    if (profile.unequal) {
      notes.push(`${formatCount(profile.unequal)} call paths have an inclusive time that is not self + children; widths are self + children.`);
    }
    at("notes").textContent = notes.join(" ");
  }

  showLegend(dark) {
    const kinds = new Map();
    for (const f of this.functions) {
      if (f.calls > 0) kinds.set(kindOf(f), kindLabel(f));
    }
    const parts = [...kinds].map(([kind, label]) => {
      const part = element("span");
      part.append(element("i", "dot"), label);
      part.firstChild.style.background = kindColour(kind, dark);
      return part;
    });
    at("legend").replaceChildren(...parts);
  }
}

// For tests, and for who is curious: the page's state from the console.
window.luatracePage = new Page();
window.luatracePage.readyAfter = performance.now();

// SPDX-License-Identifier: MIT
// Start reading here. Reads the data, makes the views (what is looked at), the graphs and the table,
// and joins them to the buttons, the search box and the keys.
//
// One view is shown at a time, in `graph`; the sandwich has a second graph below the first, and
// `graph` is the one of the two that was used last.
import { readChart } from "./chart_data.js";
import { ChartView } from "./chart_view.js";
import { changeColour, makePalette } from "./colour.js";
import { readProfile, readTree, swapTimes } from "./data.js";
import { describe, element, fillLine, functionRows } from "./details.js";
import { formatCount, formatShare, formatTime } from "./format.js";
import { Graph } from "./graph.js";
import { notesOf, showHead, showLegend } from "./head.js";
import { listenToKeys, showHelp } from "./keys.js";
import { LanesView } from "./lanes_view.js";
import { rangeText } from "./ruler.js";
import { makeMatcher, matchedTime, matchFunctions } from "./search.js";
import { addStretches } from "./stretches.js";
import { FunctionTable } from "./table.js";
import { inks, startTheme } from "./theme.js";
import { SandwichView, View } from "./view.js";

const at = (id) => document.getElementById(id);

class Page {
  constructor() {
    this.read();
    this.mode = "calls";
    this.treeView = new View(this.functions, this.calls);
    this.look = { marks: null, chosen: -1, before: false };
    this.found = null;  // the functions that match the search
    this.atWork = false;
    this.problem = "";  // why the search cannot be understood
    this.setTheme(startTheme((theme) => this.setTheme(theme)));
    this.upper = this.makeGraph("graph");
    this.lower = this.makeGraph("callees");
    this.graph = this.upper;
    const { total, diff } = this.profile;
    const on = { choose: (id) => this.choose(id), open: (id) => this.openFunction(id) };
    this.table = new FunctionTable(this.functions, total, diff, (f) => this.dotColour(f), on);
    showHead(this.profile);
    this.listen();
    this.table.show();
    this.setView("calls");
  }

  read() {
    this.profile = readProfile(at("meta").textContent);
    this.functions = this.profile.functions;
    this.calls = readTree(at("nodes").textContent, this.profile.nodes, this.profile.diff);
    this.chart = readChart(this.profile.chart, at("slices").textContent, this.functions);
    if (this.chart) addStretches(this.chart, this.functions);
  }

  makeGraph(id) {
    const graph = new Graph(at(id), this.treeView, this.look, {
      use: () => this.use(graph),
      pick: (node) => this.pick(node),
      open: (node) => this.view.isTime && this.open(node),
      range: (x, span, quiet) => this.showRange(x, span, quiet),
      toggle: (track) => this.toggleTrack(track),
    });
    return graph;
  }

  get view() {
    return this.graph.view;
  }

  // The graphs that are on the screen.
  get graphs() {
    return this.mode === "sandwich" ? [this.upper, this.lower] : [this.upper];
  }

  setTheme(theme) {
    this.look.dark = theme === "dark";
    this.look.ink = inks[theme];
    this.look.colour = makePalette(this.functions, this.look.dark);
    if (!this.table) return;  // still starting
    this.table.show();
    this.showTheme();
    this.draw();
  }

  showTheme() {
    showLegend(this.functions, this.view, this.profile.diff, this.look.dark);
  }

  dotColour(f) {
    if (!this.profile.diff) return this.look.colour(f.id);
    return changeColour(f.inclusive, f.before.inclusive, this.profile.total, this.look.dark);
  }

  draw() {
    for (const graph of this.graphs) graph.draw();
  }

  listen() {
    for (const button of document.querySelectorAll("[data-view]")) {
      button.addEventListener("click", () => this.setView(button.dataset.view));
      const needsChart = ["chart", "lanes"].includes(button.dataset.view);
      if (!needsChart || this.chart) continue;
      button.disabled = true;
      button.title = `Not in this page. ${this.profile.noChart}`;
    }
    for (const button of document.querySelectorAll("[data-shape]")) {
      button.addEventListener("click", () => this.setFlip(button.dataset.shape === "flame"));
    }
    for (const button of document.querySelectorAll("[data-width]")) {
      button.addEventListener("click", () => this.setBefore(button.dataset.width === "before"));
    }
    at("order").addEventListener("change", (event) => this.setOrder(event.target.value));
    at("laneOrder").addEventListener("change", (event) => this.setLaneOrder(event.target.value));
    at("atWork").addEventListener("click", () => this.setAtWork(!this.atWork));
    at("search").addEventListener("input", () => this.search());
    at("regex").addEventListener("click", () => this.setRegex(at("regex").getAttribute("aria-pressed") !== "true"));
    at("help").addEventListener("click", showHelp);
    listenToKeys(this);
  }

  // -- Which view --

  // name: "calls", "callers", "chart", "lanes" or "sandwich"
  setView(name) {
    if (["chart", "lanes"].includes(name) && !this.chart) {
      at("details").replaceChildren(element("span", "hint", `No calls over time in this page. ${this.profile.noChart}`));
      return;
    }
    const range = this.view.isTime ? this.view.range : null;
    this.mode = name;
    this.graph = this.upper;
    this.upper.box.style.flexGrow = "";
    at("callees").hidden = at("focus").hidden = name !== "sandwich";
    at("ruler").hidden = !["chart", "lanes"].includes(name);
    this[`show_${name}`]();
    if (this.view.isTime) this.showTime(range);
    for (const graph of this.graphs) {
      graph.update(false);
      graph.setFlip(graph.flip);
    }
    this.showTools();
    this.showState();
  }

  // The two views over time share the range and what is left out.
  showTime(range) {
    if (range) this.view.showRange(range.x, range.span);
    if (this.view.onlyAtWork !== this.atWork) this.view.setOnlyAtWork(this.atWork);
  }

  show_calls() {
    this.showTree(false);
  }

  show_callers() {
    this.showTree(true);
  }

  showTree(callers) {
    this.treeView.setCallers(callers);
    this.upper.setView(this.treeView);
    this.upper.flip = this.flip === true;
  }

  show_chart() {
    this.chartView ??= new ChartView(this.functions, this.chart);
    this.chartView.whole = this.profile.total;
    this.upper.setView(this.chartView);
    this.upper.flip = false;
  }

  show_lanes() {
    this.lanesView ??= new LanesView(this.functions, this.chart);
    this.upper.setView(this.lanesView);
    this.upper.flip = false;
  }

  show_sandwich() {
    if (!this.callersView) {
      this.callersView = new SandwichView(this.functions, this.calls, true);
      this.calleesView = new SandwichView(this.functions, this.calls, false);
      this.callersView.before = this.calleesView.before = this.look.before;
      this.setFocus(this.functionInView());
    }
    this.upper.setView(this.callersView);
    this.lower.setView(this.calleesView);
    this.upper.flip = true;
    this.graph = this.lower;
    // The half with more rows gets more room.
    for (const graph of [this.upper, this.lower]) graph.box.style.flexGrow = Math.min(25, graph.view.rowsShown() + 2);
    this.showFocus();
  }

  use(graph) {
    if (this.graph === graph || !this.graphs.includes(graph)) return;
    this.graph = graph;
    this.showState();
  }

  // What the sandwich shows if nobody has said: the selected function, or the one with most self time.
  functionInView() {
    const { view, look } = this;
    if (look.chosen >= 0) return look.chosen;
    if (!view.isTime && view.selected > 0) return view.tree.func[view.selected];
    return this.functions.reduce((best, f) => (f.self > this.functions[best].self ? f.id : best), 0);
  }

  setFocus(id) {
    this.callersView.setFocus(id);
    this.calleesView.setFocus(id);
  }

  openFunction(id) {
    if (this.callersView) this.setFocus(id);
    if (this.look.chosen !== id) this.mark(id);
    this.setView("sandwich");
  }

  openSelected() {
    const { view, look } = this;
    const selected = view.selected >= 0 && view.name !== "lanes" ? view.tree.func[view.selected] : -1;
    const id = selected >= 0 ? selected : look.chosen;
    if (id >= 0 && this.functions[id].kind !== "root") this.openFunction(id);
    else this.setView("sandwich");
  }

  showFocus() {
    const f = this.functions[this.calleesView.focus];
    const parts = [element("span", "arrow", "▲ callers"), element("b", "", f.name), element("span", "where", f.where), element("span", "arrow", "▼ callees")];
    const shown = this.calleesView.tree.total[0];
    const all = this.look.before ? f.before.inclusive : f.inclusive;
    if (shown < all) parts.push(element("span", "warn", `${formatShare(all - shown, all)} of its time is in [pruned] call paths, not here`));
    at("focus").replaceChildren(...parts);
  }

  setFlip(flip) {
    if (!["calls", "callers"].includes(this.mode)) return;
    this.flip = flip;
    this.graph.setFlip(flip);
    this.showState();
  }

  setOrder(order) {
    at("order").value = order;
    for (const view of [this.treeView, this.callersView, this.calleesView]) view?.setOrder(order);
    for (const graph of this.graphs) graph.update(false);
  }

  // Over time: leave out coroutines that are suspended in all of the range.
  setAtWork(on) {
    if (!this.view.isTime) return;
    this.atWork = on;
    this.view.setOnlyAtWork(on);
    this.graph.update(false);
    this.showState();
  }

  setLaneOrder(order) {
    at("laneOrder").value = order;
    this.lanesView?.setOrder(order);
    this.graph.update(false);
  }

  // Widths of before, or of now.
  setBefore(before) {
    if (!this.profile.diff || before === this.look.before) return;
    this.look.before = before;
    swapTimes(this.calls);
    for (const view of [this.treeView, this.callersView, this.calleesView]) {
      if (!view) continue;
      view.before = before;
      view.renew();
    }
    this.setView(this.mode);
    if (this.mode === "sandwich") this.showFocus();
  }

  // -- Where --

  pick(node) {
    if (this.view.isTime) {
      this.select(node);
      return;
    }
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

  // Over time: a call is zoomed to, a coroutine is shown in the chart.
  open(node) {
    if (this.mode === "chart") {
      this.view.selected = node;
      this.zoomTo(node);
      return;
    }
    const track = this.lanesView.trackOf(node);
    this.setView("chart");
    this.chartView.closed.delete(track);
    this.chartView.arrange();
    this.chartView.zoomToTrack(track);
    this.graph.update(false);
    this.graph.revealRow(this.chartView.rowOfTrack[track] + this.chart.tracks[track].levels, 0);
    this.graph.revealRow(this.chartView.rowOfTrack[track], 1);
    this.showState();
  }

  // quiet: without gliding.
  showRange(x, span, quiet = false) {
    this.view.showRange(x, span);
    this.graph.update(!quiet);
    this.showState();
  }

  scale(factor) {
    const { x, span } = this.view.range;
    this.view.scale(factor, x + span / 2);
    this.graph.update(true);
    this.showState();
  }

  pan(part) {
    if (!this.view.isTime) return;
    this.view.pan(part);
    this.graph.update(true);
    this.showState();
  }

  toggleTrack(track) {
    this.view.toggle(track);
    this.graph.fit();
    this.showState();
  }

  select(node) {
    const { view } = this;
    view.selected = node;
    if (view.isTime && node >= 0) {
      view.reveal(node);
      this.graph.range = view.range;
      this.showCrumbs();
    }
    this.graph.reveal(node, 1);
    this.graph.draw();
    this.showDetails();
  }

  // A function of the table: its frames are marked and the widest is shown; -1 or again: none.
  choose(id) {
    if (this.mode === "sandwich" && id >= 0 && id !== this.calleesView.focus) {
      this.openFunction(id);
      return;
    }
    this.mark(id === this.look.chosen ? -1 : id);
    const node = this.look.chosen < 0 ? -1 : this.view.widest(id);
    if (node >= 0 && !this.view.isInZoom(node)) this.zoomTo(0);
    if (this.mode === "sandwich") this.showDetails();
    else this.select(node);
    this.draw();
  }

  mark(id) {
    this.look.chosen = id;
    this.table.select(id);
  }

  // -- Search --

  // Over time: to the next call (step 1) or the one before of what is searched for, else of the
  // function that is chosen or selected.
  findNext(step) {
    const { view, look } = this;
    if (view.name !== "chart") return;
    const func = look.chosen >= 0 ? look.chosen : view.selected >= 0 ? view.tree.func[view.selected] : -1;
    const node = view.nextOf(look.marks ? (f) => look.marks[f] === 1 : (f) => f === func, view.selected, step);
    if (node >= 0) this.select(node);
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
    this.draw();
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
    parts.push(`${formatShare(matchedTime(calls, found.flags, 0), this.treeView.total)} of time`);
    if (this.mode === "calls" && view.zoom > 0) {
      const share = formatShare(matchedTime(calls, found.flags, view.zoom), calls.total[view.zoom]);
      parts.push(`${share} of zoomed`);
    }
    at("found").textContent = parts.join(" · ");
  }

  // -- What is told --

  showState() {
    const press = (selector, on) => {
      for (const button of document.querySelectorAll(selector)) button.setAttribute("aria-pressed", on(button.dataset));
    };
    press("[data-view]", (data) => data.view === this.mode);
    press("[data-shape]", (data) => (data.shape === "flame") === this.graph.flip);
    at("atWork").setAttribute("aria-pressed", this.atWork);
    press("[data-width]", (data) => (data.width === "before") === this.look.before);
    at("notes").textContent = notesOf(this.profile, this.chart, this.view);
    this.showCrumbs();
    this.showDetails();
    this.showFound();
  }

  // The tools that mean something to this view.
  showTools() {
    const { mode } = this;
    const isTree = mode === "calls" || mode === "callers";
    at("shape").hidden = !isTree;
    at("treeOrder").hidden = !isTree && mode !== "sandwich";
    at("atWork").hidden = this.view.isTime !== true;
    at("lanes").hidden = mode !== "lanes";
    at("width").hidden = !this.profile.diff || this.view.isTime === true;
    this.showTheme();
  }

  // The way from the root to the zoomed node; of a long one its ends. Over time: the range.
  showCrumbs() {
    const { view } = this;
    if (view.isTime) {
      this.showRangeCrumb();
      return;
    }
    const way = view.tree.size ? view.wayTo(view.zoom) : [];
    const shown = way.length > 8 ? [way[0], -1, ...way.slice(-5)] : way;
    const parts = [];
    for (const node of shown) {
      if (parts.length) parts.push(element("span", "", "›"));
      parts.push(node < 0 ? element("span", "", `${way.length - 6} more`) : this.crumb(node));
    }
    at("crumbs").replaceChildren(...parts);
  }

  showRangeCrumb() {
    const parts = [];
    if (this.view.isZoomed) {
      const button = element("button", "", "all");
      button.type = "button";
      button.title = "Show everything (0)";
      button.addEventListener("click", () => this.showRange(0, this.view.end));
      parts.push(button, element("span", "", "›"));
    }
    parts.push(element("b", "", rangeText(this.view)));
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
    const box = at("details");
    let func = -1;
    if (look.chosen >= 0) {
      func = look.chosen;
      fillLine(box, this.describeFunction(this.functions[func]));
    } else if (view.selected >= 0) {
      const about = describe(view.selected, view);
      if (view.name !== "lanes" && about.more.length) func = about.func.id;
      fillLine(box, view.name === "lanes" ? { ...about, rows: [...about.rows, ...about.more] } : about);
    } else {
      const hint = view.isTime
        ? "Drag to zoom · click to select, twice to open · / to search · ? for all keys"
        : "Click a box to zoom · / to search · ? for all keys";
      box.replaceChildren(element("span", "hint", this.treeView.total > 0 || this.profile.before > 0 ? hint : "No time was recorded"));
    }
    if (func >= 0 && this.mode !== "sandwich") box.append(this.sandwichButton(func));
  }

  sandwichButton(func) {
    const button = element("button", "open", "Callers and callees");
    button.type = "button";
    button.title = "Open the sandwich of this function (s)";
    button.addEventListener("click", () => this.openFunction(func));
    return button;
  }

  describeFunction(f) {
    const rows = functionRows(f, this.treeView.total, this.look.before).slice(0, 5);  // a line is no tooltip
    if (this.view.selected < 0 && this.mode !== "sandwich") rows.push(["in this graph", "too small to be shown"]);
    return { name: f.name, where: f.where, rows };
  }
}

// For tests, and for who is curious: the page's state from the console.
window.luatracePage = new Page();
window.luatracePage.readyAfter = performance.now();

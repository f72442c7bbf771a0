// SPDX-License-Identifier: MIT
// Start reading here. Reads the data, makes the views (what is shown), the graphs (where it is shown)
// and the table, and connects them to the buttons, the search box and the keys.
//
// One view is shown at a time, in `graph`. The sandwich has a second graph below the first; `graph`
// then is the one of the two that was used last.
import { readChart } from "./chart_data.js";
import { ChartView } from "./chart_view.js";
import { changeColour, makePalette } from "./colour.js";
import { readProfile, readTree, swapTimes } from "./data.js";
import { button, describe, element, fillLine, functionRows } from "./details.js";
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
    this.onlyActive = false;
    this.problem = "";  // why the search text is invalid
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
    const listen = (selector, act) => {
      for (const choice of document.querySelectorAll(selector)) choice.addEventListener("click", () => act(choice.dataset));
    };
    listen("[data-view]", ({ view }) => this.setView(view));
    listen("[data-shape]", ({ shape }) => this.setFlip(shape === "flame"));
    listen("[data-width]", ({ width }) => this.setBefore(width === "before"));
    for (const choice of this.chart ? [] : document.querySelectorAll("[data-view=chart], [data-view=lanes]")) {
      choice.disabled = true;
      choice.title = `Not in this page. ${this.profile.noChart}`;
    }
    at("order").addEventListener("change", (event) => this.setOrder(event.target.value));
    at("laneOrder").addEventListener("change", (event) => this.setLaneOrder(event.target.value));
    at("onlyActive").addEventListener("click", () => this.setOnlyActive(!this.onlyActive));
    at("search").addEventListener("input", () => this.search());
    at("regex").addEventListener("click", () => this.setRegex(at("regex").getAttribute("aria-pressed") !== "true"));
    at("help").addEventListener("click", showHelp);
    listenToKeys(this);
  }

  // -- Views --

  // name: "calls", "callers", "chart", "lanes" or "sandwich"
  setView(name) {
    if (this.hasTime(name) && !this.chart) {
      at("details").replaceChildren(element("span", "hint", `This page has no calls over time. ${this.profile.noChart}`));
      return;
    }
    const range = this.view.isTime ? this.view.range : null;
    this.mode = name;
    this.graph = this.upper;
    this.upper.box.style.flexGrow = "";
    at("callees").hidden = at("focus").hidden = name !== "sandwich";
    at("ruler").hidden = !this.hasTime(name);
    if (name === "sandwich") this.showSandwich();
    else if (this.hasTime(name)) this.showTime(name, range);
    else this.showTree(name === "callers");
    for (const graph of this.graphs) {
      graph.update(false);
      graph.setFlip(graph.flip);
    }
    this.showTools();
    this.showState();
  }

  hasTime(name) {
    return ["chart", "lanes"].includes(name);
  }

  // The two views over time share the range and whether inactive coroutines are hidden.
  showTime(name, range) {
    if (name === "chart") this.chartView ??= new ChartView(this.functions, this.chart, this.profile.total);
    else this.lanesView ??= new LanesView(this.functions, this.chart);
    this.upper.setView(name === "chart" ? this.chartView : this.lanesView);
    this.upper.flip = false;
    if (range) this.view.showRange(range.x, range.span);
    if (this.view.onlyActive !== this.onlyActive) this.view.setOnlyActive(this.onlyActive);
  }

  showTree(callers) {
    this.treeView.setCallers(callers);
    this.upper.setView(this.treeView);
    this.upper.flip = this.flip === true;
  }

  showSandwich() {
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
    // The half with more rows gets more space.
    for (const graph of [this.upper, this.lower]) graph.box.style.flexGrow = Math.min(25, graph.view.rowsShown() + 2);
    this.showFocus();
  }

  use(graph) {
    if (this.graph === graph || !this.graphs.includes(graph)) return;
    this.graph = graph;
    this.showState();
  }

  // The function that the sandwich shows first: the selected one, or that with most self time.
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
    if (shown < all) parts.push(element("span", "warn", `${formatShare(all - shown, all)} of its time is in [pruned] call paths and not shown here`));
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

  // Over time: hide coroutines that are suspended in the whole range.
  setOnlyActive(on) {
    if (!this.view.isTime) return;
    this.onlyActive = on;
    this.view.setOnlyActive(on);
    this.graph.update(false);
    this.showState();
  }

  setLaneOrder(order) {
    at("laneOrder").value = order;
    this.lanesView?.setOrder(order);
    this.graph.update(false);
  }

  // Widths show the times before, or those now.
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

  // -- Zoom and selection --

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

  // Over time: zooms to a call, or shows the calls of a coroutine in the chart.
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

  // quiet: without animation.
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

  // Marks the boxes of a function and selects the widest; -1 or the same function again: none.
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

  // Over time: goes to the next (step 1) or previous (-1) call that matches the search; without a
  // search, of the function that is chosen or selected.
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

  // Shows how much of the time is in call stacks with a match.
  showFound() {
    const { found, view, calls } = this;
    at("search").setAttribute("aria-invalid", this.problem !== "");
    at("found").classList.toggle("bad", this.problem !== "");
    at("found").title = this.problem;
    if (!found) {
      at("found").textContent = this.problem && "invalid regular expression";
      return;
    }
    const parts = [`${formatCount(found.count)} ${found.count === 1 ? "function" : "functions"}`];
    parts.push(`${formatShare(matchedTime(calls, found.flags, 0), this.treeView.total)} of time`);
    if (this.mode === "calls" && view.zoom > 0) {
      const share = formatShare(matchedTime(calls, found.flags, view.zoom), calls.total[view.zoom]);
      parts.push(`${share} of the zoomed box`);
    }
    at("found").textContent = parts.join(" · ");
  }

  // -- Texts and buttons --

  showState() {
    const press = (selector, on) => {
      for (const choice of document.querySelectorAll(selector)) choice.setAttribute("aria-pressed", on(choice.dataset));
    };
    press("[data-view]", (data) => data.view === this.mode);
    press("[data-shape]", (data) => (data.shape === "flame") === this.graph.flip);
    at("onlyActive").setAttribute("aria-pressed", this.onlyActive);
    press("[data-width]", (data) => (data.width === "before") === this.look.before);
    at("notes").textContent = notesOf(this.profile, this.chart, this.view);
    this.showCrumbs();
    this.showDetails();
    this.showFound();
  }

  // Shows the controls that apply to this view.
  showTools() {
    const { mode } = this;
    const isTree = mode === "calls" || mode === "callers";
    at("shape").hidden = !isTree;
    at("treeOrder").hidden = !isTree && mode !== "sandwich";
    at("onlyActive").hidden = this.view.isTime !== true;
    at("lanes").hidden = mode !== "lanes";
    at("width").hidden = !this.profile.diff || this.view.isTime === true;
    this.showTheme();
  }

  // The path from the root to the zoomed node, in a long one only its ends. Over time: the range.
  showCrumbs() {
    const { view } = this;
    if (view.isTime) {
      this.showRangeCrumb();
      return;
    }
    const path = view.tree.size ? view.pathTo(view.zoom) : [];
    const shown = path.length > 8 ? [path[0], -1, ...path.slice(-5)] : path;
    const parts = [];
    for (const node of shown) {
      if (parts.length) parts.push(element("span", "", "›"));
      parts.push(node < 0 ? element("span", "", `${path.length - 6} more`) : this.crumb(node));
    }
    at("crumbs").replaceChildren(...parts);
  }

  showRangeCrumb() {
    const parts = [];
    if (this.view.isZoomed) {
      const all = button("", "all", "Show everything (0)", () => this.showRange(0, this.view.end));
      parts.push(all, element("span", "", "›"));
    }
    parts.push(element("b", "", rangeText(this.view)));
    at("crumbs").replaceChildren(...parts);
  }

  crumb(node) {
    const { name } = this.functions[this.view.tree.func[node]];
    const made = button("", name, name, () => this.pick(node));
    if (node === this.view.zoom) made.setAttribute("aria-current", "true");
    return made;
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
        ? "Drag to zoom · click to select · double-click to open · / to search · ? for all keys"
        : "Click a box to zoom · / to search · ? for all keys";
      box.replaceChildren(element("span", "hint", this.treeView.total > 0 || this.profile.before > 0 ? hint : "No time was recorded"));
    }
    if (func < 0 || this.mode === "sandwich") return;
    box.append(button("open", "Callers and callees", "Open the sandwich of this function (s)", () => this.openFunction(func)));
  }

  describeFunction(f) {
    const rows = functionRows(f, this.treeView.total, this.look.before).slice(0, 5);  // a line has space for these
    if (this.view.selected < 0 && this.mode !== "sandwich") rows.push(["in this view", "too small to be shown"]);
    return { name: f.name, where: f.where, rows };
  }
}

// The page's state, for tests and for the console.
window.luatracePage = new Page();
window.luatracePage.readyAfter = performance.now();

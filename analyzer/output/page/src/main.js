// SPDX-License-Identifier: MIT
// Start reading here. Reads the data, makes the views (what is shown), the graphs (where it is shown)
// and the table, and connects them to the buttons, the search box and the keys.
//
// One view is shown at a time, in `graph`. The sandwich has a second graph below the first; `graph`
// then is the one of the two that was used last.
import { Address } from "./address.js";
import { CallSource } from "./call_source.js";
import { addPseudoSlices, readChart } from "./chart_data.js";
import { ChartView } from "./chart_view.js";
import { changeColour, makePalette } from "./colour.js";
import { readProfile, readTree } from "./data.js";
import { words } from "./format.js";
import { element } from "./details.js";
import { Graph } from "./graph.js";
import { showHead, showLegend } from "./head.js";
import { listenToKeys } from "./keys.js";
import { LanesView } from "./lanes_view.js";
import { listenToTools, openNodeMenu } from "./tools.js";
import { isHarmless, makeMatcher, matchFunctions } from "./search.js";
import { RequestsPage } from "./requests_page.js";
import { showCrumbs, showDetails, showFocus, showFound, showNotes } from "./status.js";
import { addStates, addStretches } from "./stretches.js";
import { FunctionTable } from "./table.js";
import { inks, startTheme } from "./theme.js";
import { SandwichView, View } from "./view.js";
import { addRequestKinds } from "./waterfall_view.js";

const at = (id) => document.getElementById(id);

class Page {
  constructor() {
    this.read();
    this.mode = "calls";
    this.treeView = new View(this.functions, this.calls);
    // matcher: the search as a test of names; marks: the functions that match it.
    this.look = { marks: null, matcher: null, chosen: -1, before: false, modules: false, ofCall: null };
    this.found = null;  // the functions that match the search
    this.onlyActive = false;
    this.problem = "";  // why the search text is invalid
    this.heldBack = false;  // the search is a regular expression of the address that is not run as one
    this.range = null;  // the part of the time that is shown; null: all
    this.rangeTimer = 0;
    this.setTheme(startTheme((theme) => this.setTheme(theme)));
    this.upper = this.makeGraph("graph");
    this.lower = this.makeGraph("callees");
    this.graph = this.upper;
    const { total, diff } = this.profile;
    const on = { choose: (id) => this.choose(id), open: (id) => this.openFunction(id), sorted: () => this.address?.changed(false) };
    this.table = new FunctionTable(this.functions, total, diff, (f) => this.dotColour(f), on);
    showHead(this.profile);
    this.listen();
    this.table.show();
    if (this.profile.onlyGraph) this.leaveOnlyGraph();
    this.setView("calls");
    this.usual = this.state();
    this.address = new Address(this);
    this.address.restore();
  }

  read() {
    this.profile = readProfile(at("meta").textContent);
    words.calls = this.profile.counts ?? "calls";
    this.functions = this.profile.functions;
    const whole = readTree(at("nodes").textContent, this.profile.nodes, this.profile.diff);
    if (this.hasChart) this.pseudo = { slices: addPseudoSlices(this.functions), states: addStates(this.functions) };
    this.requestKinds = this.profile.requests && addRequestKinds(this.functions);
    this.source = new CallSource(whole, () => this.chart, this.functions);
  }

  get hasChart() {
    return this.profile.chart !== null;
  }

  // The calls over time, read on first use; null if the page has none.
  get chart() {
    if (!this.readChart && this.hasChart) {
      this.readChart = readChart(this.profile.chart, at("slices").textContent, this.pseudo.slices);
      addStretches(this.readChart, this.pseudo.states);
    }
    return this.readChart ?? null;
  }

  // The call tree that is shown.
  get calls() {
    return this.source.calls;
  }

  // A page of --flame has no other views, and the graph takes its space.
  leaveOnlyGraph() {
    for (const choice of document.querySelectorAll("[data-view]")) choice.hidden = !["calls", "callers"].includes(choice.dataset.view);
    at("functions").hidden = true;
    document.body.dataset.only = "graph";
    this.flip = true;
  }

  makeGraph(id) {
    const graph = new Graph(at(id), this.treeView, this.look, {
      use: () => this.use(graph),
      pick: (node) => this.pick(node),
      open: (node) => this.view.isTime && this.open(node),
      range: (x, span, quiet) => this.showRange(x, span, quiet),
      toggle: (key) => this.toggleRows(key),
      menu: (node, x, y) => openNodeMenu(this, node, x, y),
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
    this.showColours();
  }

  // by: "function", "module" or "request" (of the calls over time)
  setColours(by) {
    const isByRequest = by === "request" && this.profile.requests && this.hasChart;
    if (isByRequest) this.makeRequests();
    this.look.modules = by === "module";
    this.look.ofCall = isByRequest ? (node, view) => this.requests.callColour(node, view) : null;
    at("colour").value = this.look.modules || isByRequest ? by : "function";
    this.showColours();
    this.address?.changed(false);
  }

  showColours() {
    this.look.colour = makePalette(this.functions, this.look.dark, this.look.modules);
    if (!this.table) return;  // still starting
    this.table.show();
    this.requests?.show();
    this.showTheme();
    this.draw();
  }

  showTheme() {
    showLegend(this.functions, this.view, this.profile.diff, this.look, this.requests?.legend());
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
    for (const choice of this.hasChart ? [] : document.querySelectorAll("[data-view=chart], [data-view=lanes]")) {
      choice.disabled = true;
      choice.title = `Not in this page. ${this.profile.noChart}`;
    }
    document.querySelector("[data-view=requests]").hidden = !this.profile.requests;
    at("dotColour").addEventListener("change", (event) => this.setDots(event.target.value === "phase"));
    at("order").addEventListener("change", (event) => this.setOrder(event.target.value));
    at("laneOrder").addEventListener("change", (event) => this.setLaneOrder(event.target.value));
    at("onlyActive").addEventListener("click", () => this.setOnlyActive(!this.onlyActive));
    at("search").addEventListener("input", () => this.search());
    at("regex").addEventListener("click", () => this.setRegex(at("regex").getAttribute("aria-pressed") !== "true"));
    at("colour").addEventListener("change", (event) => this.setColours(event.target.value));
    at("colour").querySelector("[value=request]").hidden = !this.profile.requests || !this.hasChart;
    listenToTools(this);
    listenToKeys(this);
  }

  // -- Views --

  // name: "calls", "callers", "chart", "lanes", "sandwich" or "requests"
  setView(name) {
    const missing = this.whyMissing(name);
    if (missing) {
      at("details").replaceChildren(element("span", "hint", missing));
      return;
    }
    this.mode = name;
    this.applyRange();
    this.graph = this.upper;
    this.upper.box.style.flexGrow = "";
    at("callees").hidden = at("focus").hidden = name !== "sandwich";
    at("minimap").hidden = !this.hasTime(name);
    at("ruler").hidden = !this.hasTime(name) && name !== "requests";
    at("plot").hidden = name !== "requests";
    this.showTable(name);
    if (name === "sandwich") this.showSandwich();
    else if (name === "requests") this.showRequests();
    else if (this.hasTime(name)) this.showTime(name);
    else this.showTree(name === "callers");
    for (const graph of this.graphs) {
      graph.update(false);
      graph.setFlip(graph.flip);
    }
    this.showTools();
    this.showState();
  }

  // Why the page does not have a view; "" if it has it.
  whyMissing(name) {
    if (this.profile.onlyGraph && !["calls", "callers"].includes(name)) return "This page is only the flame graph: luatrace-analyze --page has all views.";
    if (name === "requests" && !this.profile.requests) return "The trace has no requests that are known: luatrace-analyze --request-by FN makes each call of FN one.";
    return this.hasTime(name) && !this.hasChart ? `This page has no calls over time. ${this.profile.noChart}` : "";
  }

  hasTime(name) {
    return ["chart", "lanes"].includes(name);
  }

  // The two views over time share the range and whether inactive coroutines are hidden.
  showTime(name) {
    if (name === "chart") this.makeChartView();
    else this.lanesView ??= new LanesView(this.functions, this.chart);
    this.upper.setView(name === "chart" ? this.chartView : this.lanesView);
    this.upper.flip = false;
    this.view.showRange(this.range?.x ?? 0, this.range?.span ?? this.view.end);
    if (name === "lanes") at("laneOrder").value = this.view.order;
    if (this.view.onlyActive !== this.onlyActive) this.view.setOnlyActive(this.onlyActive);
  }

  makeChartView() {
    if (this.chartView) return;
    this.chartView = new ChartView(this.functions, this.chart, this.profile.total);
    if (!this.profile.requests) return;
    this.chartView.requestOf = (node) => {
      this.makeRequests();
      return this.requests.titleOf(node, this.chartView);
    };
  }

  // Functions or requests; none if the user has hidden the table.
  showTable(name) {
    const isHidden = at("functions").hidden && at("requestTable").hidden;
    at("functions").hidden = isHidden || name === "requests";
    at("requestTable").hidden = isHidden || name !== "requests";
  }

  makeRequests() {
    this.requests ??= new RequestsPage(this, this.requestKinds);
  }

  showRequests() {
    this.makeRequests();
    this.upper.setView(this.requests.waterfall);
    this.upper.flip = false;
    this.requests.show();
  }

  // Another request is selected.
  showWaterfall() {
    this.upper.setView(this.requests.waterfall);
    this.upper.update(false);
    this.showState();
  }

  setDots(byPhase) {
    at("dotColour").value = byPhase ? "phase" : "share";
    this.requests.setByPhase(byPhase);
    this.showTheme();
    this.address?.changed(false);
  }

  // A time in another view.
  showOverTime({ x, span }, view = "chart") {
    const from = Math.max(0, x - span * 0.02);
    this.range = { x: from, span: Math.min(this.chart.end - from, span * 1.04) };
    this.setView(view);
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
    showFocus(this);
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
    if (id >= 0 && this.isFunction(id)) this.openFunction(id);
    else this.setView("sandwich");
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
    this.address?.changed(false);
  }

  // Over time: hide coroutines that are suspended in the whole range.
  setOnlyActive(on) {
    if (!this.hasTime(this.mode)) return;
    this.onlyActive = on;
    this.view.setOnlyActive(on);
    this.graph.update(false);
    this.showState();
  }

  setLaneOrder(order) {
    at("laneOrder").value = order;
    this.lanesView?.setOrder(order);
    if (this.mode === "lanes") this.graph.update(false);
    this.address?.changed(false);
  }

  // Widths show the times before, or those now.
  setBefore(before) {
    if (!this.profile.diff || before === this.look.before) return;
    this.look.before = before;
    this.source.swap();
    this.showCalls();
    this.setView(this.mode);
  }

  // -- What the call tree is made of --

  // The views of call paths and the table show the range that is shown over time.
  applyRange() {
    clearTimeout(this.rangeTimer);
    if (!this.source.setRange(this.range)) return;
    this.showCalls();
    showFound(this);
  }

  setRange(range) {
    this.range = range;
    this.setView(this.mode);
  }

  // list: [{ type, func }], see transforms.js
  setTransforms(list) {
    this.source.setTransforms(list);
    this.showCalls();
    this.setView(this.mode);
  }

  transform(type, func) {
    if (this.view.isTime || func < 0 || !this.isFunction(func)) return;
    this.setTransforms([...this.source.transforms, { type, func }]);
  }

  isFunction(func) {
    const { kind, isDrawn } = this.functions[func];
    return kind !== "root" && !isDrawn;
  }

  // The call tree has changed.
  showCalls() {
    for (const view of [this.treeView, this.callersView, this.calleesView]) {
      if (!view) continue;
      view.before = this.look.before;
      const path = view.tree.size ? view.pathTo(view.zoom).slice(1).map((node) => view.tree.func[node]) : [];
      view.setCalls(this.calls);
      if (path.length && view.tree.size) view.zoomTo(view.nodeOf(path));
    }
    this.table.total = this.calls.size ? this.calls.total[0] : 0;
    this.table.show();
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
    if (this.view.isTime) this.rangeChanged();
    this.graph.update(true);
    this.showState();
  }

  // Over time: zooms to a call, or shows the calls of a coroutine in the chart.
  open(node) {
    if (this.mode === "requests") {
      this.showOverTime(this.view.timeOf(node));
      return;
    }
    if (this.mode === "chart") {
      this.view.selected = node;
      this.zoomTo(node);
      return;
    }
    const track = this.lanesView.trackOf(node);
    this.setView("chart");
    this.chartView.zoomToTrack(track);
    this.rangeChanged();
    this.graph.update(false);
    this.graph.revealRow(this.chartView.rowOfTrack[track] + this.chart.tracks[track].levels, 0);
    this.graph.revealRow(this.chartView.rowOfTrack[track], 1);
    this.showState();
  }

  // quiet: without animation.
  showRange(x, span, quiet = false) {
    this.view.showRange(x, span);
    this.rangeChanged();
    this.graph.update(!quiet);
    this.showState();
  }

  scale(factor) {
    const { x, span } = this.view.range;
    this.view.scale(factor, x + span / 2);
    this.rangeChanged();
    this.graph.update(true);
    this.showState();
  }

  pan(part) {
    if (!this.view.isTime) return;
    this.view.pan(part);
    this.rangeChanged();
    this.graph.update(true);
    this.showState();
  }

  // The table follows when the range has been the same for a moment.
  rangeChanged() {
    const { view } = this;
    if (!this.hasTime(this.mode)) return;
    this.range = view.isZoomed ? { ...view.range } : null;
    clearTimeout(this.rangeTimer);
    this.rangeTimer = setTimeout(() => this.applyRange(), 200);
  }

  toggleRows(key) {
    this.view.toggle(key);
    this.graph.fit();
    this.showState();
  }

  select(node) {
    const { view } = this;
    view.selected = node;
    if (view.isTime && node >= 0) {
      view.reveal(node);
      this.graph.range = view.range;
      this.rangeChanged();
      showCrumbs(this);
    }
    this.graph.reveal(node, 1);
    this.graph.draw();
    showDetails(this);
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
    if (this.mode === "sandwich") showDetails(this);
    else this.select(node);
    this.draw();
  }

  mark(id) {
    this.look.chosen = id;
    this.table.select(id);
    this.address?.changed(false);
  }

  // -- Search --

  // Goes to the next (step 1) or previous (-1) box that matches the search; without a search, to a box of
  // the function that is chosen or selected. Over time in the order of time.
  findNext(step) {
    const { view, look } = this;
    const func = look.chosen >= 0 ? look.chosen : view.selected >= 0 ? view.tree.func[view.selected] : -1;
    const matches = look.marks ? (node) => view.isMarked(node, look) : (node) => view.tree.func[node] === func;
    const node = view.nextOf(matches, view.selected, step);
    if (node < 0) return;
    if (!view.isTime && !view.isInZoom(node)) this.zoomTo(0);
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
    this.heldBack = false;
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
    this.look.matcher = matcher;
    this.table.show();
    if (this.mode === "requests") this.requests.show();
    showFound(this);
    this.draw();
    this.address?.changed(false);
  }

  // -- The address, see address.js --

  state() {
    const { view, source, look } = this;
    const isBox = !view.isTime && view.zoom > 0;
    const path = isBox ? view.pathTo(view.zoom).slice(1).map((node) => view.tree.func[node]) : [];
    return {
      view: this.mode, range: this.range ?? undefined, with: source.transforms,
      zoom: path.length <= 100 ? path : [], node: path.length > 100 ? view.zoom : undefined,
      of: this.mode === "sandwich" ? this.calleesView.focus : undefined,
      half: this.mode === "sandwich" && isBox && this.graph === this.upper ? "callers" : undefined,
      chosen: look.chosen >= 0 ? look.chosen : undefined,
      flip: this.flip === true, order: at("order").value, lanes: this.mode === "lanes" ? at("laneOrder").value : undefined,
      active: this.onlyActive, before: look.before, colour: at("colour").value,
      sort: this.table.order, ...(this.mode === "requests" ? this.requests.state() : {}),
      search: at("search").value, regex: at("regex").getAttribute("aria-pressed") === "true",
    };
  }

  restore(state) {
    const isKnown = (func) => func < this.functions.length && this.isFunction(func);
    this.setColours(state.colour);
    this.setBefore(state.before);
    this.setOrder(state.order);
    this.flip = state.flip;
    this.table.order = state.sort;
    this.source.setTransforms(state.with.filter(({ func }) => isKnown(func)));
    const end = this.hasChart && state.range ? this.chart.end : 0;
    this.range = state.range && state.range.x < end ? { x: state.range.x, span: Math.min(state.range.span, end - state.range.x) } : null;
    this.source.setRange(this.range);
    this.showCalls();
    this.onlyActive = state.active;
    const isOf = state.view === "sandwich" && state.of !== undefined && isKnown(state.of);
    this.mark(state.chosen !== undefined && isKnown(state.chosen) ? state.chosen : -1);
    this.setView(this.whyMissing(state.view) ? "calls" : state.view);
    if (this.mode === "requests") {
      this.requests.restore(state);
      this.showWaterfall();
    }
    if (isOf) this.openFunction(state.of);
    if (state.lanes) this.setLaneOrder(state.lanes);
    if (state.half && this.mode === "sandwich") this.graph = this.upper;
    const { view } = this;
    const zoom = view.isTime ? 0 : state.node < view.tree.size ? state.node : view.nodeOf(state.zoom);
    if (!view.isTime && zoom !== view.zoom) this.zoomTo(zoom);
    at("search").value = state.search;
    const isRun = state.regex && isHarmless(state.search);
    this.setRegex(isRun);
    this.heldBack = state.regex && !isRun;
    showFound(this);
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
    showNotes(this);
    showCrumbs(this);
    showDetails(this);
    showFound(this);
    this.address?.changed(true);
  }

  // Shows the controls that apply to this view.
  showTools() {
    const { mode } = this;
    const isTree = mode === "calls" || mode === "callers";
    at("shape").hidden = !isTree;
    at("treeOrder").hidden = !isTree && mode !== "sandwich";
    at("onlyActive").hidden = !this.hasTime(mode);
    at("dotColours").hidden = mode !== "requests";
    at("lanes").hidden = mode !== "lanes";
    at("colours").hidden = mode === "lanes" || mode === "requests" || (this.profile.diff && !this.view.isTime);
    at("width").hidden = !this.profile.diff || this.view.isTime === true;
    this.showTheme();
  }
}

// The page's state, for tests and for the console.
window.luatracePage = new Page();
window.luatracePage.readyAfter = performance.now();

// SPDX-License-Identifier: MIT
// What can be done besides looking: the menu of a box, copying its place, pictures, and who made the page.
import { copyText } from "./clipboard.js";
import { commandText } from "./command.js";
import { button, element } from "./details.js";
import { showDialog, showHelp } from "./help.js";
import { showMenu } from "./menu.js";
import { rangeText } from "./ruler.js";
import { cutText, download, pictureOf } from "./save.js";
import { transforms } from "./transforms.js";

export function listenToTools(page) {
  const openAt = (id, open) => {
    const tool = document.getElementById(id);
    tool.addEventListener("click", () => open(tool.getBoundingClientRect()));
  };
  openAt("help", showHelp);
  openAt("about", () => showAbout(page.profile));
  openAt("save", ({ left, bottom }) => showMenu(left, bottom + 4, "Save this view", [
    { label: "as SVG", act: () => savePicture(page, "svg") },
    { label: "as PNG", act: () => savePicture(page, "png") },
  ]));
}

// The menu of a node of the graph.
export function openNodeMenu(page, node, x, y) {
  const func = page.view.tree.func[node];
  const f = page.functions[func];
  if (!page.isFunction(func)) return;
  page.select(node);
  const changes = page.view.isTime ? [] : Object.entries(transforms).map(([type, { label, about, key }]) => ({ label, about, key, act: () => page.transform(type, func) }));
  showMenu(x, y, f.name, [
    ...changes,
    page.profile.onlyGraph ? null : { label: "Callers and callees", key: page.view.isTime ? "5" : "s", act: () => page.openFunction(func) },
    { label: `Copy ${placeOf(f) || "the place"}`, key: "c", isOff: !placeOf(f), act: () => copyText(placeOf(f)) },
    { label: "Copy the name", act: () => copyText(f.name) },
  ]);
}

// "lib/b.lua:20"; "" if the place is unknown.
function placeOf(f) {
  return f.chunk && f.where !== "main chunk" ? f.where : f.chunk.replace(/^[@=]/, "");
}

// The function that keys act on: the chosen one, or that of the selected box.
export function functionFor(page) {
  const { view, look } = page;
  if (look.chosen >= 0) return look.chosen;
  const func = view.selected >= 0 ? view.tree.func[view.selected] : -1;
  return func >= 0 && page.isFunction(func) ? func : -1;
}

// Copies "file:line" of that function, and says so.
export async function copyPlace(page) {
  const func = functionFor(page);
  const place = func < 0 ? "" : placeOf(page.functions[func]);
  const done = place && (await copyText(place));
  const text = done ? `Copied ${place}` : place ? "The browser refuses to copy" : "Select a box of a function with a known place";
  document.getElementById("details").replaceChildren(element("span", "hint", text));
}

export async function savePicture(page, kind) {
  const { view, profile } = page;
  const part = view.isTime ? rangeText(view) : view.pathTo(view.zoom).map((node) => page.functions[view.tree.func[node]].name).slice(-3).join(" › ");
  const background = getComputedStyle(document.body).backgroundColor;
  const name = profile.title.replace(/[^\w.-]+/g, "_").slice(0, 60) || "trace";
  const cut = cutText(page.graphs);
  const caption = [profile.title, part, cut].filter(Boolean).join(" · ");
  download(await pictureOf(page.graphs, caption, kind, background), `${name}-${page.mode}.${kind}`);
  if (cut) document.getElementById("details").replaceChildren(element("span", "hint", `Saved ${cut}: a picture has up to 16,000 pixels. Zoom in or close groups for the others.`));
}

// Who made this page, when, and from what.
function showAbout(profile) {
  const command = commandText(profile.command);
  const rows = [["Made by", profile.program], ["Made at", profile.madeAt], ["Command", command], ["Program", profile.title],
    ["Trace", profile.subtitle.join(" · ")], ["Trust", profile.trust]];
  const list = element("dl");
  for (const [label, text] of rows) if (text) list.append(element("dt", "", label), element("dd", "text", text));
  const copy = button("copy", "Copy the command", "", async () => (copy.textContent = (await copyText(command)) ? "Copied" : "Not copied"));
  showDialog("About this page", [list, ...(command ? [copy] : [])]);
}

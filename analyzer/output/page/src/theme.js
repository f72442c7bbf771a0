// SPDX-License-Identifier: MIT
// Light or dark: that of the system until the user chooses. The choice is stored if the browser
// allows a local file to store anything.

// The colours of everything on the canvases except the boxes.
export const inks = {
  light: {
    text: "#2a2118", fainter: "rgb(42 33 24 / 90%)", mark: "#b515c9", markText: "#ffffff",
    chosen: "#6d28d9", select: "#1f1d1a", hover: "rgb(0 0 0 / 60%)", hatch: "rgb(70 50 20 / 28%)",
    soft: "#6d675f", grid: "rgb(60 50 40 / 9%)", track: "#f0ede7", range: "#8a8277", depth: "#d9b48a", outside: "rgb(251 250 248 / 72%)",
    heading: "#efebe4", thread: "rgb(0 0 0 / 0%)", arrow: "rgb(30 90 60 / 38%)", band: "rgb(162 28 175 / 16%)",
  },
  dark: {
    text: "#f4f1ec", fainter: "rgb(244 241 236 / 90%)", mark: "#c026d3", markText: "#ffffff",
    chosen: "#f0abfc", select: "#ffffff", hover: "rgb(255 255 255 / 65%)", hatch: "rgb(255 240 210 / 22%)",
    soft: "#9b9a96", grid: "rgb(255 255 255 / 7%)", track: "#1f2329", range: "#a3a8b1", depth: "#8a6238", outside: "rgb(22 24 28 / 68%)",
    heading: "#24282e", thread: "rgb(0 0 0 / 0%)", arrow: "rgb(150 220 180 / 34%)", band: "rgb(232 121 249 / 20%)",
  },
};

const key = "luatrace-theme";

function stored() {
  try {
    const theme = localStorage.getItem(key);
    return theme in inks ? theme : null;
  } catch {
    return null;
  }
}

function store(theme) {
  try {
    localStorage.setItem(key, theme);
  } catch {
    // Without storage the choice lasts as long as the page.
  }
}

// Sets the theme and keeps it up to date; change(theme) is called when it changes later.
export function startTheme(change) {
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  let theme = stored() ?? (system.matches ? "dark" : "light");
  let fixed = stored() !== null;
  const set = (to) => {
    theme = to;
    document.documentElement.dataset.theme = to;
  };
  system.addEventListener("change", () => {
    if (fixed) return;
    set(system.matches ? "dark" : "light");
    change(theme);
  });
  document.getElementById("theme").addEventListener("click", () => {
    fixed = true;
    set(theme === "dark" ? "light" : "dark");
    store(theme);
    change(theme);
  });
  set(theme);
  return theme;
}

// SPDX-License-Identifier: MIT
// Light or dark: as the system says until the user chooses; the choice is kept where the browser
// lets a local file keep anything.

// The colours of what is drawn on the boxes of the graph.
export const inks = {
  light: {
    text: "#2a2118", fainter: "rgb(42 33 24 / 55%)", mark: "#b515c9", markText: "#ffffff",
    chosen: "#6d28d9", select: "#1f1d1a", hover: "rgb(0 0 0 / 60%)",
  },
  dark: {
    text: "#f4f1ec", fainter: "rgb(244 241 236 / 58%)", mark: "#c026d3", markText: "#ffffff",
    chosen: "#f0abfc", select: "#ffffff", hover: "rgb(255 255 255 / 65%)",
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

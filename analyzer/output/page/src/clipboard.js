// SPDX-License-Identifier: MIT
// Copies text. Resolves to whether it worked: a browser may refuse.
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

// For pages that may not use the clipboard directly.
function copyBySelection(text) {
  const area = document.createElement("textarea");
  const back = document.activeElement;
  area.value = text;
  area.className = "offscreen";
  (document.querySelector("dialog[open]") ?? document.body).append(area);  // the rest is inert
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  back?.focus();
  return done;
}

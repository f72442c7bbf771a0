// SPDX-License-Identifier: MIT
// A menu at a point of the window. items: [{ label, about, key, act, isOff }].
import { element } from "./details.js";

export function showMenu(x, y, title, items) {
  const menu = document.getElementById("menu");
  const back = document.activeElement;
  const close = () => {
    menu.hidden = true;
    document.removeEventListener("pointerdown", outside, true);
    if (menu.contains(document.activeElement)) back?.focus();
  };
  const outside = (event) => menu.contains(event.target) || close();
  const buttons = items.filter(Boolean).map(({ label, about, key, act, isOff }) => {
    const made = element("button", "", label);
    made.type = "button";
    made.setAttribute("role", "menuitem");
    made.title = about ?? "";
    made.disabled = isOff === true;
    if (key) made.append(element("kbd", "", key));
    made.addEventListener("click", () => {
      close();
      act();
    });
    return made;
  });
  menu.replaceChildren(element("b", "", title), ...buttons);
  menu.onkeydown = (event) => {
    const enabled = buttons.filter((one) => !one.disabled);
    const at = enabled.indexOf(document.activeElement);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const named = items.filter(Boolean).findIndex(({ key, isOff }) => key === event.key && !isOff);
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (step) enabled.at((at + step) % enabled.length).focus();
    else if (named >= 0) buttons[named].click();
    else if (event.key === "Escape" || event.key === "Tab") close();
    else if (event.key !== "Enter" && event.key !== " ") {
      if (event.key.length === 1) close();
      return;
    }
    event.stopPropagation();
    if (event.key !== "Enter" && event.key !== " ") event.preventDefault();
  };
  menu.hidden = false;
  const { width, height } = menu.getBoundingClientRect();
  menu.style.left = `${Math.max(4, Math.min(x, window.innerWidth - width - 4))}px`;
  menu.style.top = `${Math.max(4, Math.min(y, window.innerHeight - height - 4))}px`;
  buttons.find((one) => !one.disabled)?.focus();
  document.addEventListener("pointerdown", outside, true);
}

// SPDX-License-Identifier: MIT
// Numbers as people read them: times, counts and shares. Every number on the page goes through here.

const timeUnits = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]];

// Nanoseconds with four significant digits, whole below a microsecond: "12.35 ms".
export function formatTime(ns) {
  for (const [size, unit] of timeUnits) {
    if (ns >= size) {
      const value = ns / size;
      const digits = value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3;
      return `${groupDigits(value.toFixed(digits))} ${unit}`;
    }
  }
  return `${Math.round(ns)} ns`;
}

function groupDigits(text) {
  return text.replace(/\B(?=(\d{3})+$)/g, ",");  // never more than three digits after a point
}

export function formatCount(count) {
  return groupDigits(String(count));
}

// A part of a whole in percent; a small part is never shown as nothing.
export function formatShare(part, whole) {
  if (!(whole > 0) || part === 0) return "0 %";
  const percent = (part / whole) * 100;
  if (percent < 0.01) return "<0.01 %";
  if (part === whole) return "100 %";
  if (percent > 99.99) return ">99.99 %";
  return `${percent.toFixed(2)} %`;
}

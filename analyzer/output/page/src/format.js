// SPDX-License-Identifier: MIT
// Formats all numbers on the page: times, counts and shares.

// What the page counts: calls, or samples. Set once, from the page's data.
export const words = { calls: "calls" };

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

// A part of a whole in percent; a part that is not zero is never shown as zero.
export function formatShare(part, whole) {
  if (!(whole > 0) || part === 0) return "0 %";
  const percent = (part / whole) * 100;
  if (percent < 0.01) return "<0.01 %";
  if (part === whole) return "100 %";
  if (percent > 99.99) return ">99.99 %";
  return `${percent.toFixed(2)} %`;
}

// A difference of times, with its sign: "+1.250 ms", "−3 ns", "±0".
export function formatDelta(ns) {
  if (ns === 0) return "±0";
  return (ns > 0 ? "+" : "−") + formatTime(Math.abs(ns));
}

// The change from `before` to `now` in percent of `before`; from 1000 % on as a factor: "×12.0".
export function formatChange(now, before) {
  if (now === before) return "±0 %";
  if (before === 0) return "new";
  if (now === 0) return "gone";
  const percent = ((now - before) / before) * 100;
  const size = Math.abs(percent);
  if (size >= 1000) return `×${groupDigits((now / before).toFixed(now / before < 100 ? 1 : 0))}`;
  const text = size >= 0.01 ? size.toFixed(size < 10 ? 2 : 1) : "<0.01";
  return `${percent > 0 ? "+" : "−"}${text} %`;
}

// A point on an axis whose marks are `step` apart, all in the unit that fits the largest.
export function formatMark(ns, step, largest) {
  const [size, unit] = timeUnits.find(([size]) => largest >= size) ?? [1, "ns"];
  const digits = Math.max(0, Math.min(9, Math.ceil(-Math.log10(step / size) - 1e-9)));
  return `${(ns / size).toFixed(digits)} ${unit}`;
}

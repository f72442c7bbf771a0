// SPDX-License-Identifier: MIT
// The command line that made the page, and those that show what it leaves out.

// As a shell reads it back; bytes that are not text are \xNN in the page and are not restored.
function quoted(word) {
  return /^[\w@%+=:,./~-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

export function commandText(words) {
  return words.map(quoted).join(" ");
}

// The words without options that may be given only once: each is [long name, letter].
function without(words, ...options) {
  const left = [];
  for (let at = 0; at < words.length; at++) {
    const takes = options.some(([long, letter]) => words[at] === `--${long}` || words[at] === `-${letter}`);
    const has = options.some(([long, letter]) => words[at].startsWith(`--${long}=`) || (letter && words[at].startsWith(`-${letter}`)));
    if (takes) at++;
    else if (!has) left.push(words[at]);
  }
  return left;
}

// The command with other outputs, instead of the page, and without the files `left`.
export function commandFor(profile, options, left = []) {
  if (!profile.command.length) return "";
  const isDropped = (word) => /^--(page|flame)(=|$)/.test(word) || word === "--requests" || left.includes(word);
  const words = profile.command.filter((word) => !isDropped(word));
  return commandText([...without(words, ["chart-limit"], ["graph-limit"], ["limit"], ["request"], ["slow-requests"]), ...options]);
}

// The command for a page with everything that this view leaves out; "" if nothing is left out or the
// command is unknown. Of a part of the time only the calls in it are asked for.
export function commandForAll(profile, chart, view) {
  if (!profile.command.length) return "";
  if (!view.isTime) return profile.prunedNodes ? commandText([...without(profile.command, ["graph-limit"]), "--graph-limit", "0"]) : "";
  if (!(chart.hiddenCalls && chart.shortest > 1) && !chart.hiddenTracks) return "";  // calls of 0 ns are never drawn
  const { x, span } = view.range;
  const from = Math.floor(x + view.offset);
  const isPart = view.isZoomed && !chart.note;  // files that all begin at 0 have no common time
  const range = isPart ? ["-r", `${from}ns~${Math.ceil(x + view.offset + span)}ns`] : [];
  const words = without(profile.command, ["chart-limit"], ...(isPart ? [["time-range", "r"]] : []));
  return commandText([...words, ...range, "--chart-limit", "0"]);
}

// SPDX-License-Identifier: MIT
// The command line that made the page, and those that show what it leaves out.

// As a shell reads it back; bytes that are not text are \xNN in the page and are not restored.
function quoted(word) {
  return /^[\w@%+=:,./~-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

export function commandText(words) {
  return words.map(quoted).join(" ");
}

// The command for a page with everything that this view leaves out; "" if nothing is left out or the
// command is unknown. Of a part of the time only the calls in it are asked for.
export function commandForAll(profile, chart, view) {
  if (!profile.command.length) return "";
  if (!view.isTime) return profile.prunedNodes ? commandText([...profile.command, "--graph-limit", "0"]) : "";
  if (!chart.hiddenCalls && !chart.hiddenTracks) return "";
  const { x, span } = view.range;
  const from = Math.floor(x + view.offset);
  const range = view.isZoomed && !chart.note ? ["-r", `${from}ns~${Math.ceil(x + view.offset + span)}ns`] : [];
  return commandText([...profile.command, ...range, "--chart-limit", "0"]);
}

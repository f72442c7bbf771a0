# SPDX-License-Identifier: MIT
"""Figures from samples, and tables in two forms: text and markdown.

Ratios are always between minima of interleaved repetitions: noise only ever
adds time. The spread next to a ratio is half the distance between the quartiles
of the ratios of single rounds; it shows how far to trust the ratio.
"""
import math
import statistics
from dataclasses import dataclass, field


def geomean(values):
    """Geometric mean of positive numbers; nan if there are none."""
    values = list(values)
    return statistics.geometric_mean(values) if values else math.nan


def quartile_spread(values):
    """Half the distance between the quartiles; 0 for fewer than two values."""
    if len(values) < 2:
        return 0.0
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return (high - low) / 2


@dataclass
class Samples:
    """Seconds (or counts) of one variant: a list per round."""

    rounds: list = field(default_factory=list)
    lost: int = 0  # events, all rounds

    def best(self):
        return min(min(r) for r in self.rounds)

    def over(self, base):
        """Ratio of this variant to base."""
        return self.best() / base.best()

    def spread_over(self, base):
        pairs = zip(self.rounds, base.rounds)
        return quartile_spread([min(a) / min(b) for a, b in pairs])


@dataclass
class Table:
    """A section's result. Cells are strings; `notes` go under the table."""

    title: str
    aim: str
    columns: list
    rows: list = field(default_factory=list)
    notes: list = field(default_factory=list)

    def add(self, *cells):
        assert len(cells) == len(self.columns), cells
        self.rows.append([str(c) for c in cells])

    def add_loss(self, lost):
        """A lost event is cheaper than a recorded one, so losses are noted."""
        if lost:
            self.notes.append(f"timed recordings lost {lost:,} events")

    def text(self):
        grid = [self.columns] + self.rows
        width = [max(len(row[i]) for row in grid) for i in range(len(self.columns))]
        lines = [f"== {self.title}", f"   aim: {self.aim}"]
        for row in grid:
            cells = [row[0].ljust(width[0])] + [c.rjust(w) for c, w in zip(row[1:], width[1:])]
            lines.append("  ".join(cells).rstrip())
        return "\n".join(lines + [f"   {note}" for note in self.notes])

    def markdown(self):
        rule = [":--"] + ["--:"] * (len(self.columns) - 1)
        lines = [f"### {self.title}", "", f"Aim: {self.aim}", ""]
        lines += ["| " + " | ".join(row) + " |" for row in [self.columns, rule] + self.rows]
        return "\n".join(lines + [""] + [f"* {note}" for note in self.notes])

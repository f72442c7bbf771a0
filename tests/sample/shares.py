#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares shares of samples with known shares of CPU time, for the two functions of truth.lua.

  shares.py SAMPLES "heavy S light S"

SAMPLES: what samples.py printed. Fails if a share differs by more than five standard errors of a
binomial distribution, if one stack has both functions, or if too few samples have either."""
import math
import sys


def main():
    words = sys.argv[2].split()
    true = {words[0]: float(words[1]), words[2]: float(words[3])}
    counts = dict.fromkeys(true, 0)
    total = both = 0
    with open(sys.argv[1]) as f:
        for line in f:
            frames = line.split(" ", 2)[2].rstrip("\n").split(";")
            found = [name for name in true if any(f.endswith(":" + name) and f.startswith("L:") for f in frames)]
            total += 1
            both += len(found) > 1
            for name in found:
                counts[name] += 1
    n = sum(counts.values())
    p = true["heavy"] / sum(true.values())
    error = math.sqrt(p * (1 - p) / max(n, 1))
    share = counts["heavy"] / max(n, 1)
    print("%d samples, %d in heavy or light, %d in both; share of heavy %.4f, true %.4f, standard error %.4f"
          % (total, n, both, share, p, error))
    if both or n < 200 or n < 0.8 * total or abs(share - p) > 5 * error:
        sys.exit("wrong")


main()

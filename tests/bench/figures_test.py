# SPDX-License-Identifier: MIT
"""The arithmetic behind scripts/bench's tables, on numbers worked out by hand."""
import math
import sys
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "driver"))

import runner  # noqa: E402
import sample_stacks  # noqa: E402
import shares  # noqa: E402
from setup import Missing, Program, programs  # noqa: E402
from table import Samples, Table, geomean, quartile_spread  # noqa: E402


class Figures(unittest.TestCase):
    def test_geomean(self):
        self.assertAlmostEqual(geomean([2, 8]), 4)
        self.assertAlmostEqual(geomean(x for x in (1, 10, 100)), 10)
        self.assertTrue(math.isnan(geomean([])))

    def test_quartile_spread(self):
        self.assertEqual(quartile_spread([]), 0)
        self.assertEqual(quartile_spread([7]), 0)
        self.assertAlmostEqual(quartile_spread([5, 1, 3, 2, 4]), 1)  # quartiles 2 and 4
        self.assertAlmostEqual(quartile_spread([0, 1]), 0.25)

    def test_ratio_is_between_the_fastest_repetitions(self):
        slow = Samples([[9.0, 4.0], [6.0, 5.0]])
        fast = Samples([[3.0, 2.0], [2.5, 8.0]])
        self.assertAlmostEqual(slow.over(fast), 2)
        self.assertAlmostEqual(slow.spread_over(fast), 0)  # 2.0 in both rounds
        self.assertAlmostEqual(fast.over(slow), 0.5)


class Tables(unittest.TestCase):
    def table(self):
        table = Table("Title", "≤ 1", ["program", "ratio"], notes=["floor 9 ns"])
        table.add("fib", "1.25")
        table.add("binary_trees", "10.00")
        return table

    def test_text_is_aligned(self):
        lines = self.table().text().splitlines()
        self.assertEqual(lines[2:5], ["program       ratio", "fib            1.25",
                                      "binary_trees  10.00"])
        self.assertIn("floor 9 ns", lines[5])

    def test_markdown(self):
        lines = self.table().markdown().splitlines()
        self.assertIn("| program | ratio |", lines)
        self.assertIn("| :-- | --: |", lines)
        self.assertIn("| fib | 1.25 |", lines)
        self.assertIn("* floor 9 ns", lines)

    def test_a_row_of_another_width_is_refused(self):
        with self.assertRaises(AssertionError):
            self.table().add("fib")


class Programs(unittest.TestCase):
    def test_enough_of_them_each_with_sizes(self):
        everything = programs("programs")
        self.assertGreaterEqual(len(everything), 15)
        for program in everything + programs("events"):
            self.assertLessEqual(program.small, program.size, program.name)

    def test_a_program_without_sizes_is_refused(self):
        with self.assertRaises(Missing):
            Program.read(ROOT / "bench" / "run.lua")


class Interleave(unittest.TestCase):
    def test_variants_to_be_compared_run_equally_often_and_with_code_elsewhere_in_each_round(self):
        took = {"slow": 0.02, "fast": 0.01}
        runs = []

        def run(variant, program, size, repetitions, scratch=None, timeout=0, layout=0):
            runs.append((repetitions, layout))
            return runner.Run([took[variant]] * repetitions, [], "", 0)

        with mock.patch.object(runner, "run", run):
            samples = runner.interleave({"slow": "slow", "fast": "fast"}, None, 0, 3, 0.05, equally=True)
        self.assertEqual([len(r) for s in samples.values() for r in s.rounds], [5] * 6)
        self.assertEqual(runs[2:], [(5, turn) for turn in range(3) for _ in took])


class SampledStacks(unittest.TestCase):
    TREE = "1 0 0\n2 1 10\n3 2 20\n"  # 10 calls 20

    def result(self, node, *frames):
        counts = sample_stacks.count("7 C %d %s" % (node, ";".join(frames)), self.TREE)
        return [name for name, n in counts["C"].items() if n]

    def test_each_result(self):
        main, outer, inner = ("L:@shadow.lua:%d:f" % line for line in (0, 10, 20))
        store, other = "L:@shadow.lua:5:enter", "L:@other.lua:20:f"
        self.assertEqual(self.result(3, "N:x", main, outer, "builtin#1", inner, "N:x"), ["right"])
        self.assertEqual(self.result(1, main, other), ["right"])
        self.assertEqual(self.result(2, main, outer, inner), ["one more"])
        self.assertEqual(self.result(3, main, outer, "N:x"), ["one less"])
        self.assertEqual(self.result(3, main, "unknown"), ["unknown"])
        self.assertEqual(self.result(2, main, outer, inner, store, "N:x"), ["storing"])
        self.assertEqual(self.result(0, main, outer), ["storing"])
        for wrong in ((main,), (main, inner), (main, inner, outer), (main, outer, outer, inner)):
            self.assertEqual(self.result(3, *wrong), ["wrong"])


class Shares(unittest.TestCase):
    def test_distance_is_what_would_have_to_move(self):
        self.assertAlmostEqual(shares.distance({1: 30, 2: 70}, {1: 3, 2: 7}), 0)
        self.assertAlmostEqual(shares.distance({1: 1}, {2: 5}), 100)
        self.assertAlmostEqual(shares.distance({1: 50, 2: 50}, {1: 60, 2: 20, 3: 20}), 30)
        with self.assertRaises(Missing):
            shares.distance({1: 0}, {1: 1})

    def test_noise_falls_with_the_root_of_the_samples(self):
        few, many = shares.noise({1: 50, 2: 50}), shares.noise({1: 5000, 2: 5000})
        self.assertAlmostEqual(few / many, 10)
        self.assertAlmostEqual(few, 100 * 0.5 * math.sqrt(2 / math.pi / 100))
        self.assertAlmostEqual(shares.noise({1: 100}), 0)


if __name__ == "__main__":
    unittest.main()

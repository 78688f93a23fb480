"""What the wheels must do once installed; runs inside the clean environment."""

import os
import random
import subprocess
import sys
import unittest
from importlib import metadata
from math import inf, isnan
from pathlib import Path

import rillkit
import rillkit_speed
from rillkit import reference
from rillkit.report import report

COMMIT = os.environ["SLUICE_COMMIT"]


def values(rill):
    return rill.count, rill.mean, rill.variance, rill.low, rill.high


class Stamp(unittest.TestCase):
    def test_both_wheels_carry_the_commit(self):
        self.assertEqual((rillkit.COMMIT, rillkit_speed.COMMIT), (COMMIT, COMMIT))

    def test_the_version_follows_from_the_commit(self):
        self.assertTrue(rillkit.VERSION.endswith(f".dev{int(COMMIT[:9], 16)}"))
        for name in ("rillkit", "rillkit-speed"):
            self.assertEqual(metadata.version(name), rillkit.VERSION)

    def test_the_wheel_carries_the_lock_it_is_tested_with(self):
        lock = "requirements_py%d.%d.txt" % sys.version_info[:2]
        carried = Path(rillkit_speed.__file__).with_name("tested-with.txt").read_text()
        self.assertEqual(carried, Path(os.environ["SLUICE_INPUTS"], "lock", lock).read_text())

    def test_nothing_comes_from_outside_the_environment(self):
        for module in (rillkit, rillkit_speed):
            self.assertIn(Path(sys.prefix), Path(module.__file__).parents)


class Summary(unittest.TestCase):
    def test_the_c_core_is_used(self):
        self.assertEqual((rillkit.ENGINE, rillkit.Rill), ("c", rillkit_speed.Rill))

    def test_known_values(self):
        for engine in (rillkit.Rill, reference.Rill):
            with self.subTest(engine=engine.__module__):
                self.assertEqual(values(engine([2, 4, 9])), (3, 5.0, 13.0, 2.0, 9.0))

    def test_an_empty_stream(self):
        rill = rillkit.Rill()
        self.assertEqual((rill.count, rill.low, rill.high), (0, inf, -inf))
        self.assertTrue(isnan(rill.variance))

    def test_a_large_offset_costs_no_precision(self):
        self.assertEqual(rillkit.Rill(1e9 + x for x in (4, 7, 13, 16)).variance, 30.0)

    def test_both_engines_agree_to_the_last_bit(self):
        numbers = random.Random(20).choices(range(-(10**6), 10**6), k=5000)
        self.assertEqual(values(rillkit.Rill(numbers)), values(reference.Rill(numbers)))

    def test_merging_is_as_if_one_stream_had_followed_the_other(self):
        for engine in (rillkit.Rill, reference.Rill):
            with self.subTest(engine=engine.__module__):
                left, right = engine([1, 2, 3]), engine([10, 20])
                left.merge(right)
                left.merge(engine())
                both = engine([1, 2, 3, 10, 20])
                self.assertEqual((left.count, left.low, left.high), (5, 1.0, 20.0))
                self.assertAlmostEqual(left.mean, both.mean)
                self.assertAlmostEqual(left.variance, both.variance)

    def test_what_is_not_a_number_is_refused(self):
        with self.assertRaises(TypeError):
            rillkit.Rill(["seven"])
        with self.assertRaises(TypeError):
            rillkit.Rill().merge(reference.Rill())


class Report(unittest.TestCase):
    def test_windows_and_the_whole(self):
        lines = [line.split() for line in report([1, 3, 5, 7, 9], every=2).splitlines()]
        self.assertEqual([line[0] for line in lines], ["window", "1", "2", "3", "all"])
        self.assertEqual(lines[-1], ["all", "5", "5", "10", "1", "9"])

    def test_the_command(self):
        command = Path(sys.prefix, "bin", "rillkit")
        printed = subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(printed.split(), ["rillkit", rillkit.VERSION, COMMIT, "(c)"])

"""What the multi-platform JAR must do, as a program and as somebody's dependency."""

import os
import subprocess
import unittest
import zipfile
from pathlib import Path

COMMIT = os.environ["SLUICE_COMMIT"]
(JAR,) = Path(os.environ["SLUICE_INPUTS"], "multiplatform-jar").glob("*.jar")
MACHINES = {"linux-x86_64": 62, "linux-aarch64": 183}  # e_machine of an ELF file
JAVA = ["java", "-XX:TieredStopAtLevel=1", "-Xshare:auto"]


def java(*words, text=""):
    return subprocess.run([*JAVA, *map(str, words)], input=text, capture_output=True, text=True, check=True).stdout


class Contents(unittest.TestCase):
    def test_the_manifest_carries_the_commit(self):
        with zipfile.ZipFile(JAR) as jar:
            self.assertEqual(jar.namelist()[0], "META-INF/MANIFEST.MF")
            lines = jar.read("META-INF/MANIFEST.MF").decode().splitlines()
        self.assertIn(f"Implementation-Commit: {COMMIT}", lines)

    def test_every_native_library_is_of_its_platform(self):
        with zipfile.ZipFile(JAR) as jar:
            natives = [name for name in jar.namelist() if name.startswith("natives/")]
            self.assertTrue(natives)
            for name in natives:
                with self.subTest(name=name):
                    self.assertEqual(int.from_bytes(jar.read(name)[18:20], "little"), MACHINES[name.split("/")[1]])


class Program(unittest.TestCase):
    def test_it_says_what_it_is(self):
        name, version, commit, _ = java("-jar", JAR, "--version").split()
        self.assertEqual((name, commit), ("rillkit", COMMIT))
        self.assertEqual(JAR.name, f"rillkit-{version}.jar")

    def test_it_sums_up_a_stream(self):
        printed = java("-jar", JAR, text="2 4\n9\n").split()
        self.assertEqual(printed, "count 3 mean 5.0 variance 13.0 low 2.0 high 9.0".split())

    def test_a_stranger_can_use_it(self):
        printed = java("-cp", JAR, Path(__file__).with_name("Stranger.java"))
        self.assertEqual(printed.split(), ["5", "1.0", "20.0", "7.2", "63.7"])

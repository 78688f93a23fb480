"""Runs a file of unittest cases and writes what it found as JUnit XML: python junit.py REPORT.xml TESTS.py

Ends with 0 only if there were tests and every one of them passed: a skipped test is not a passed one.
"""

import importlib.util
import sys
import time
import unittest
from pathlib import Path
from xml.etree import ElementTree as xml


class Result(unittest.TextTestResult):
    """Keeps a JUnit case of every test."""

    def __init__(self, *args, **names):
        super().__init__(*args, **names)
        self.cases: list[xml.Element] = []

    def startTest(self, test):
        super().startTest(test)
        self.began = time.perf_counter()
        _, group, name = test.id().rsplit(".", 2)
        self.cases.append(xml.Element("testcase", classname=group, name=name))

    def stopTest(self, test):
        super().stopTest(test)
        self.cases[-1].set("time", f"{time.perf_counter() - self.began:.3f}")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.explain("failure", test, err)

    def addError(self, test, err):
        super().addError(test, err)
        self.explain("error", test, err)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.explain("failure", subtest, err)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        xml.SubElement(self.cases[-1], "skipped", message=reason)

    def explain(self, kind, test, err):
        found = xml.SubElement(self.cases[-1], kind, type=err[0].__name__, message=str(err[1]))
        found.text = self._exc_info_to_string(err, test)


def load(path: Path) -> unittest.TestSuite:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return unittest.defaultTestLoader.loadTestsFromModule(module)


def write(path: Path, name: str, cases: list[xml.Element], seconds: float) -> None:
    def count(kind: str) -> str:
        return str(sum(case.find(kind) is not None for case in cases))

    counts = {"tests": str(len(cases)), "failures": count("failure"), "errors": count("error"), "skipped": count("skipped")}
    suite = xml.Element("testsuite", name=name, time=f"{seconds:.3f}", **counts)
    suite.extend(cases)
    path.parent.mkdir(parents=True, exist_ok=True)
    xml.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)


if __name__ == "__main__":
    report, tests = Path(sys.argv[1]), Path(sys.argv[2])
    began = time.perf_counter()
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2, resultclass=Result).run(load(tests))
    write(report, tests.stem, result.cases, time.perf_counter() - began)
    sys.exit(0 if result.cases and result.wasSuccessful() and not result.skipped else 1)

"""Verdicts on columns as JUnit XML, which servers for continuous integration show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inference.core.texts import as_single_line
from inference.formats.quoting import XmlLines


@dataclass(frozen=True)
class TestCase:
    """One verdict.

    Attributes:
        failure: Why it failed.
        skipped: Why nothing was judged; both "" for a pass.
    """

    __test__ = False  # otherwise pytest collects it

    name: str
    text: str
    failure: str = ""
    skipped: str = ""


def write_junit(suite: str, group: str, cases: Sequence[TestCase]) -> str:
    """A JUnit document with one test suite, for continuous integration.

    Args:
        suite: Its name.
        group: Written as the class name of all cases.
        cases: One per test; one without failure passed or was skipped.
    """
    counts = {
        "tests": str(len(cases)),
        "failures": str(sum(bool(case.failure) for case in cases)),
        "errors": "0",
        "skipped": str(sum(bool(case.skipped) for case in cases)),
    }
    xml = XmlLines()
    with xml.inside("testsuites", counts), xml.inside("testsuite", {"name": as_single_line(suite), **counts}):
        for case in cases:
            with xml.inside(
                "testcase", {"classname": as_single_line(group), "name": as_single_line(case.name)}
            ):
                if case.failure:
                    attributes = {"message": as_single_line(case.failure), "type": "regression"}
                    xml.leaf("failure", attributes, as_single_line(case.text))
                elif case.skipped:
                    xml.leaf("skipped", {"message": as_single_line(case.skipped)})
                else:
                    xml.leaf("system-out", {}, as_single_line(case.text))
    return xml.text()

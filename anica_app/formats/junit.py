"""Verdicts on columns as JUnit XML, which servers for continuous integration show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inference.formats.xml_lines import XmlLines


@dataclass(frozen=True)
class TestCase:
    """One verdict: `failure` says why it failed, `skipped` why nothing was judged; "" for neither."""

    __test__ = False  # pytest would take it for tests

    name: str
    text: str
    failure: str = ""
    skipped: str = ""


def write_junit(suite: str, group: str, cases: Sequence[TestCase]) -> str:
    """The document: one test suite; `group` stands where reports have the name of a class."""
    counts = {
        "tests": str(len(cases)),
        "failures": str(sum(bool(case.failure) for case in cases)),
        "errors": "0",
        "skipped": str(sum(bool(case.skipped) for case in cases)),
    }
    xml = XmlLines()
    with xml.inside("testsuites", counts), xml.inside("testsuite", {"name": _printable(suite), **counts}):
        for case in cases:
            with xml.inside("testcase", {"classname": _printable(group), "name": _printable(case.name)}):
                if case.failure:
                    told = {"message": _printable(case.failure), "type": "regression"}
                    xml.leaf("failure", told, _printable(case.text))
                elif case.skipped:
                    xml.leaf("skipped", {"message": _printable(case.skipped)})
                else:
                    xml.leaf("system-out", {}, _printable(case.text))
    return xml.text()


def _printable(text: str) -> str:
    """XML cannot hold control characters at all, whatever the names of columns have."""
    return "".join(char if char.isprintable() else "�" for char in text)

"""JSON documents in a tree of files, such as a database can hold."""

from __future__ import annotations

import math
from typing import Any

from inference.formats.errors import ExchangeError
from inference.formats.file_trees import FileTree
from inference.formats.foreign_texts import check_texts
from inference.formats.problems import Problems, excerpt
from inference.formats.source import read_source
from inference.formats.strict_json import DEEPEST


def read_json(tree: FileTree, path: str, *, finite: bool = True) -> Any:
    """The document. Raises `ExchangeError` with what is wrong and in which line.

    Texts with halves of characters or NUL are refused, which no column can hold; `finite`: numbers without
    end are, too.
    """
    problems = Problems()
    source = read_source(tree.read(path), path, problems)
    if source is not None and not problems:
        if not source.is_json:
            problems.add("this is no JSON", "a JSON document is expected")
        elif odd := _odd(source.data, finite=finite):
            problems.add(f"{odd} cannot be stored", "ordinary numbers and texts are expected")
        elif fault := _fault_of_texts(source.data):
            problems.add(fault, "names are lines, other texts may have several")
    if source is None or problems:
        raise ExchangeError("\n".join(problem.line(path) for problem in problems.listed))
    return source.data


def _fault_of_texts(value: Any) -> str:
    try:
        check_texts(value, "document")
    except ValueError as error:
        return str(error)
    return ""


def _odd(value: Any, *, finite: bool) -> str:
    """A part that cannot be stored, "" where all can."""
    waiting = [(value, 0)]
    while waiting:
        one, depth = waiting.pop()
        if depth > DEEPEST:
            return f"what is nested in more than {DEEPEST} levels"
        if isinstance(one, dict):
            waiting += ((key, depth) for key in one)
            waiting += ((each, depth + 1) for each in one.values())
        elif isinstance(one, list):
            waiting += ((each, depth + 1) for each in one)
        elif finite and isinstance(one, float) and not math.isfinite(one):
            return "an infinite number"
        elif isinstance(one, str) and not one.isascii() and any("\ud800" <= char <= "\udfff" for char in one):
            return f"the text {ascii(one)[:60]}"
        elif isinstance(one, str) and "\0" in one:
            return f"the text {excerpt(one)}"
    return ""

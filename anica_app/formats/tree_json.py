"""JSON documents in a tree of files, such as a database can hold."""

from __future__ import annotations

from typing import Any

from inference.formats.archived_parts import check_texts, check_value
from inference.formats.file_trees import FileTree
from inference.formats.problems import ExchangeError, Problems
from inference.formats.source import read_source


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
        else:
            try:
                check_value(source.data, "document", finite=finite)
                check_texts(source.data, "document")
            except ValueError as error:
                problems.add(str(error), "ordinary numbers and texts are expected; names are lines")
    if source is None or problems:
        raise ExchangeError("\n".join(problem.line(path) for problem in problems.listed))
    return source.data

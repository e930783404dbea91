"""Shapes of answers are read from rows and values: what they say under its own name is not copied by hand."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

MAX_COPIES = 3
"""Of one value, in one dictionary; more are `fields_of`, or the value itself."""
NOT_YET = ("judging/", "coverage/", "matrices/")


def test_no_answer_copies_attributes_that_its_shape_reads() -> None:
    files = [
        *Path(settings.BASE_DIR).glob("*/features/**/*.py"),
        *Path(settings.BASE_DIR).glob("*/api/*.py"),
        *Path(settings.BASE_DIR).glob("*/web/api/*.py"),
    ]
    read = [file for file in files if "api" in file.parts[-2:] or file.name.endswith(("api.py", "shapes.py"))]
    assert len(read) > 40
    copies = {
        f"{file.relative_to(settings.BASE_DIR)}:{line}"
        for file in read
        if not any(room in str(file) for room in NOT_YET)
        for line, count in _copies(ast.parse(file.read_text()))
        if count > MAX_COPIES
    }
    assert copies == set()


def _copies(tree: ast.Module) -> Iterator[tuple[int, int]]:
    """(line, most attributes of one value that stand under their own names) of dictionaries in functions."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    for node in {node for function in functions for node in ast.walk(function) if isinstance(node, ast.Dict)}:
        owners = Counter(
            ast.unparse(value.value)
            for key, value in zip(node.keys, node.values, strict=True)
            if isinstance(key, ast.Constant) and isinstance(value, ast.Attribute) and value.attr == key.value
        )
        yield node.lineno, max(owners.values(), default=0)

"""Reduces error messages to the constant texts of this product's source, for bug reports.

Messages name machines, files, hosts and rows, and no pattern recognises all of these. But the constant parts
of every message are in the source: a message is matched against the source's texts, and of the best match
only the constant parts are kept. Of a traceback only frames in the product's files are kept, without the
message.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
from functools import cache
from pathlib import Path, PurePosixPath

from django.conf import settings

PACKAGES = ("pmweb", "inference", "anica_app")
GAP = "…"
_MIN_LETTERS = 10
"""Least letters in a text's constant parts: shorter texts would match nearly every message."""

_LIBRARIES = frozenset(
    (
        *("asgiref", "channels", "csp", "daphne", "dask", "distributed", "django", "iced_x86"),
        *("llvmlite", "ninja", "numba", "numpy", "plotly", "psycopg", "pydantic", "redis", "scipy"),
        *("websockets", "whitenoise", "z3"),
    )
)
_TRACEBACK = "\n\nTraceback (most recent call last):\n"
_FRAME = re.compile(r'^  File "([^"\n]+)", line (\d+), in ([\w.<>]+)$', re.MULTILINE)
_CLASS = re.compile(r"([A-Z][A-Za-z0-9]*)(?:: (.*))?")

_TEXT = (ast.Constant, ast.JoinedStr)
Parts = tuple[str, ...]


def sentence(text: str) -> str:
    """The first line as the source has it, with … for the variable parts; "" without a match."""
    line = text.partition("\n")[0]
    parts_that_fit = next((parts for parts in _sentences() if _fits(parts, line)), ())
    return GAP.join(parts_that_fit)


def exception(text: str) -> str:
    """`sentence` for "Class: message": keeps the class if it looks like that of an error."""
    match = _CLASS.fullmatch(text.partition("\n")[0])
    if match is None or not (hasattr(builtins, match[1]) or match[1].endswith(("Error", "Exception"))):
        return sentence(text)
    return f"{match[1]}: {sentence(match[2] or '') or GAP}"


def error(text: str) -> tuple[str, list[str]]:
    """(sentence, frames) of a failed run's error; the sentence is "" without a match."""
    message, evidence, traceback = text.partition(_TRACEBACK)
    return (exception(message), frames(traceback)) if evidence else (sentence(message), [])


def frames(traceback: str) -> list[str]:
    """The place of each frame: a line of the product, a library, or … for other files."""
    return [_place(PurePosixPath(file), line, function) for file, line, function in _FRAME.findall(traceback)]


def _place(path: PurePosixPath, line: str, function: str) -> str:
    for start in reversed(range(len(path.parts))):
        if path.parts[start] in PACKAGES:
            relative = Path(*path.parts[start:])
            if (
                relative.suffix == ".py" and (settings.BASE_DIR / relative).is_file()
            ):  # also of another host's copy
                return f"{relative}, line {line}, in {function}"
    for folder, name in zip(path.parts, path.parts[1:], strict=False):
        libraries = _LIBRARIES if folder == "site-packages" else sys.stdlib_module_names
        stem = name.removesuffix(".py")
        if (folder == "site-packages" or re.fullmatch(r"python3\.\d+", folder)) and stem in libraries:
            return f"in {stem}"
    return GAP


def _fits(parts: Parts, line: str) -> bool:
    """Whether the line has these parts in order, with any text between them."""
    if len(parts) == 1:
        return line == parts[0]
    first, *middle, last = parts
    if len(line) < len(first) + len(last) or not (line.startswith(first) and line.endswith(last)):
        return False
    at, end = len(first), len(line) - len(last)
    for part in middle:
        position = line.find(part, at, end)
        if position < 0:
            return False
        at = position + len(part)
    return True


@cache
def _sentences() -> tuple[Parts, ...]:
    """Constant parts of every text in the source, those with most letters first."""
    sentences: set[Parts] = set()
    for package in PACKAGES:
        for file in sorted((settings.BASE_DIR / package).rglob("*.py")):
            texts = (node for node in ast.walk(ast.parse(file.read_bytes())) if isinstance(node, _TEXT))
            sentences.update(map(_parts, texts))
    counted = ((_letters(parts), parts) for parts in sentences)
    ranked = sorted((-letters, parts) for letters, parts in counted if letters >= _MIN_LETTERS)
    return tuple(parts for _, parts in ranked)


def _parts(node: ast.Constant | ast.JoinedStr) -> Parts:
    """Constant parts of a text's first line."""
    if isinstance(node, ast.Constant):
        return (node.value.partition("\n")[0],) if isinstance(node.value, str) else ()
    parts = [""]
    for value in node.values:
        if isinstance(value, ast.Constant):
            parts[-1] += str(value.value)
            if "\n" in parts[-1]:
                parts[-1] = parts[-1].partition("\n")[0]
                break
        elif len(parts) == 1 or parts[-1]:
            parts.append("")
    return tuple(parts)


def _letters(parts: Parts) -> int:
    return sum(letter.isalpha() for part in parts for letter in part)

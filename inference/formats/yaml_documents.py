"""YAML of other tools, as plain values that know their lines: documents, lists, objects, texts and numbers.

References (`&a`, `*a`) are refused: no known tool writes any, and a small file can stand for a huge one by
them. Nothing in a file can name a Python object: tags mean nothing here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from inference.core.texts import check_paragraphs
from inference.formats.problems import Problems

MOST_VALUES = 3_000_000
"""Texts, numbers, lists and objects of one file."""
DEEPEST = 30
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's where this Python has it: many times as quick."""
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_WHOLE = re.compile(r"[-+]?(?:0|[1-9]\d{0,17})")
_DECIMAL = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][-+]?\d{1,3})?")


class YamlObject(dict[str, Any]):
    """An object with the line that it begins in, from 1."""

    line = 0


@dataclass(frozen=True)
class YamlDocument:
    """A document of a file: its `number` and its `line`, from 1, and what it says."""

    number: int
    line: int
    value: Any


class FaultyFieldError(Exception):
    """What is wrong with a field of an object, what would be right, and the line if it has one of its own."""

    def __init__(self, message: str, right: str, field: str, line: int | None = None) -> None:
        super().__init__(message)
        self.right, self.field, self.line = right, field, line


class _NotReadableError(Exception):
    def __init__(self, message: str, right: str, line: int) -> None:
        super().__init__(message)
        self.right, self.line = right, line


def read_yaml(text: str, problems: Problems) -> list[YamlDocument]:
    """The documents of a file; none after noting what makes it unreadable."""
    try:
        return list(_documents(yaml.parse(text, Loader=_LOADER)))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = None if mark is None else mark.line + 1
        problems.add(f"not valid YAML: {error.problem}", "a YAML document is expected", row=where)
    except yaml.YAMLError as error:
        problems.add(f"not valid YAML: {str(error)[:200]}", "a YAML document is expected")
    except _NotReadableError as error:
        problems.add(str(error), error.right, row=error.line)
    return []


def _documents(events: Iterator[Any]) -> Iterator[YamlDocument]:
    reader = _Reader(events)
    number = 0
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            number += 1
            first = next(events)
            yield YamlDocument(number, first.start_mark.line + 1, reader.value(first, 0))


class _Reader:
    def __init__(self, events: Iterator[Any]) -> None:
        self._events = events
        self._values = 0

    def value(self, event: Any, depth: int) -> Any:
        """What begins with this event."""
        self._check(event, depth)
        if isinstance(event, yaml.ScalarEvent):
            self._check_text(event)
            return _scalar(event)
        if isinstance(event, yaml.SequenceStartEvent):
            return list(self._inside(yaml.SequenceEndEvent, depth))
        found = YamlObject()
        found.line = event.start_mark.line + 1
        inside = self._inside(yaml.MappingEndEvent, depth)
        for key in inside:
            name = key if isinstance(key, str) else _written(key)
            if name is None or name in found:
                what = "a key that is no text" if name is None else f"the key {name[:60]!r} twice"
                raise _NotReadableError(what, "each key of an object is a text of its own", found.line)
            found[name] = next(inside)
        return found

    def _inside(self, end: type[Any], depth: int) -> Iterator[Any]:
        for event in self._events:
            if isinstance(event, end):
                return
            yield self.value(event, depth + 1)

    def _check_text(self, event: Any) -> None:
        try:
            check_paragraphs(event.value)
        except ValueError as error:
            what, _, right = str(error).partition(": ")
            raise _NotReadableError(what, right, event.start_mark.line + 1) from None

    def _check(self, event: Any, depth: int) -> None:
        line = event.start_mark.line + 1
        self._values += 1
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            raise _NotReadableError("a reference (& or *)", "write each value where it belongs", line)
        if depth > DEEPEST:
            raise _NotReadableError("the YAML is nested too deeply", f"{DEEPEST} levels at most", line)
        if self._values > MOST_VALUES:
            raise _NotReadableError(f"the YAML has more than {MOST_VALUES:,} values", "split the file", line)


def _scalar(event: Any) -> Any:
    text: str = event.value
    if not event.implicit[0]:  # quoted, or a block of text
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) else text


def _written(key: Any) -> str | None:
    """A key that looks like a number or a word with a meaning, as a text."""
    if isinstance(key, bool) or key is None:
        return None if key is None else str(key).lower()
    return str(key) if isinstance(key, int | float) else None

"""Pasted text as lines without comments: what the comments say is kept beside them.

Comments begin with `#` or `//` and end with the line, or stand between `/*` and `*/`. What follows a `;` can
be an instruction or a comment, which only its reader can tell; the line is cut there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from inference.isa.code.decoration import undrawn, without_colours
from inference.isa.code.errors import BlockError

MOST_LINES = 200_000
_CONTROL = re.compile("[\0-\x08\x0e-\x1f\x7f\ud800-\udfff]")
_MARK = re.compile(r"[\"'#;]|//|/\*")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"?')
_CHARACTER = re.compile(r"'\\?[^\s\\]'")


class LinePart(NamedTuple):
    """A piece of a line between semicolons; `column` counts from 1, `first` is the one before any `;`."""

    text: str
    column: int
    first: bool


class SourceLine(NamedTuple):
    """A line of the text by its number from 1; `comment` is all that its comments say."""

    number: int
    raw: str
    parts: tuple[LinePart, ...]
    comment: str = ""


def lines_of(text: str) -> list[str]:
    """The lines of a text as they are pasted. Raises `BlockError` for what no text has."""
    lines = without_colours(text).splitlines()
    if len(lines) > MOST_LINES:
        raise BlockError(f"a text has at most {MOST_LINES:,} lines, not {len(lines):,}")
    return lines


def source_lines(lines: list[str], first: int) -> Iterator[SourceLine]:
    """The lines without comments, the first of which has this number. Raises `BlockError`."""
    inside = 0  # the number of the line in which a comment of several lines began
    for number, raw in enumerate(undrawn(lines), start=first):
        parts, comment, inside = _parted(raw, number, inside)
        yield SourceLine(number, raw, tuple(parts), comment.strip())
    if inside:
        raise BlockError("a comment that begins here with /* is not closed", inside)


def _parted(raw: str, number: int, inside: int) -> tuple[list[LinePart], str, int]:
    if not inside and not _MARK.search(raw):
        only = _part(raw, 1, first=True)
        return [only] if only.text else [], "", 0
    parts: list[LinePart] = []
    said: list[str] = []
    written, begin, at = "", 1, 0
    while at < len(raw):
        if inside:
            end = raw.find("*/", at)
            said.append(raw[at:] if end < 0 else raw[at:end])
            if end < 0:
                at = len(raw)
                break
            at, inside = end + 2, 0
            written += " "
            continue
        mark = _MARK.search(raw, at)
        if mark is None:
            written += raw[at:]
            break
        written += raw[at : mark.start()]
        sign, at = mark.group(), mark.start()
        if sign == '"':
            quoted = _QUOTED.match(raw, at)
            assert quoted is not None
            written += quoted.group()
            at = quoted.end()
        elif sign == "'":
            character = _CHARACTER.match(raw, at)
            length = len(character.group()) if character else 1
            written += raw[at : at + length]
            at += length
        elif sign == "/*":
            inside, at = number, at + 2
        elif sign == ";":
            parts.append(_part(written, begin, first=not parts))
            at += 1
            written, begin = "", at + 1
        else:
            said.append(raw[at + len(sign) :])
            break
    parts.append(_part(written, begin, first=not parts))
    return [part for part in parts if part.text], " ".join(said), inside


def _part(written: str, begin: int, *, first: bool) -> LinePart:
    stripped = written.strip()
    return LinePart(stripped, begin + len(written) - len(written.lstrip()), first)


def refuse_control_characters(text: str) -> None:
    """Raise `BlockError` for characters that no assembly has."""
    if _CONTROL.search(text):
        raise BlockError(f"{text[:40]!a} has characters that no assembly has")

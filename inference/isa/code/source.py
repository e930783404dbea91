"""Pasted text as lines without comments; the comments are kept beside them.

Comments begin with `#` or `//` and end with the line, or stand between `/*` and `*/`. The text behind a `;`
may be an instruction or a comment, which only its reader can decide; the line is split there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from inference.isa.code.block import BlockError

_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][0-9A-Z]|[@-Z\\^_])")
"""A terminal's control sequence, such as a colour."""

_BLANKS = dict.fromkeys([0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000], " ")
_INVISIBLE = dict.fromkeys([0xAD, 0x200B, 0x2060, 0xFEFF])
_WIDTHLESS = dict.fromkeys([0x200B, 0x2060, 0xFEFF])
_SPELLINGS = {**_BLANKS, **_INVISIBLE, 0x2026: "..."}

_DRAWING_CHARACTERS = "←-⇿─-◿✓-✘➔-➾⟰-⟿⤀-⥿⬀-⬑"
"""Arrows, frames, blocks, triangles and ticks, as a class of characters."""

_DRAWING = re.compile(rf"[{_DRAWING_CHARACTERS}]+(?:(?<=[─═╌┄┈])[<>])?")
"""Arrows and frames, including the head of radare2's arrows behind their line: `┌─>`."""

_MISREAD = re.compile("\u00e2[\u0080-\u2122]{2}|\u00c2[\u00a0-\u00bf]|\u00ef[\u00bb][\u00bf]")
"""Signs of UTF-8 in Windows' Latin letters: drawings and blanks."""

LEADING_DRAWINGS = re.compile(rf"^(?:\s|{_DRAWING.pattern})+")


def without_colours(text: str) -> str:
    """The text without terminal escape sequences and invisible characters; all blanks are plain.

    Drawings in UTF-8 that were read as Windows' Latin letters are drawings.
    """
    plain = text if text.isascii() else text.translate(_WIDTHLESS)
    plain = _ESCAPE.sub("", plain) if "\x1b" in plain else plain
    return plain if plain.isascii() else _MISREAD.sub(_read_again, plain).translate(_SPELLINGS)


def _read_again(letters: re.Match[str]) -> str:
    """The sign whose UTF-8 these letters are; the letters themselves where they are none."""
    try:
        codes = (ord(sign) if ord(sign) < 256 else sign.encode("cp1252")[0] for sign in letters[0])
        return bytes(codes).decode()
    except UnicodeError:
        return letters[0]


def without_drawings(line: str) -> str:
    """The line with blanks in place of arrows and frames."""
    return line if line.isascii() else _DRAWING.sub(" ", line)


def lines_without_drawings(lines: list[str]) -> list[str]:
    """Lines without drawings; the given list itself where nothing changes."""
    return lines if "".join(lines).isascii() else [without_drawings(line) for line in lines]


MAX_LINES = 200_000  # of a pasted text
_FENCE = ("```", "~~~")
_PROSE = re.compile(r"\s*(?:[#>*|]|[A-Z][\w']*,?\s+[a-z]|\d+\.\s)")
"""The beginning of a line of Markdown that is no code: a heading, a quotation, a list, a sentence."""

_CONTROL = re.compile("[\0-\x08\x0e-\x1f\x7f\ud800-\udfff]")
_MARK = re.compile(r"[\"'#;]|//|/\*")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"?')
_CHARACTER = re.compile(r"'\\?[^\s\\]'")


class LinePart(NamedTuple):
    """A part of a line between semicolons; `column` counts from 1, `first` is the part before any `;`."""

    text: str
    column: int
    first: bool


class SourceLine(NamedTuple):
    """A line of the text with its number from 1; `comment` is the text of all its comments."""

    number: int
    raw: str
    parts: tuple[LinePart, ...]
    comment: str = ""


def lines_of(text: str) -> list[str]:
    """The lines of a pasted text. Raises `BlockError` for more than `MAX_LINES`."""
    lines = without_colours(text).splitlines()
    if len(lines) > MAX_LINES:
        raise BlockError(f"a text has at most {MAX_LINES:,} lines, not {len(lines):,}")
    if text.lstrip().startswith(_FENCE) or "\n```" in text:
        lines = _without_prose(lines)
    return _instructions_of_report(lines) if "Instructions:" in text or _OSACA_TITLE in text else lines


_MCA_TITLE = re.compile(r"\s*\[([01])\](?:\s+\[[\d.]+\])+\s+Instructions:\s*")
_OSACA_TITLE = "||  CP  | LCD  |"
_OSACA_ROW = re.compile(  # bounded: a line of at most 1,000 characters
    r"\s*\d+ \|.{0,900}\|\|[^|]*\|[^|]*\|\s*(?:[*XP] +)*(.*)"
)


def _instructions_of_report(lines: list[str]) -> list[str]:
    """The lines of a report of llvm-mca or OSACA: all but the instructions of its first table are blank.

    Of other texts, the lines as they are.
    """
    titles = [(place, title[1]) for place, line in enumerate(lines) if (title := _MCA_TITLE.fullmatch(line))]
    first_column = min((column for _, column in titles), key="10".index, default="")
    begins = [place for place, column in titles if column == first_column]
    begins = begins or [place for place, line in enumerate(lines) if _OSACA_TITLE in line]
    if not begins:
        return lines
    code_lines = [""] * len(lines)
    for begin in begins:
        column = lines[begin].find("Instructions:")
        for place in range(begin + 1, len(lines)):
            line = lines[place]
            row = _OSACA_ROW.fullmatch(line[:1000]) if column < 0 else None
            if not line.strip():
                break
            code_lines[place] = line[column:] if column >= 0 else row[1] if row is not None else ""
    return code_lines


def _without_prose(lines: list[str]) -> list[str]:
    """The lines of Markdown; its fences, and sentences outside of them, are blank."""
    is_code = False
    code_lines = []
    for line in lines:
        is_fence = line.lstrip().startswith(_FENCE)
        is_code ^= is_fence
        code_lines.append("" if is_fence or (not is_code and _PROSE.match(line)) else line)
    return code_lines


def source_lines(lines: list[str], first: int, *, numbers_have_hashes: bool = False) -> Iterator[SourceLine]:
    """The lines without comments, numbered from `first`. Raises `BlockError` for an unclosed comment.

    `numbers_have_hashes`: a `#` is a comment only at the beginning of a line and before a blank.
    """
    inside = 0  # the number of the line in which a comment of several lines began
    for number, raw in enumerate(lines_without_drawings(lines), start=first):
        parts, comment, inside = _split_comments(raw, number, inside, numbers_have_hashes=numbers_have_hashes)
        yield SourceLine(number, raw, tuple(parts), comment.strip())
    if inside:
        raise BlockError("a comment that begins here with /* is not closed", inside)


def _split_comments(
    raw: str, number: int, comment_line: int, *, numbers_have_hashes: bool = False
) -> tuple[list[LinePart], str, int]:
    """The statements of a line, its comments, and the line where an open comment began (0 for none).

    A mark within a string or a character is no comment; `;` separates statements.

    Args:
        raw: The line.
        number: Number of the line, from 1.
        comment_line: Where a comment began that is still open, 0 for none.
        numbers_have_hashes: See `source_lines`.
    """
    if not comment_line and not _MARK.search(raw):
        only = _part(raw, 1, first=True)
        return [only] if only.text else [], "", 0
    parts: list[LinePart] = []
    comments: list[str] = []
    code_text, column, at = "", 1, 0
    while at < len(raw):
        if comment_line:
            end = raw.find("*/", at)
            comments.append(raw[at:] if end < 0 else raw[at:end])
            if end < 0:
                at = len(raw)
                break
            at, comment_line = end + 2, 0
            code_text += " "
            continue
        mark = _MARK.search(raw, at)
        if mark is None:
            code_text += raw[at:]
            break
        code_text += raw[at : mark.start()]
        sign, at = mark.group(), mark.start()
        if sign == '"':
            quoted = _QUOTED.match(raw, at)
            assert quoted is not None
            code_text += quoted.group()
            at = quoted.end()
        elif sign == "'":
            character = _CHARACTER.match(raw, at)
            length = len(character.group()) if character else 1
            code_text += raw[at : at + length]
            at += length
        elif sign == "/*":
            comment_line, at = number, at + 2
        elif sign == "#" and numbers_have_hashes and raw[:at].strip() and not raw[at + 1 : at + 2].isspace():
            code_text += sign
            at += 1
        elif sign == ";":
            parts.append(_part(code_text, column, first=not parts))
            at += 1
            code_text, column = "", at + 1
        else:
            comments.append(raw[at + len(sign) :])
            break
    parts.append(_part(code_text, column, first=not parts))
    return [part for part in parts if part.text], " ".join(comments), comment_line


def _part(written: str, column: int, *, first: bool) -> LinePart:
    stripped = written.strip()
    return LinePart(stripped, column + len(written) - len(written.lstrip()), first)


def refuse_control_characters(text: str) -> None:
    """Raise `BlockError` for characters that do not occur in assembly."""
    if _CONTROL.search(text):
        raise BlockError(f"{text[:40]!a} contains control characters")


_REGION_MARK = re.compile(r"\W{0,9}(?:LLVM-MCA|OSACA)[-_](BEGIN|START|END|STOP)\b\s*(.*)", re.IGNORECASE)
"""`# LLVM-MCA-BEGIN name`, `// OSACA-END`."""


class Regions:
    """The marked regions of a text, in the order of their begins; the name of an unnamed one is ""."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._open: dict[str, tuple[int, int]] = {}  # {name: (its number, the line that it begins in)}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._names)

    @property
    def inside(self) -> frozenset[int]:
        return frozenset(number for number, _ in self._open.values())

    def read_comment(self, comment: str, line: int) -> None:
        """Begin or end a region if the comment says so. Raises `BlockError` for an end without begin."""
        mark = _REGION_MARK.match(comment)
        if mark is None:
            return
        name = mark[2].strip()
        if mark[1].upper() in ("BEGIN", "START"):
            if name in self._open:
                flaw = f"the region {name!r} begins twice" if name else "a region begins within another one"
                raise BlockError(f"{flaw}: end it first, or give both a name", line)
            self._open[name] = len(self._names), line
            self._names.append(name)
            return
        if not name and len(self._open) == 1:
            name = next(iter(self._open))
        if name not in self._open:
            region = f"the region {name!r}" if name else "a region"
            raise BlockError(f"{region} ends here without a begin", line)
        del self._open[name]

    def end(self) -> None:
        """The end of the text. Raises `BlockError` where a region is still open."""
        for name, (_, line) in self._open.items():
            region = f"the region {name!r}" if name else "the region"
            raise BlockError(
                f"{region} that begins here has no end like '# LLVM-MCA-END {name}".rstrip() + "'", line
            )

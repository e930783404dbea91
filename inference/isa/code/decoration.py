"""What programs draw around code: colours of terminals, unusual blanks, arrows and frames.

None of it can be part of an instruction. Colours and blanks go before anything is read; drawings stay until
it is known what a line is, because `│` parts the columns of `perf annotate`.
"""

from __future__ import annotations

import re

_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][0-9A-Z]|[@-Z\\^_])")
_BLANKS = dict.fromkeys([0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000], " ")
_INVISIBLE = dict.fromkeys([0xAD, 0x200B, 0x2060, 0xFEFF])
_SPELLINGS = {**_BLANKS, **_INVISIBLE, 0x2026: "..."}

_DRAWN = "←-⇿─-◿➔-➾⟰-⟿⤀-⥿⬀-⬑"
"""Arrows, frames, blocks and triangles, as a class of characters."""

_DRAWING = re.compile(rf"[{_DRAWN}]+(?:(?<=[─═╌┄┈])[<>])?")
"""With the head of an arrow that radare2 writes behind its line: `┌─>`."""


def without_colours(text: str) -> str:
    """The text without escape sequences of terminals and invisible characters; each blank is a plain one."""
    plain = text if text.isascii() else text.translate(_SPELLINGS)
    return _ESCAPE.sub("", plain) if "\x1b" in plain else plain


def without_drawings(line: str) -> str:
    """The line with a blank in place of each arrow and frame."""
    return line if line.isascii() else _DRAWING.sub(" ", line)


def undrawn(lines: list[str]) -> list[str]:
    """The same of all lines; the very list where there is nothing to be done."""
    return lines if "".join(lines).isascii() else [without_drawings(line) for line in lines]

"""Texts that look like assembly and would do harm in an assembler: directives hidden by comments and labels.

A text is a function of the seed and its number. It is put together from directives that read files, emit,
repeat or guard code, instructions in both syntaxes and lines of listings, with comments, labels, separators,
quotes, macros and characters of other encodings between and within them.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path

_PIECES = json.loads((Path(__file__).parent / "_corpus" / "assembly_texts.json").read_text())
MAX_LENGTH = 60_000  # characters
_BEFORE = ("comments", "labels", "prefixes")
_STATEMENTS = (*("directives",) * 3, *("instructions",) * 2, "regions")
_WITHIN = ("comments", "characters", "separators")


def text_of(seed: int, number: int, file: str) -> str:
    """The text of this number; `file` is what its directives would read."""
    drawn = random.Random(f"{seed} {number}")
    text = "".join(_line(drawn) for _ in range(drawn.choice((1, 1, 1, 2, 2, 3, 5)))).replace("{file}", file)
    text = text.replace("{{", "{").replace("}}", "}")
    chance = drawn.random()
    if chance < 0.15:
        text = _other_case(drawn, text)
    if chance < 0.02:
        text = drawn.choice(("\ufeff", "\xff\xfe", "")) + _re_encoded(drawn, text)
    elif chance > 0.998:
        begin, piece, end = drawn.choice(_PIECES["repeated"])
        times = drawn.choice((50, 500, 5000, 20_000))
        piece = begin + "".join(piece.replace("№", str(k)) for k in range(times)) + end
        at = drawn.randrange(len(text) + 1)
        text = (text[:at] + piece + text[at:])[:MAX_LENGTH]
    return text


def _line(drawn: random.Random) -> str:
    """A statement with what stands before, within and behind it."""
    begin = "".join(_piece(drawn, _BEFORE) for _ in range(drawn.choice((0, 0, 1, 1, 1, 2, 3))))
    statement = _piece(drawn, _STATEMENTS)
    for _ in range(drawn.choice((0, 0, 0, 0, 1, 2))):
        at = drawn.randrange(len(statement) + 1)
        statement = statement[:at] + _piece(drawn, _WITHIN) + statement[at:]
    end = _piece(drawn, ("comments",)) if drawn.random() < 0.2 else ""
    return begin + statement + end + _piece(drawn, ("separators",))


def _piece(drawn: random.Random, pools: Sequence[str]) -> str:
    """One of a pool, itself one of some; a pool that is named several times comes as often."""
    pieces: list[str] = _PIECES[drawn.choice(pools)]
    return drawn.choice(pieces)


def _other_case(drawn: random.Random, text: str) -> str:
    change: Callable[[str], str] = drawn.choice((str.upper, str.lower, str.swapcase, str.title))
    return change(text)


def _re_encoded(drawn: random.Random, text: str) -> str:
    """The text as it looks when it is read in another encoding than it was written in."""
    written = text.encode(drawn.choice(("utf-16-le", "utf-16-be", "utf-8", "utf-7")), "replace")
    return written.decode(drawn.choice(("latin-1", "utf-8", "cp437")), "replace")

"""Listings of disassemblers, debuggers and profilers as values, and the kinds of them that are recognised."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from inference.isa.code.annotations import SourcePlace
from inference.isa.code.block import DroppedLine

NumberedLines = Sequence[tuple[int, str]]
"""The lines of a text with their numbers from 1."""

IsForeign = Callable[[str], bool]
"""Whether a line is code of another instruction set."""


@dataclass(frozen=True, slots=True)
class ListedLine:
    """A line of a listing: an address and its content, or only a `label`; `count` is a profiler's number.

    `code` is empty where the listing shows no bytes.

    Attributes:
        is_cut: Whether it is only the beginning of the bytes, as in radare2's columns.
        is_own_syntax: The text is in the program's own syntax and never compared with bytes.
    """

    number: int
    address: int | None = None
    code: bytes = b""
    text: str = ""
    label: str = ""
    count: float | None = None
    source: SourcePlace | None = None
    latency: float | None = None
    is_cut: bool = False
    is_own_syntax: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing is at the address, as in the line of a directive or comment."""
        return not (self.code or self.text or self.label)


@dataclass(frozen=True, slots=True)
class Listing:
    """The lines, the numbers of other lines by kind, and other lines that look like code.

    `notes`: on wrong comments, as sentences without a full stop.
    """

    lines: list[ListedLine]
    skipped: Counter[str] = field(default_factory=Counter)
    dropped: list[DroppedLine] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class ListingKind(NamedTuple):
    """A kind of listings.

    Attributes:
        name: Name of the program that writes it.
        signature: Occurs in every text of the kind, and may occur in others.
        read: The listing in a text of the kind; None for another text. Raises `BlockError`.
    """

    name: str
    signature: re.Pattern[str]
    read: Callable[[NumberedLines, IsForeign], Listing | None]


class LineLanguage(NamedTuple):
    """What the lines of an instruction set's listings look like.

    Attributes:
        begins_instruction: Whether the first words of a text are prefixes or a mnemonic.
        is_instruction: Whether a whole text is an instruction, and no sentence with such a first word.
        classify: {kind: number} of lines outside a listing, and those among them that look like code.
        is_directive: Whether a text without an instruction is a directive, or names a place on the stack.
        relocation: The beginning of a relocation, which stands between the instructions.
    """

    begins_instruction: Callable[[str], bool]
    is_instruction: Callable[[str], bool]
    classify: Callable[[Iterable[tuple[int, str]], IsForeign], tuple[Counter[str], list[DroppedLine]]]
    is_directive: Callable[[str], bool]
    relocation: re.Pattern[str]

"""What is wrong with a text that should be a basic block, or with a line of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_SHOWN = 60
_MOST_NUMBERS = 6


class BlockError(ValueError):
    """Text or bytes that are no basic block; `line` and `column` count from 1, 0 where there is none."""

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        self.line = line
        self.column = column
        self.message = message
        where = f"line {line}, column {column}: " if line and column else f"line {line}: " if line else ""
        super().__init__(f"{where}{message}")

    def at(self, line: int, column: int = 0) -> BlockError:
        """The same about this line."""
        return BlockError(self.message, line, column)


@dataclass(frozen=True, slots=True)
class DroppedLine:
    """A line that looks like code and is in no block: its number from 1, what it says, and why."""

    line: int
    text: str
    reason: str

    def __str__(self) -> str:
        return f"line {self.line} {self.reason}, and is in no block: {self.text}"


def dropped_line(number: int, text: str, reason: str) -> DroppedLine:
    """With no more of the text than a notice has room for."""
    shown = " ".join(text.split())
    return DroppedLine(number, shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN - 1]}…", reason)


def numbered(lines: Sequence[int]) -> str:
    """The first of some lines in words: `line 3`, `lines 3, 5`."""
    shown = ", ".join(map(str, lines[:_MOST_NUMBERS])) + (" …" if len(lines) > _MOST_NUMBERS else "")
    return f"line {shown}" if len(lines) == 1 else f"lines {shown}"

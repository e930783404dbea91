"""What is wrong with a text that should be a basic block.

BlockError(ValueError)
"""

from __future__ import annotations


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

"""What is wrong with a text that should be a basic block.

BlockError(ValueError)
"""

from __future__ import annotations


class BlockError(ValueError):
    """Text or bytes that are no basic block; `line` counts from 1, 0 where it is not about one line."""

    def __init__(self, message: str, line: int = 0) -> None:
        self.line = line
        self.message = message
        super().__init__(f"line {line}: {message}" if line else message)

    def at(self, line: int) -> BlockError:
        """The same about this line."""
        return BlockError(self.message, line)

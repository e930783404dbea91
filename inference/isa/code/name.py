"""What a block is called: machine code means nothing without its instruction set."""

from __future__ import annotations

from typing import NamedTuple


class BlockName(NamedTuple):
    """The instruction set of a block and its machine code; equal exactly for equal blocks.

    Where a format has fields, these are `isa` and `hex`; in one text it is written `x86-64:4801d8`.
    """

    isa: str
    code: bytes

    @property
    def hex(self) -> str:
        """The machine code in hexadecimal digits."""
        return self.code.hex()

    def as_json(self) -> dict[str, str]:
        return {"isa": self.isa, "hex": self.hex}

    def __str__(self) -> str:
        return f"{self.isa}:{self.hex}"

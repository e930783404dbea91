"""Basic blocks from machine code. All raise `BlockError`, also where an instruction set has no blocks yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from inference.isa.block_facets import BlockReader
from inference.isa.code.block import Block, bytes_of_hex
from inference.isa.code.errors import BlockError
from inference.isa.targets import DEFAULT, target_of


@cache  # a block is decoded in two microseconds
def block_reader(isa: str) -> BlockReader:
    """What decodes the blocks of an instruction set. Raises `BlockError` where nothing does."""
    reader = target_of(isa).blocks
    if reader is None:
        raise BlockError(f"blocks of {isa} are not supported yet")
    return reader


def isa_beside(fields: Mapping[str, object]) -> str:
    """The instruction set of the digits among these fields: `DEFAULT` for those written without one."""
    return str(fields.get("isa") or DEFAULT)


def block_of_bytes(code: bytes, isa: str = DEFAULT) -> Block:
    return block_reader(isa).block_of_bytes(code)


def block_of_hex(text: str, isa: str = DEFAULT) -> Block:
    """Decode hexadecimal digits, spaces between them or not."""
    return block_reader(isa).block_of_bytes(bytes_of_hex(text))


def body_of(code: bytes, isa: str = DEFAULT) -> bytes:
    """Machine code without the jump that closes a loop; other code, and bytes that are none, as they are."""
    return block_reader(isa).body_of(code)


def mnemonics_of(code: bytes, isa: str = DEFAULT) -> tuple[str, ...]:
    """The mnemonic of each instruction, "add"; many times faster than describing them."""
    return block_reader(isa).mnemonics_of(code)


def schemes_of_bytes(code: bytes, isa: str = DEFAULT) -> tuple[str | None, ...]:
    """The scheme of each instruction but the jump that closes a loop, None for one of no scheme."""
    return block_reader(isa).schemes_of_bytes(code)


def general_registers(isa: str = DEFAULT) -> Sequence[str]:
    """The general-purpose registers in the order of their numbers."""
    return block_reader(isa).GENERAL

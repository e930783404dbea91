"""Basic blocks in the forms that programs read: in a loop, between markers, in an object file."""

from __future__ import annotations

from iced_x86 import BlockEncoder, Code, Instruction, Register

from inference.isa.code.block import BlockError
from inference.isa.code.control_flow import LOOP
from inference.isa.code.markers import object_file_of
from inference.isa.x86.blocks.block import block_of_bytes
from inference.isa.x86.instances import ADDRESS_OF_CODE

BEGIN_MARKER = bytes.fromhex("bb6f000000646790")
END_MARKER = bytes.fromhex("bbde000000646790")
"""`mov ebx, 111` or `mov ebx, 222` and a no-op of three bytes: begin and end of IACA's analysis."""

_MACHINE = 62  # x86-64 in ELF files


def as_loop(code: bytes) -> bytes:
    """A loop unchanged; another block followed by `dec` of an unused register and a jump back.

    `dec` writes all flags but the carry, so that their dependencies do not reach the next iteration. Raises
    `BlockError` for invalid code, and for a block that uses all general-purpose registers.
    """
    block = block_of_bytes(code)
    if block.kind == LOOP:
        return code
    name = block.unused_register
    if not name:
        raise BlockError("a loop needs a counter, but the block uses all general-purpose registers")
    counter = getattr(Register, name.upper())
    jump = Instruction.create_branch(Code.JNE_REL32_64, ADDRESS_OF_CODE)
    jump.ip = ADDRESS_OF_CODE + len(code) + 3
    encoder = BlockEncoder(64)
    encoder.add(Instruction.create_reg(Code.DEC_RM64, counter))
    encoder.add(jump)
    return code + bytes(encoder.encode(ADDRESS_OF_CODE + len(code)))


def with_markers(code: bytes) -> bytes:
    """The block between IACA's markers, which OSACA, uiCA and Ithemal support as well."""
    return BEGIN_MARKER + code + END_MARKER


def object_file(code: bytes, name: str = "block") -> bytes:
    """A relocatable ELF file for x86-64 with the code as a global function of this name."""
    return object_file_of(code, name, _MACHINE)

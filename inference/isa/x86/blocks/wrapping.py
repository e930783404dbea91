"""Basic blocks in the forms that programs read: in a loop, between markers, in an object file."""

from __future__ import annotations

import struct

from iced_x86 import BlockEncoder, Code, Instruction, Register

from inference.isa.code.block import BlockError
from inference.isa.code.control_flow import LOOP
from inference.isa.x86.blocks.block import block_of_bytes
from inference.isa.x86.instances import ADDRESS_OF_CODE

BEGIN_MARKER = bytes.fromhex("bb6f000000646790")
END_MARKER = bytes.fromhex("bbde000000646790")
"""`mov ebx, 111` or `mov ebx, 222` and a no-op of three bytes: begin and end of IACA's analysis."""


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
    """A relocatable ELF file for x86-64 with the code in section .text, as a global function of this name."""
    names = b"\0.text\0.symtab\0.strtab\0.shstrtab\0"
    symbol_names = b"\0" + name.encode() + b"\0"
    symbols = struct.pack("<IBBHQQ", 0, 0, 0, 0, 0, 0)
    symbols += struct.pack("<IBBHQQ", 1, _GLOBAL_FUNCTION, 0, _TEXT_SECTION, 0, len(code))
    parts = [code, symbols, symbol_names, names]
    offsets, body = [], bytearray(_HEADER_BYTES)
    for part in parts:
        body += bytes(-len(body) % 16)
        offsets.append(len(body))
        body += part
    body += bytes(-len(body) % 16)
    header = struct.pack(
        "<16sHHIQQQIHHHHHH",
        b"\x7fELF\x02\x01\x01" + bytes(9),
        *(1, 62, 1, 0, 0, len(body), 0, _HEADER_BYTES, 0, 0, _SECTION_BYTES, 5, 4),
    )
    sections = [
        (0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
        (names.index(b".text"), 1, 6, 0, offsets[0], len(code), 0, 0, 16, 0),
        (names.index(b".symtab"), 2, 0, 0, offsets[1], len(symbols), 3, 1, 8, _SYMBOL_BYTES),
        (names.index(b".strtab"), 3, 0, 0, offsets[2], len(symbol_names), 0, 0, 1, 0),
        (names.index(b".shstrtab"), 3, 0, 0, offsets[3], len(names), 0, 0, 1, 0),
    ]
    body[:_HEADER_BYTES] = header
    return bytes(body) + b"".join(struct.pack("<IIQQQQIIQQ", *section) for section in sections)


_HEADER_BYTES, _SECTION_BYTES, _SYMBOL_BYTES = 64, 64, 24  # of ELF-64 structures
_TEXT_SECTION = 1  # its number
_GLOBAL_FUNCTION = 0x12  # binding and type of an ELF symbol

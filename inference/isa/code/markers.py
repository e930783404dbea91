"""Machine code for other programs: regions marked by instructions, as IACA, OSACA and uiCA find them, and
relocatable ELF files of 64 bits.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

from inference.isa.code.block import BlockError
from inference.isa.code.pieces import ProgramInstruction


class RegionMarkers(NamedTuple):
    """The code of the instructions that begin and end a region; one of `padding` follows each."""

    begin: bytes
    end: bytes
    padding: Collection[bytes]


def split_regions(
    instructions: Sequence[ProgramInstruction], markers: RegionMarkers
) -> tuple[tuple[ProgramInstruction, ...], tuple[str, ...]]:
    """The instructions without markers, and the regions between them; unchanged without markers."""
    kinds = {markers.begin: True, markers.end: False}
    unmarked: list[ProgramInstruction] = []
    regions: list[str] = []
    is_open = False
    number = 0
    while number < len(instructions):
        step = instructions[number]
        is_begin = kinds.get(step.code)
        following = instructions[number + 1].code if number + 1 < len(instructions) else b""
        if is_begin is None or following not in markers.padding:
            unmarked.append(replace(step, regions=frozenset({len(regions) - 1})) if is_open else step)
            number += 1
            continue
        if is_begin == is_open:
            problem = "begins within another one" if is_begin else "ends without having begun"
            raise BlockError(f"the region between the markers {problem}", step.line)
        if is_begin:
            regions.append("")
        is_open = is_begin
        number += 2
    if is_open:
        raise BlockError("the region between the markers has no end", unmarked[-1].line if unmarked else 0)
    return tuple(unmarked), tuple(regions)


_HEADER_BYTES, _SECTION_BYTES, _SYMBOL_BYTES = 64, 64, 24  # of ELF-64 structures
_TEXT_SECTION = 1  # its number
_GLOBAL_FUNCTION = 0x12  # binding and type of an ELF symbol


def object_file_of(code: bytes, name: str, machine: int, flags: int = 0) -> bytes:
    """A relocatable ELF file with code in section .text, as a global function.

    Args:
        code: Machine code.
        name: Name of the function.
        machine: ELF's number of the architecture (`e_machine`).
        flags: What ELF files of the architecture say of their code (`e_flags`).
    """
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
        *(1, machine, 1, 0, 0, len(body), flags, _HEADER_BYTES, 0, 0, _SECTION_BYTES, 5, 4),
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

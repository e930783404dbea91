"""Machine code in a relocatable ELF file of 64 bits."""

from __future__ import annotations

import struct

_HEADER_BYTES, _SECTION_BYTES, _SYMBOL_BYTES = 64, 64, 24  # of ELF-64 structures
_TEXT_SECTION = 1  # its number
_GLOBAL_FUNCTION = 0x12  # binding and type of an ELF symbol


def object_file_of(code: bytes, name: str, machine: int) -> bytes:
    """The code in section .text, as a global function of this name; `machine`: ELF's number of it."""
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
        *(1, machine, 1, 0, 0, len(body), 0, _HEADER_BYTES, 0, 0, _SECTION_BYTES, 5, 4),
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

"""Headers, symbols and starts of functions of a Mach-O file: a program, library or object file of macOS.

Every size and offset is checked against the file before it is used.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from inference.isa.code.binaries.headers import (
    EXPECTED,
    MACHINES,
    MAX_SECTIONS,
    BinaryFileError,
    FileMachine,
    Headers,
    Section,
    Segment,
)
from inference.isa.code.binaries.symbols import FUNCTION, MAX_SYMBOLS, ROW, Symbols

MAGIC = b"\xcf\xfa\xed\xfe"
_HEADER = struct.Struct("<4s6I4x")  # magic, CPU, its kind, type, number and bytes of commands, flags
_COMMAND = struct.Struct("<2I")
_SEGMENT = struct.Struct("<2I16s4Q4I")
_SECTION = struct.Struct("<16s16s2Q8I")
_SYMBOLS = struct.Struct("<6I")
_DATA = struct.Struct("<4I")
_SEGMENT_COMMAND, _SYMBOL_COMMAND, _STARTS_COMMAND = 0x19, 0x2, 0x26
_TYPES = {1: "object file of macOS", 2: "executable", 6: "shared library", 8: "shared library"}
_MAX_COMMANDS = 10_000
_INSTRUCTIONS = 0x8000_0400
"""Flags of a section that has only, or also, instructions."""

_EXECUTABLE = 4  # protection of a segment
_STUBS = 8  # type of a section with jumps to other files
_NLIST = np.dtype([("name", "<u4"), ("type", "u1"), ("section", "u1"), ("about", "<u2"), ("value", "<u8")])
_DEBUG, _EXTERNAL, _IN_SECTION, _TYPE = 0xE0, 0x01, 0x0E, 0x0E
_FIRST_LETTER = b"_"
"""Before the names of C."""

_LOCAL_NAMES = (b"ltmp", b"L", b"l_")
"""Beginnings of names that an assembler or compiler makes up."""


class _UsedCommands(NamedTuple):
    """The commands of a file that are used."""

    sections: list[Section]
    segments: list[Segment]
    symbols: tuple[int, ...] | None
    starts: tuple[int, int] | None


def mach_o_kind(first_bytes: bytes) -> str:
    """The kind of a Mach-O file by its first bytes, "AArch64 executable". Raises `BinaryFileError`."""
    machine, kind, _ = _header(first_bytes)
    return f"{machine.isa} {kind}"


def read_mach_o(content: bytes) -> tuple[Headers, Symbols, list[int]]:
    """Headers, symbols and the starts of functions of a file for one of `MACHINES`.

    Raises `BinaryFileError` for other files, and where sizes contradict the file's.
    """
    machine, kind, commands = _header(content)
    used = _read_commands(content, commands)
    headers = Headers(kind, machine, False, tuple(used.sections), tuple(used.segments), None)
    text = next((segment.address for segment in used.segments if segment.executable), 0)
    starts = [] if used.starts is None else list(_starts(content, *used.starts, text))
    return headers, _symbols(content, used), starts


def _header(content: bytes) -> tuple[FileMachine, str, int]:
    """(computer, kind of file, number of commands)."""
    if len(content) < _HEADER.size:
        raise BinaryFileError(f"the file ends after {len(content)} bytes, within its header")
    _, cpu, _, kind, count, _, _ = _HEADER.unpack_from(content)
    machine = next((machine for machine in MACHINES if machine.mach_o == cpu), None)
    if machine is None:
        raise BinaryFileError(f"this is a program of macOS for another computer ({cpu:#x}); {EXPECTED}")
    if kind not in _TYPES:
        raise BinaryFileError(f"this file of macOS is no program (its type is {kind}); {EXPECTED}")
    if count > _MAX_COMMANDS:
        raise BinaryFileError(f"the file is said to have {count:,} commands: it is damaged")
    return machine, _TYPES[kind], count


def _read_commands(content: bytes, count: int) -> _UsedCommands:
    sections: list[Section] = []
    segments: list[Segment] = []
    symbols = starts = None
    at = _HEADER.size
    for _ in range(count):
        _inside(content, at, _COMMAND.size, "a command")
        command, size = _COMMAND.unpack_from(content, at)
        if size < _COMMAND.size:
            raise BinaryFileError(f"a command of {size} bytes: the file is damaged")
        _inside(content, at, size, "a command")
        if command == _SEGMENT_COMMAND and size >= _SEGMENT.size:
            _read_segment(content, at, size, sections, segments)
        elif command == _SYMBOL_COMMAND and size >= _SYMBOLS.size:
            symbols = _SYMBOLS.unpack_from(content, at)
        elif command == _STARTS_COMMAND and size >= _DATA.size:
            _, _, offset, length = _DATA.unpack_from(content, at)
            _inside(content, offset, length, "the table of functions")
            starts = offset, length
        at += size
    return _UsedCommands(sections, segments, symbols, starts)


def _read_segment(
    content: bytes, at: int, size: int, sections: list[Section], segments: list[Segment]
) -> None:
    _, _, _, address, _, offset, length, _, protection, count, _ = _SEGMENT.unpack_from(content, at)
    if _SEGMENT.size + count * _SECTION.size > size or len(sections) + count > MAX_SECTIONS:
        raise BinaryFileError(f"a segment is said to have {count:,} sections: the file is damaged")
    _inside(content, offset, length, "a segment")
    if length:
        segments.append(Segment(offset, address, length, bool(protection & _EXECUTABLE)))
    for number in range(count):
        place = at + _SEGMENT.size + number * _SECTION.size
        raw, _, start, bytes_of, where, _, _, _, flags, *_ = _SECTION.unpack_from(content, place)
        name = raw.rstrip(b"\0").decode("ascii", "replace")
        is_code = bool(flags & _INSTRUCTIONS) and flags & 0xFF != _STUBS
        if is_code:
            _inside(content, where, bytes_of, f"section {name}")
        section = Section(len(sections) + 1, name, "", start, where, bytes_of, 0, 0, is_code, False)
        sections.append(section)


def _inside(content: bytes, start: int, size: int, label: str) -> None:
    if start + size > len(content):
        raise BinaryFileError(
            f"{label} is said to end at byte {start + size:,}, but the file has {len(content):,}: "
            "it has been cut off"
        )


def _symbols(content: bytes, used: _UsedCommands) -> Symbols:
    """The names of functions by address, without the letter before those of C."""
    if used.symbols is None:
        return Symbols(content, (0, 0), np.empty(0, dtype=np.int64), np.empty(0, dtype=ROW))
    _, _, offset, count, strings, strings_size = used.symbols
    if count > MAX_SYMBOLS:
        raise BinaryFileError(f"the file has {count:,} symbols, of {MAX_SYMBOLS:,} at most")
    _inside(content, offset, count * _NLIST.itemsize, "the table of symbols")
    _inside(content, strings, strings_size, "the table of names")
    table = np.frombuffer(content, dtype=_NLIST, count=count, offset=offset)
    code = [section.index for section in used.sections if section.executable]
    is_function = (table["type"] & _DEBUG == 0) & (table["type"] & _TYPE == _IN_SECTION)
    table = table[is_function & np.isin(table["section"], code) & (table["name"] < strings_size)]
    names = [content[strings + at : strings + at + 8] for at in table["name"].tolist()]
    named = np.array([not name.startswith(_LOCAL_NAMES) for name in names], dtype=bool)
    letters = np.array([name.startswith(_FIRST_LETTER) for name in names], dtype=np.uint32)
    rows = np.zeros(len(table), dtype=ROW)
    rows["name"], rows["value"] = table["name"] + letters, table["value"]
    rows["section"], rows["info"] = table["section"], FUNCTION
    rank = table["type"] & _EXTERNAL == 0
    order = np.lexsort((rank, rows["value"]))
    return Symbols(content, (strings, strings_size), np.empty(0, dtype=np.int64), rows[order][named[order]])


def _starts(content: bytes, offset: int, length: int, address: int) -> Iterator[int]:
    """The addresses of functions, from distances in groups of seven bits; the first is from `address`."""
    distance = shift = 0
    for byte in content[offset : offset + length]:
        distance |= (byte & 0x7F) << shift
        shift += 7
        if byte & 0x80:
            if shift > 63:
                return
            continue
        if not distance:
            return
        address += distance
        yield address
        distance = shift = 0

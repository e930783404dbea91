"""Headers of an ELF file, checked against the file's size before they are used.

pyelftools reads the structures, but not the sections: for some kinds it would read as much as a header
claims, and decompress without limit.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from elftools.common.exceptions import ELFError
from elftools.common.utils import struct_parse
from elftools.elf.descriptions import describe_e_machine
from elftools.elf.elffile import ELFFile

FIELD = 4  # bytes of a displacement


class FileMachine(NamedTuple):
    """A computer in the header of a file.

    Attributes:
        isa: Name of the instruction set.
        elf: pyelftools' name of its number in ELF files.
        mach_o: Its number in Mach-O files, None without.
        from_end: Whether a jump's displacement counts from its end, where the displacement stands as well.
    """

    isa: str
    elf: str
    mach_o: int | None
    from_end: bool


MACHINES = (
    FileMachine("x86-64", "EM_X86_64", 0x0100_0007, from_end=True),
    FileMachine("AArch64", "EM_AARCH64", 0x0100_000C, from_end=False),
    FileMachine("RISC-V", "EM_RISCV", None, from_end=False),
)
EXPECTED = (
    "an object file, an executable or a shared library of "
    f"{', '.join(machine.isa for machine in MACHINES[:-1])} or {MACHINES[-1].isa} "
    "in the format ELF or Mach-O is expected"
)


class BinaryFileError(ValueError):
    """A damaged file, or none of `MACHINES`; the message says what it is and what would be right."""


MAGIC = b"\x7fELF"
MAX_SECTIONS = 100_000
"""More than any linker writes; a damaged file may claim millions."""

MAX_SEGMENTS = 1000
"""More than any linker writes, too."""

NAME_LIMIT = 200
"""Bytes of a name; longer ones are cut."""

OBJECT = "object file"
_TYPES = {"ET_REL": OBJECT, "ET_EXEC": "executable", "ET_DYN": "shared library or executable"}
"""What users call an ELF type; position-independent executables have that of libraries."""

_HEADER_BYTES = 64
"""Of a 64-bit ELF file."""

_ADDRESS_LIMIT = (1 << 64) - (1 << 12)
"""End of the addresses that are accepted: nothing is loaded into the last page."""

_COUNT_IN_SECTION = 0xFFFF
"""PN_XNUM and SHN_XINDEX: the number of segments, or of the section with names, is in section 0."""

_EXECUTABLE_SECTION = 0x4
"""SHF_EXECINSTR in a section's flags."""

_COMPRESSED_SECTION = 0x800
"""SHF_COMPRESSED in a section's flags."""

_EXECUTABLE_SEGMENT = 0x1
"""PF_X in a segment's flags."""

_FOREIGN_FORMATS = {
    b"MZ": "a program of Windows",
    b"\xca\xfe\xba\xbe": "a universal program of macOS, or a class of Java: take one program out with "
    "`lipo -thin arm64 FILE -output NEW`",
    b"\xce\xfa\xed\xfe": "a 32-bit program of macOS: 64-bit code is expected",
    b"!<arch>\n": "an archive of object files: take them out with `ar x` and give one of them",
    b"!<thin>\n": "a list of object files: give one of them",
    b"PERFILE2": "a recording of perf: give what `perf script` or `perf annotate --stdio` prints of it",
    b"\x1f\x8b": "compressed: unpack it first",
    b"\xfd7zXZ": "compressed: unpack it first",
    b"\x28\xb5\x2f\xfd": "compressed: unpack it first",
}


@dataclass(frozen=True, slots=True)
class Section:
    """A section's header; `kind` in pyelftools' spelling, "SHT_PROGBITS". Its bytes lie within the file."""

    index: int
    name: str
    kind: str
    address: int
    offset: int
    size: int
    link: int
    info: int
    executable: bool
    compressed: bool


@dataclass(frozen=True, slots=True)
class Segment:
    """A loaded segment: `size` bytes of the file from `offset` on, at `address`."""

    offset: int
    address: int
    size: int
    executable: bool


@dataclass(frozen=True)
class Headers:
    """What the headers of a file say, as far as it is used.

    `kind` is the name of the type for users, such as `OBJECT`.
    """

    kind: str
    machine: FileMachine
    fixed: bool
    """Whether it is loaded at the addresses of its headers."""
    sections: tuple[Section, ...]
    segments: tuple[Segment, ...]
    exception_index: tuple[int, int] | None
    """(address, offset in the file) of the unwinding tables' function index, None without."""


def is_binary(first_bytes: bytes) -> bool:
    """Whether a file with this beginning is compiled, for any computer, or a recording of perf."""
    return first_bytes.startswith(
        (MAGIC, b"PERFILE2", b"!<arch>\n", b"!<thin>\n", b"\xcf\xfa\xed\xfe", b"MZ\x90")
    )


def elf_kind(first_bytes: bytes) -> str:
    """The kind of an ELF file by its first 64 bytes, "x86-64 executable". Raises `BinaryFileError`."""
    file = _elf_file(first_bytes)
    return f"{_machine(file).isa} {_kind(file)}"


def read_headers(content: bytes) -> Headers:
    """The headers of an ELF file for one of `MACHINES`.

    Raises `BinaryFileError` for other files, and for headers that contradict the file's size.
    """
    file = _elf_file(content)
    machine = _machine(file)
    kind = _kind(file)
    try:
        raw = list(_table(file, content, "section"))
        sections = tuple(_sections(file, content, raw))
        segments, index = _segments(file, content)
    except (ELFError, ValueError, OverflowError) as error:
        if isinstance(error, BinaryFileError):
            raise
        raise BinaryFileError(f"the file is damaged: {error}"[:300]) from error
    return Headers(kind, machine, file["e_type"] == "ET_EXEC", sections, segments, index)


def _elf_file(content: bytes) -> ELFFile:
    """The file as pyelftools sees it.

    Raises:
        BinaryFileError: It has another format, or is cut off within its header.
    """
    if not content.startswith(MAGIC):
        kind = next(
            (file_kind for magic, file_kind in _FOREIGN_FORMATS.items() if content.startswith(magic)), ""
        )
        raise BinaryFileError(f"this is {kind}" if kind else f"this is no compiled program; {EXPECTED}")
    if len(content) < _HEADER_BYTES:
        raise BinaryFileError(
            f"the file ends after {len(content)} bytes, within its header, which has {_HEADER_BYTES}: "
            "it has been cut off"
        )
    try:
        return ELFFile(io.BytesIO(content))
    except (ELFError, ValueError) as error:
        raise BinaryFileError(f"the header of the file is damaged: {error}"[:300]) from error


def _machine(file: ELFFile) -> FileMachine:
    """The computer that an ELF file is for.

    Raises:
        BinaryFileError: It is none of `MACHINES`.
    """
    number = file["e_machine"]
    if number == "EM_386":
        raise BinaryFileError("this is a 32-bit x86 file (i386); 64-bit code is expected: compile with -m64")
    machine = next((machine for machine in MACHINES if machine.elf == number), None)
    if machine is None:
        name = describe_e_machine(number) if isinstance(number, str) else f"machine-{number}"
        article = "an" if name[:1] in "AEIOU" else "a"
        raise BinaryFileError(f"this is {article} {_plain(name)} file; {EXPECTED}")
    if file.elfclass != 64:
        raise BinaryFileError(f"this is {machine.isa} with 32-bit addresses; 64-bit code is expected")
    if not file.little_endian:
        raise BinaryFileError(f"the file is big-endian; little-endian code of {machine.isa} is expected")
    return machine


def _kind(file: ELFFile) -> str:
    """The kind of an ELF file: object, executable or library.

    Raises:
        BinaryFileError: It has no code.
    """
    kind = file["e_type"]
    if kind not in _TYPES:
        kind_text = "a core dump" if kind == "ET_CORE" else "of an unknown type"
        raise BinaryFileError(f"this file is {kind_text}; {EXPECTED}")
    return _TYPES[kind]


def _plain(name: str) -> str:
    """The name of a machine, safe to show in a message."""
    return "".join(char for char in name if char.isprintable())[:80]


def _table(file: ELFFile, content: bytes, kind: str) -> Iterator[Any]:
    """The headers of sections or segments, at most `MAX_SECTIONS` or `MAX_SEGMENTS`."""
    prefix = "sh" if kind == "section" else "ph"
    at, size = file[f"e_{prefix}off"], file[f"e_{prefix}entsize"]
    layout = file.structs.Elf_Shdr if kind == "section" else file.structs.Elf_Phdr
    count = file[f"e_{prefix}num"]
    if at == 0:
        return
    if size != layout.sizeof():
        raise BinaryFileError(f"a {kind} header has {layout.sizeof()} bytes, not {size}: the file is damaged")
    # A count that does not fit into the header's 16 bits is in the fields of section 0.
    if count == (0 if kind == "section" else _COUNT_IN_SECTION):
        if file["e_shoff"] == 0 or file["e_shoff"] + file.structs.Elf_Shdr.sizeof() > len(content):
            return
        first = struct_parse(file.structs.Elf_Shdr, file.stream, file["e_shoff"])
        count = first["sh_size"] if kind == "section" else first["sh_info"]
    limit = MAX_SECTIONS if kind == "section" else MAX_SEGMENTS
    if count > limit:
        raise BinaryFileError(f"the file is said to have {count:,} {kind}s, of {limit:,} at most")
    if at + count * size > len(content):
        raise BinaryFileError(
            f"the table of {kind}s is said to end at byte {at + count * size:,}, but the file has "
            f"{len(content):,}: it has been cut off"
        )
    for number in range(count):
        yield struct_parse(layout, file.stream, at + number * size)


def _sections(file: ELFFile, content: bytes, rows: list[Any]) -> Iterator[Section]:
    """The sections, with sizes checked: a header of a damaged file may claim any."""
    strings = file["e_shstrndx"]
    if strings == _COUNT_IN_SECTION and rows:
        strings = rows[0]["sh_link"]
    names = rows[strings] if 0 < strings < len(rows) else None
    for index, row in enumerate(rows):
        kind = row["sh_type"] if isinstance(row["sh_type"], str) else str(row["sh_type"])
        flags = row["sh_flags"]
        start, size = row["sh_offset"], 0 if kind in ("SHT_NOBITS", "SHT_NULL") else row["sh_size"]
        name = "" if names is None else text_at(content, names["sh_offset"], names["sh_size"], row["sh_name"])
        if start + size > len(content):
            raise BinaryFileError(
                f"section {index} ({name or 'without a name'}) is said to end at byte {start + size:,}, but "
                f"the file has {len(content):,}: it has been cut off"
            )
        if row["sh_addr"] + size > _ADDRESS_LIMIT:
            raise BinaryFileError(f"section {index} ({name}) exceeds all addresses: the file is damaged")
        yield Section(
            index,
            name,
            kind,
            row["sh_addr"],
            start,
            size,
            row["sh_link"],
            row["sh_info"],
            executable=bool(flags & _EXECUTABLE_SECTION) and kind == "SHT_PROGBITS",
            compressed=bool(flags & _COMPRESSED_SECTION),
        )


def _segments(file: ELFFile, content: bytes) -> tuple[tuple[Segment, ...], tuple[int, int] | None]:
    """The loaded segments, and (address, offset) of the index of unwind data, if there is one."""
    segments, index = [], None
    for row in _table(file, content, "segment"):
        if row["p_type"] == "PT_GNU_EH_FRAME":
            index = (row["p_vaddr"], row["p_offset"])
        if row["p_type"] == "PT_LOAD" and row["p_filesz"]:
            if row["p_offset"] + row["p_filesz"] > len(content):
                end = row["p_offset"] + row["p_filesz"]
                raise BinaryFileError(
                    f"a segment is said to end at byte {end:,}, but the file has {len(content):,}: it has "
                    "been cut off"
                )
            if row["p_vaddr"] + row["p_filesz"] > _ADDRESS_LIMIT:
                raise BinaryFileError("a segment exceeds all addresses: the file is damaged")
            is_executable = bool(row["p_flags"] & _EXECUTABLE_SEGMENT)
            segments.append(Segment(row["p_offset"], row["p_vaddr"], row["p_filesz"], is_executable))
    return tuple(segments), index


def text_at(content: bytes, table: int, size: int, at: int) -> str:
    """A name in a string table, printable, at most `NAME_LIMIT` bytes; "" where it lies outside."""
    if at >= size:
        return ""
    start = table + at
    end_limit = min(start + NAME_LIMIT, table + size, len(content))
    end = content.find(b"\0", start, end_limit)
    text = content[start : end_limit if end < 0 else end].decode("utf-8", "replace")
    return text if text.isprintable() else "".join(char if char.isprintable() else "?" for char in text)

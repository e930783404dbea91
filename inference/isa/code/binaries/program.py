"""A compiled program as a value: its executable regions and their functions.

Symbols determine functions; in files without symbols, the index of the unwinding tables does. Code that
neither covers is one function per gap.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property

import numpy as np

from inference.isa.code.binaries.headers import (
    FIELD,
    OBJECT,
    BinaryFileError,
    Headers,
    Section,
    elf_kind,
    read_headers,
)
from inference.isa.code.binaries.headers import MAGIC as ELF
from inference.isa.code.binaries.mach_o import MAGIC, mach_o_kind, read_mach_o
from inference.isa.code.binaries.symbols import Symbol, Symbols, rows_of, starts_in_index, symbols_of

SMALLEST_GAP = 16
"""Bytes between functions; smaller gaps are padding."""

_LINKAGE = (".plt", ".iplt")  # jumps to functions of other files


@dataclass(frozen=True, slots=True)
class Function:
    """A function at an address of the file (in an object file: of its section, `region`)."""

    name: str
    region: int
    address: int
    size: int


@dataclass(frozen=True)
class CodeRegion:
    """Executable bytes of a file: a section, or a segment in a file without sections."""

    index: int
    name: str
    address: int
    offset: int
    size: int

    def has(self, address: int) -> bool:
        return self.address <= address < self.address + self.size


@dataclass(frozen=True)
class CompiledProgram:
    """A file's code. Addresses are those of the file, as disassemblers print them.

    `starts`: addresses of functions, which need no symbols.
    """

    content: bytes = field(repr=False)
    headers: Headers
    regions: tuple[CodeRegion, ...]
    symbols: Symbols
    starts: Sequence[int] = ()

    @property
    def kind(self) -> str:
        return self.headers.kind

    @property
    def title(self) -> str:
        """The kind and the format, `object file (ELF)`."""
        return f"{self.kind} ({'Mach-O' if self.content.startswith(MAGIC) else 'ELF'})"

    @property
    def isa(self) -> str:
        """The name of the instruction set."""
        return self.headers.machine.isa

    @property
    def is_object(self) -> bool:
        """Whether each section has its own addresses, from 0."""
        return self.kind == OBJECT

    def code(self, function: Function) -> bytes:
        """The bytes of a function."""
        region = self._by_index[function.region]
        start = region.offset + function.address - region.address
        return self.content[start : start + function.size]

    def functions(self, pattern: str = "") -> Iterator[Function]:
        """All functions in order; with `pattern`, those with this name or matching it, like `mat*`."""
        for region in self.regions:
            for function in self._functions_of(region):
                if not pattern or function.name == pattern or fnmatchcase(function.name, pattern):
                    yield function

    def addresses_of(self, name: str) -> list[int]:
        """The addresses of functions with this name; local functions may share one."""
        return self._by_name.get(name, [])

    def address_at(self, offset: int) -> int | None:
        """The address of a byte of the file, None where it is not executable."""
        for segment in self.headers.segments:
            if segment.executable and segment.offset <= offset < segment.offset + segment.size:
                return offset - segment.offset + segment.address
        return None

    def has_code(self, address: int) -> bool:
        return any(region.has(address) for region in self.regions)

    def relocations(self, region: int) -> Relocations:
        if region not in self._relocations:
            tables = self._relocation_tables.get(region, ())
            self._relocations[region] = relocations_of(self.content, self.headers, tables, region)
        return self._relocations[region]

    @cached_property
    def _by_index(self) -> dict[int, CodeRegion]:
        return {region.index: region for region in self.regions}

    @cached_property
    def _relocations(self) -> dict[int, Relocations]:
        return {}

    @cached_property
    def _relocation_tables(self) -> dict[int, list[Section]]:
        tables: dict[int, list[Section]] = {}
        for section in self.headers.sections:
            if section.kind == "SHT_RELA" and self.is_object:
                tables.setdefault(section.info, []).append(section)
        return tables

    @cached_property
    def _by_name(self) -> dict[str, list[int]]:
        addresses: dict[str, list[int]] = {}
        for region in self.regions:
            for symbol in self.symbols.named_in(region.index, region.address, region.size):
                addresses.setdefault(symbol.name, []).append(symbol.address)
        return addresses

    def _functions_of(self, region: CodeRegion) -> Iterator[Function]:
        end = region.address + region.size
        symbols = self.symbols.functions_in(region.index, region.address, region.size)
        symbols = _with_index(symbols, self.starts, region)
        position = region.address
        for number, symbol in enumerate(symbols):
            if symbol.address < position:
                continue  # within the one before: another entry of it
            if symbol.address - position >= SMALLEST_GAP:
                yield _gap(region, position, symbol.address)
            following = symbols[number + 1].address if number + 1 < len(symbols) else end
            position = min(symbol.address + symbol.size, end) if symbol.size else following
            if position > symbol.address:
                yield Function(symbol.name, region.index, symbol.address, position - symbol.address)
        if end - position >= SMALLEST_GAP or (position == region.address and end > position):
            yield _gap(region, position, end)


def is_program(first_bytes: bytes) -> bool:
    """Whether a file with this beginning has a format of compiled programs that is read."""
    return first_bytes.startswith((ELF, MAGIC))


def file_kind(first_bytes: bytes) -> str:
    """The kind of a file by its first 64 bytes, "x86-64 executable". Raises `BinaryFileError`."""
    return mach_o_kind(first_bytes) if first_bytes.startswith(MAGIC) else elf_kind(first_bytes)


def read_program(content: bytes) -> CompiledProgram:
    """The program in a file. Raises `BinaryFileError` for other or damaged files, or without code."""
    if content.startswith(MAGIC):
        return _program(content, *read_mach_o(content))
    headers = read_headers(content)
    return _program(content, headers, symbols_of(content, headers), starts_in_index(content, headers))


def _program(content: bytes, headers: Headers, symbols: Symbols, starts: Sequence[int]) -> CompiledProgram:
    regions = tuple(_without_overlaps(list(_regions(headers)), headers.kind))
    if not regions:
        raise BinaryFileError(_missing_code_reason(headers.sections))
    return CompiledProgram(content, headers, regions, symbols, starts)


def _regions(headers: Headers) -> Iterator[CodeRegion]:
    for row in headers.sections:
        if row.executable and row.size and not row.compressed and not row.name.startswith(_LINKAGE):
            yield CodeRegion(row.index, row.name, row.address, row.offset, row.size)
    if not headers.sections:
        for number, segment in enumerate(headers.segments):
            if segment.executable:
                yield CodeRegion(number, f"segment {number}", segment.address, segment.offset, segment.size)


def _without_overlaps(regions: list[CodeRegion], kind: str) -> Iterator[CodeRegion]:
    """The regions that do not overlap a previous one; only damaged files have overlaps."""
    if kind == OBJECT:
        yield from regions
        return
    end = 0
    for region in sorted(regions, key=lambda area: area.address):
        if region.address >= end:
            end = region.address + region.size
            yield region


def _missing_code_reason(sections: Sequence[Section]) -> str:
    if any(section.executable and section.compressed for section in sections):
        return "the code of the file is compressed: unpack it with `objcopy --decompress-debug-sections`"
    if any(section.kind == "SHT_NOBITS" and section.name == ".text" for section in sections):
        return "this file has debug information only, its code is in another: give that one"
    return "the file has no executable section: there is no code in it"


def _gap(region: CodeRegion, start: int, end: int) -> Function:
    name = region.name if (start, end) == (region.address, region.address + region.size) else f"sub_{start:x}"
    return Function(name, region.index, start, end - start)


def _with_index(symbols: list[Symbol], starts: Sequence[int], region: CodeRegion) -> list[Symbol]:
    """Symbols and, where none covers them, functions that only the index contains; by address."""
    addresses = [symbol.address for symbol in symbols]
    added = []
    for start in starts:
        if region.has(start):
            previous = bisect_right(addresses, start) - 1
            if previous < 0 or (
                start != addresses[previous] and start >= symbols[previous].address + symbols[previous].size
            ):
                added.append(Symbol(f"sub_{start:x}", start, 0))
    return sorted([*symbols, *added], key=lambda symbol: symbol.address) if added else symbols


_ROW = np.dtype([("offset", "<u8"), ("info", "<u8"), ("addend", "<i8")])


Relocations = dict[int, int | None]
"""{address of a displacement in a section: its target in the same section}.

None is a target in another section or file.
"""


def relocations_of(content: bytes, headers: Headers, tables: Sequence[Section], region: int) -> Relocations:
    """The relocations of a section of an object file; `tables`: the sections that contain them."""
    sections, behind = headers.sections, FIELD if headers.machine.from_end else 0
    targets: Relocations = {}
    for table in tables:
        if table.link >= len(sections):
            continue
        symbols = rows_of(content, sections[table.link])
        for row in np.frombuffer(content, dtype=_ROW, count=table.size // _ROW.itemsize, offset=table.offset):
            number = int(row["info"]) >> 32
            is_in_section = number < len(symbols) and int(symbols[number]["section"]) == region
            target = int(symbols[number]["value"]) + int(row["addend"]) + behind if is_in_section else None
            targets[int(row["offset"])] = target
    return targets

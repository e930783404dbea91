"""A compiled program as a value: its executable regions and their functions.

Symbols determine functions; in files without symbols, the index of the unwinding tables does. Code that
neither covers is one function per gap.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property

import numpy as np
import numpy.typing as npt

from inference.isa.code.binaries.headers import (
    OBJECT,
    BinaryFileError,
    Headers,
    Section,
    read_headers,
    text_at,
)

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
    """A file's code. Addresses are those of the file, as disassemblers print them."""

    content: bytes = field(repr=False)
    headers: Headers
    regions: tuple[CodeRegion, ...]
    symbols: Symbols

    @property
    def kind(self) -> str:
        return self.headers.kind

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
            self._relocations[region] = relocations_of(self.content, self.headers.sections, tables, region)
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

    @cached_property
    def _index_starts(self) -> Sequence[int]:
        return starts_in_index(self.content, self.headers)

    def _functions_of(self, region: CodeRegion) -> Iterator[Function]:
        end = region.address + region.size
        symbols = self.symbols.functions_in(region.index, region.address, region.size)
        symbols = _with_index(symbols, self._index_starts, region)
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


def read_program(content: bytes) -> CompiledProgram:
    """The program in a file. Raises `BinaryFileError` for other or damaged files, or without code."""
    headers = read_headers(content)
    regions = tuple(_without_overlaps(list(_regions(headers)), headers.kind))
    if not regions:
        raise BinaryFileError(_missing_code_reason(headers.sections))
    return CompiledProgram(content, headers, regions, symbols_of(content, headers))


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
_FIELD = 4  # bytes of a displacement, at the end of a jump


Relocations = dict[int, int | None]
"""{address of a displacement in a section: its target in the same section}.

None is a target in another section or file.
"""


def relocations_of(
    content: bytes, sections: Sequence[Section], tables: Sequence[Section], region: int
) -> Relocations:
    """The relocations of a section of an object file; `tables`: the sections that contain them."""
    targets: Relocations = {}
    for table in tables:
        if table.link >= len(sections):
            continue
        symbols = rows_of(content, sections[table.link])
        for row in np.frombuffer(content, dtype=_ROW, count=table.size // _ROW.itemsize, offset=table.offset):
            number = int(row["info"]) >> 32
            same = number < len(symbols) and int(symbols[number]["section"]) == region
            target = int(symbols[number]["value"]) + int(row["addend"]) + _FIELD if same else None
            targets[int(row["offset"])] = target
    return targets


MAX_SYMBOLS = 1_000_000  # of both tables

ROW = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
)
_FUNCTIONS = (2, 10)  # STT_FUNC, STT_GNU_IFUNC
_LOCAL, _WEAK = 0, 2  # bindings of ELF symbols (STB_…)
_IN_TABLE = 0xFFFF  # the section's number is in another table
_SUPPORTED_INDEX = bytes((1, 0x1B, 0x03, 0x3B))  # version; 32-bit offsets, a count, a sorted table


@dataclass(frozen=True, slots=True)
class Symbol:
    """A function's name and address; `size` is 0 where unknown."""

    name: str
    address: int
    size: int


@dataclass(frozen=True)
class Symbols:
    """The functions among a file's symbols, rows sorted by section and address.

    `sections` is empty where addresses alone identify the code.
    """

    content: bytes
    strings: tuple[int, int]
    sections: npt.NDArray[np.int64]
    rows: npt.NDArray[np.void]

    def functions_in(self, section: int, address: int, size: int) -> list[Symbol]:
        """The functions that begin in a range, one per address: global names before weak and local ones."""
        functions: list[Symbol] = []
        for symbol in self.named_in(section, address, size):
            if not functions or functions[-1].address != symbol.address:
                functions.append(symbol)
        return functions

    def named_in(self, section: int, address: int, size: int) -> Iterator[Symbol]:
        start, end = self._range(section, address, size)
        for row in self.rows[start:end]:
            name = text_at(self.content, *self.strings, int(row["name"]))
            if name:
                yield Symbol(name, int(row["value"]), int(row["size"]))

    def _range(self, section: int, address: int, size: int) -> tuple[int, int]:
        begin, end = 0, len(self.rows)
        if len(self.sections):
            begin, end = np.searchsorted(self.sections, [section, section + 1]).tolist()
        ends = np.array([address, min(address + size, (1 << 64) - 1)], dtype=np.uint64)
        first, last = np.searchsorted(self.rows["value"][begin:end], ends).tolist()
        return begin + first, begin + last


def symbols_of(content: bytes, headers: Headers) -> Symbols:
    """The symbols for linking, else those for loading, which a stripped file still has.

    Raises `BinaryFileError` for more than `MAX_SYMBOLS`.
    """
    for kind in ("SHT_SYMTAB", "SHT_DYNSYM"):
        table = next((section for section in headers.sections if section.kind == kind and section.size), None)
        if table is not None and table.link < len(headers.sections):
            symbols = _read_symbols(content, headers, table)
            if len(symbols.rows):
                return symbols
    return Symbols(content, (0, 0), np.empty(0, dtype=np.int64), np.empty(0, dtype=ROW))


def rows_of(content: bytes, table: Section) -> npt.NDArray[np.void]:
    """All rows of a symbol table. Raises `BinaryFileError` for more than `MAX_SYMBOLS`."""
    count = table.size // ROW.itemsize
    if count > MAX_SYMBOLS:
        raise BinaryFileError(f"the file has {count:,} symbols, of {MAX_SYMBOLS:,} at most")
    return np.frombuffer(content, dtype=ROW, count=count, offset=table.offset)


def _read_symbols(content: bytes, headers: Headers, table: Section) -> Symbols:
    """The symbols of functions in a table, by address; of equal ones, global symbols come first.

    Addresses in object files are relative to sections, so sections are part of the order there.
    """
    rows = rows_of(content, table)
    sections = rows["section"].astype(np.int64)
    if index_table := next(
        (row for row in headers.sections if row.kind == "SHT_SYMTAB_SHNDX" and row.link == table.index), None
    ):
        count = min(index_table.size // 4, len(rows))
        extended = np.frombuffer(content, dtype="<u4", count=count, offset=index_table.offset)
        sections[:count] = np.where(rows["section"][:count] == _IN_TABLE, extended, sections[:count])
    is_function = np.isin(rows["info"] & 15, _FUNCTIONS) & (sections != 0)
    rows, sections = rows[is_function], sections[is_function]
    binding = rows["info"] >> 4
    rank = np.select([binding == _LOCAL, binding == _WEAK], [2, 1], 0)
    within = sections if headers.kind == OBJECT else np.zeros(len(rows), dtype=np.int64)
    order = np.lexsort((rank, rows["value"], within))
    strings = headers.sections[table.link]
    return Symbols(
        content,
        (strings.offset, strings.size),
        within[order] if headers.kind == OBJECT else np.empty(0, dtype=np.int64),
        rows[order],
    )


def starts_in_index(content: bytes, headers: Headers) -> Sequence[int]:
    """Start addresses of functions in the unwinding tables' index, sorted; none for an unusual format."""
    if headers.exception_index is None:
        return ()
    address, offset = headers.exception_index
    if content[offset : offset + 4] != _SUPPORTED_INDEX or offset + 12 > len(content):
        return ()
    if address >= 1 << 62:
        return ()
    (count,) = struct.unpack_from("<I", content, offset + 8)
    if offset + 12 + 8 * count > len(content):
        return ()
    table = np.frombuffer(content, dtype="<i4", count=2 * count, offset=offset + 12)[::2]
    starts = np.unique(table.astype(np.int64)) + address
    addresses: list[int] = starts[starts >= 0].tolist()
    return addresses

"""A compiled program as a value: its executable regions and the functions in them.

Symbols say where functions are, and in files without symbols the index of their unwinding tables does; what
neither knows of is one function by itself, from gap to gap.
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
"""Bytes between functions from which on they are looked at: less is padding."""

_LINKAGE = (".plt", ".iplt")  # jumps to functions of other files


@dataclass(frozen=True, slots=True)
class Function:
    """Some code with a name, at an address of the file (of an object file: of its section, `region`)."""

    name: str
    region: int
    address: int
    size: int


@dataclass(frozen=True)
class CodeRegion:
    """Executable bytes of a file: a section, or a segment where there are no sections."""

    index: int
    name: str
    address: int
    offset: int
    size: int

    def has(self, address: int) -> bool:
        """Whether the address is in it."""
        return self.address <= address < self.address + self.size


@dataclass(frozen=True)
class CompiledProgram:
    """A file. Addresses are those of the file, as disassemblers print them."""

    content: bytes = field(repr=False)
    headers: Headers
    regions: tuple[CodeRegion, ...]
    symbols: Symbols

    @property
    def kind(self) -> str:
        return self.headers.kind

    @property
    def is_object(self) -> bool:
        """Whether each section has addresses of its own, from 0 on."""
        return self.kind == OBJECT

    def code(self, function: Function) -> bytes:
        """The bytes of a function."""
        region = self._by_index[function.region]
        begin = region.offset + function.address - region.address
        return self.content[begin : begin + function.size]

    def functions(self, wanted: str = "") -> Iterator[Function]:
        """All functions in order, those of a name or a pattern like `mat*` where one is given."""
        for region in self.regions:
            for one in self._functions_of(region):
                if not wanted or one.name == wanted or fnmatchcase(one.name, wanted):
                    yield one

    def addresses_of(self, name: str) -> list[int]:
        """Where the functions of this name begin; local functions can share one."""
        return self._by_name.get(name, [])

    def address_at(self, offset: int) -> int | None:
        """The address of a byte of the file, None where it is not executable."""
        for one in self.headers.segments:
            if one.executable and one.offset <= offset < one.offset + one.size:
                return offset - one.offset + one.address
        return None

    def holds(self, address: int) -> bool:
        """Whether there is code at an address."""
        return any(region.has(address) for region in self.regions)

    def relocations(self, region: int) -> Relocations:
        """What the linker will put into the bytes of a section of an object file."""
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
        found: dict[int, list[Section]] = {}
        for one in self.headers.sections:
            if one.kind == "SHT_RELA" and self.is_object:
                found.setdefault(one.info, []).append(one)
        return found

    @cached_property
    def _by_name(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for region in self.regions:
            for symbol in self.symbols.named_in(region.index, region.address, region.size):
                found.setdefault(symbol.name, []).append(symbol.address)
        return found

    @cached_property
    def _index_starts(self) -> Sequence[int]:
        return starts_in_index(self.content, self.headers)

    def _functions_of(self, region: CodeRegion) -> Iterator[Function]:
        end = region.address + region.size
        symbols = self.symbols.functions_in(region.index, region.address, region.size)
        symbols = _with_index(symbols, self._index_starts, region)
        behind = region.address
        for number, symbol in enumerate(symbols):
            if symbol.address < behind:
                continue  # within the one before: another entry of it
            if symbol.address - behind >= SMALLEST_GAP:
                yield _gap(region, behind, symbol.address)
            following = symbols[number + 1].address if number + 1 < len(symbols) else end
            behind = min(symbol.address + symbol.size, end) if symbol.size else following
            if behind > symbol.address:
                yield Function(symbol.name, region.index, symbol.address, behind - symbol.address)
        if end - behind >= SMALLEST_GAP or (behind == region.address and end > behind):
            yield _gap(region, behind, end)


def read_program(content: bytes) -> CompiledProgram:
    """Raises `BinaryFileError` for what is no program of x86-64, is damaged, or has no code."""
    headers = read_headers(content)
    regions = tuple(_apart(list(_regions(headers)), headers.kind))
    if not regions:
        raise BinaryFileError(_without_code(headers.sections))
    return CompiledProgram(content, headers, regions, symbols_of(content, headers))


def _regions(headers: Headers) -> Iterator[CodeRegion]:
    for one in headers.sections:
        if one.executable and one.size and not one.compressed and not one.name.startswith(_LINKAGE):
            yield CodeRegion(one.index, one.name, one.address, one.offset, one.size)
    if not headers.sections:
        for number, segment in enumerate(headers.segments):
            if segment.executable:
                yield CodeRegion(number, f"segment {number}", segment.address, segment.offset, segment.size)


def _apart(regions: list[CodeRegion], kind: str) -> Iterator[CodeRegion]:
    """Those that do not lie over one before them, which only a damaged file has."""
    if kind == OBJECT:
        yield from regions
        return
    behind = 0
    for region in sorted(regions, key=lambda one: one.address):
        if region.address >= behind:
            behind = region.address + region.size
            yield region


def _without_code(sections: Sequence[Section]) -> str:
    if any(one.executable and one.compressed for one in sections):
        return "the code of the file is compressed: unpack it with `objcopy --decompress-debug-sections`"
    if any(one.kind == "SHT_NOBITS" and one.name == ".text" for one in sections):
        return "this file has debug information only, its code is in another: give that one"
    return "the file has no executable section: there is no code in it"


def _gap(region: CodeRegion, begin: int, end: int) -> Function:
    name = region.name if (begin, end) == (region.address, region.address + region.size) else f"sub_{begin:x}"
    return Function(name, region.index, begin, end - begin)


def _with_index(symbols: list[Symbol], starts: Sequence[int], region: CodeRegion) -> list[Symbol]:
    """Symbols and, where none covers them, starts of functions that have no name, in order."""
    known = [symbol.address for symbol in symbols]
    added = []
    for start in starts:
        if region.has(start):
            before = bisect_right(known, start) - 1
            if before < 0 or (
                start != known[before] and start >= symbols[before].address + symbols[before].size
            ):
                added.append(Symbol(f"sub_{start:x}", start, 0))
    return sorted([*symbols, *added], key=lambda one: one.address) if added else symbols


_ROW = np.dtype([("offset", "<u8"), ("info", "<u8"), ("addend", "<i8")])
_FIELD = 4  # bytes of a displacement, at the end of a jump


Relocations = dict[int, int | None]
"""Of one section, {address of a displacement: the address in the same section that it leads to}.

None stands for what is in another section or another file.
"""


def relocations_of(
    content: bytes, sections: Sequence[Section], tables: Sequence[Section], region: int
) -> Relocations:
    """Those of a section of an object file; `tables`: the sections that hold them."""
    targets: Relocations = {}
    for one in tables:
        if one.link >= len(sections):
            continue
        symbols = rows_of(content, sections[one.link])
        for row in np.frombuffer(content, dtype=_ROW, count=one.size // _ROW.itemsize, offset=one.offset):
            number = int(row["info"]) >> 32
            same = number < len(symbols) and int(symbols[number]["section"]) == region
            target = int(symbols[number]["value"]) + int(row["addend"]) + _FIELD if same else None
            targets[int(row["offset"])] = target
    return targets


MOST_SYMBOLS = 1_000_000

ROW = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
)
_FUNCTIONS = (2, 10)  # STT_FUNC, STT_GNU_IFUNC
_LOCAL, _WEAK = 0, 2
_IN_TABLE = 0xFFFF  # the section's number is in a table beside
_USUAL_INDEX = bytes((1, 0x1B, 0x03, 0x3B))  # its version; 32-bit offsets, a count, a sorted table of offsets


@dataclass(frozen=True, slots=True)
class Symbol:
    """A function by its name; `size` is 0 where nobody says it."""

    name: str
    address: int
    size: int


@dataclass(frozen=True)
class Symbols:
    """The functions among the symbols of a file, rows in the order of sections and addresses.

    `sections` has 0 for all where addresses alone say where they are.
    """

    content: bytes
    strings: tuple[int, int]
    sections: npt.NDArray[np.int64]
    rows: npt.NDArray[np.void]

    def functions_in(self, section: int, address: int, size: int) -> list[Symbol]:
        """Those that begin there, one for each address: global names before weak and local ones."""
        found: list[Symbol] = []
        for symbol in self.named_in(section, address, size):
            if not found or found[-1].address != symbol.address:
                found.append(symbol)
        return found

    def named_in(self, section: int, address: int, size: int) -> Iterator[Symbol]:
        begin, end = self._range(section, address, size)
        for row in self.rows[begin:end]:
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
    """From the table for linking, else from that for loading, which a stripped file still has.

    Raises `BinaryFileError` for more than `MOST_SYMBOLS`.
    """
    for kind in ("SHT_SYMTAB", "SHT_DYNSYM"):
        table = next((one for one in headers.sections if one.kind == kind and one.size), None)
        if table is not None and table.link < len(headers.sections):
            found = _read(content, headers, table)
            if len(found.rows):
                return found
    return Symbols(content, (0, 0), np.empty(0, dtype=np.int64), np.empty(0, dtype=ROW))


def rows_of(content: bytes, table: Section) -> npt.NDArray[np.void]:
    """All rows of a symbol table. Raises `BinaryFileError` for more than `MOST_SYMBOLS`."""
    count = table.size // ROW.itemsize
    if count > MOST_SYMBOLS:
        raise BinaryFileError(f"the file has {count:,} symbols, of {MOST_SYMBOLS:,} at most")
    return np.frombuffer(content, dtype=ROW, count=count, offset=table.offset)


def _read(content: bytes, headers: Headers, table: Section) -> Symbols:
    rows = rows_of(content, table)
    sections = rows["section"].astype(np.int64)
    if beside := next(
        (one for one in headers.sections if one.kind == "SHT_SYMTAB_SHNDX" and one.link == table.index), None
    ):
        count = min(beside.size // 4, len(rows))
        far = np.frombuffer(content, dtype="<u4", count=count, offset=beside.offset)
        sections[:count] = np.where(rows["section"][:count] == _IN_TABLE, far, sections[:count])
    kept = np.isin(rows["info"] & 15, _FUNCTIONS) & (sections != 0)
    rows, sections = rows[kept], sections[kept]
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
    """Where functions begin, in order, by the index of the unwinding tables; none where it is unusual."""
    if headers.exception_index is None:
        return ()
    address, offset = headers.exception_index
    if content[offset : offset + 4] != _USUAL_INDEX or offset + 12 > len(content):
        return ()
    if address >= 1 << 62:
        return ()
    (count,) = struct.unpack_from("<I", content, offset + 8)
    if offset + 12 + 8 * count > len(content):
        return ()
    table = np.frombuffer(content, dtype="<i4", count=2 * count, offset=offset + 12)[::2]
    starts = np.unique(table.astype(np.int64)) + address
    found: list[int] = starts[starts >= 0].tolist()
    return found

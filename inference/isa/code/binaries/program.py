"""A compiled program as a value: its executable regions and the functions in them.

Symbols say where functions are, and in files without symbols the index of their unwinding tables does; what
neither knows of is one function by itself, from gap to gap.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property

from inference.isa.code.binaries.headers import OBJECT, BinaryFileError, Headers, Section, read_headers
from inference.isa.code.binaries.symbols import (
    Relocations,
    Symbol,
    Symbols,
    relocations_of,
    starts_in_index,
    symbols_of,
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

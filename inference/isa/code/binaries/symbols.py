"""The symbols of functions in an ELF file, and the starts of functions that its unwinding tables have."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from inference.isa.code.binaries.headers import OBJECT, BinaryFileError, Headers, Section, text_at

_SUPPORTED_INDEX = bytes((1, 0x1B, 0x03, 0x3B))  # version; 32-bit offsets, a count, a sorted table

MAX_SYMBOLS = 1_000_000  # of both tables

ROW = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
)
FUNCTION = 2  # STT_FUNC
_FUNCTIONS = (FUNCTION, 10)  # and STT_GNU_IFUNC
_LOCAL, _WEAK = 0, 2  # bindings of ELF symbols (STB_…)
_IN_TABLE = 0xFFFF  # the section's number is in another table


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

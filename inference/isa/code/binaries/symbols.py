"""Where functions begin and how they are called: symbol tables, unwinding tables, and what is not linked yet.

Tables can have millions of rows, which are looked at as arrays.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from inference.isa.code.binaries.headers import OBJECT, BinaryFileError, Headers, Section, text_at

_ROW = np.dtype([("offset", "<u8"), ("info", "<u8"), ("addend", "<i8")])
_FIELD = 4  # bytes of a displacement, at the end of a jump


@dataclass(frozen=True)
class Relocations:
    """Of one section. `targets`: {address of a displacement: the address in the same section it leads to}.

    None stands for what is in another section or another file.
    """

    targets: dict[int, int | None] = field(default_factory=dict)

    def has(self, address: int, length: int) -> bool:
        """Whether the last four bytes of an instruction are still to be filled in."""
        return address + length - _FIELD in self.targets

    def target(self, address: int, length: int) -> int | None:
        """Where such a jump leads."""
        return self.targets[address + length - _FIELD]


def relocations_of(
    content: bytes, sections: Sequence[Section], tables: Sequence[Section], region: int
) -> Relocations:
    """Those of a section of an object file; `tables`: the sections that hold them."""
    targets: dict[int, int | None] = {}
    for one in tables:
        if one.link >= len(sections):
            continue
        symbols = rows_of(content, sections[one.link])
        for row in np.frombuffer(content, dtype=_ROW, count=one.size // _ROW.itemsize, offset=one.offset):
            number = int(row["info"]) >> 32
            same = number < len(symbols) and int(symbols[number]["section"]) == region
            target = int(symbols[number]["value"]) + int(row["addend"]) + _FIELD if same else None
            targets[int(row["offset"])] = target
    return Relocations(targets)


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

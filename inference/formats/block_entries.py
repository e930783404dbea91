"""Blocks with numbers from files that are no table with a column per tool, as a table of that kind.

A reader makes `BlockEntry`s of a file; `ListedBlocks` offers them as `blocks_csv.BlockFile` offers its rows.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from inference.formats.block_cells import fault_of_name
from inference.formats.blocks_csv import ROW_LIMIT, BlockColumns, BlockFile, BlockRow, BrokenRows
from inference.formats.experiment_csv import COLUMN_LIMIT
from inference.formats.problems import Problems, excerpt
from inference.isa.targets import DEFAULT


@dataclass(frozen=True, slots=True)
class BlockEntry:
    """A block of a file.

    Attributes:
        line: Number of the line, from 1.
        cell: Machine code in hexadecimal digits, or assembly.
        answers: {column: number, -1 where the tool failed}.
        fault: Why there is no block, "" where there is.
    """

    line: int
    cell: str
    answers: Mapping[str, float] = field(default_factory=dict)
    origin: str = ""
    fault: str = ""


@dataclass(frozen=True)
class BlockEntries:
    """What a reader makes of a file.

    Attributes:
        states_unit: Whether numbers are cycles of one execution by definition.
        notes: What the reader decided, for the report of the import.
    """

    title: str
    entries: Sequence[BlockEntry] = ()
    isa: str = DEFAULT
    states_unit: bool = True
    notes: Sequence[str] = ()


class ListedBlocks(BlockFile):
    """Entries of a file as its rows."""

    def __init__(self, listed: BlockEntries, broken: BrokenRows, problems: Problems) -> None:
        self._entries = iter(listed.entries)
        names = dict.fromkeys(name for entry in listed.entries for name in entry.answers)
        super().__init__(io.BytesIO(f"# instruction set: {listed.isa}\nbb\n".encode()), broken, problems)
        self.title, self.notes = listed.title, tuple(listed.notes)
        readable = self.columns is not None and not problems
        self.columns = None
        if len(names) > COLUMN_LIMIT:
            problems.add(f"{len(names)} tools, where {COLUMN_LIMIT} are the most", "split the file")
        elif readable and not listed.entries:
            problems.add("the file has no block", f"{listed.title} are expected")
        elif readable:
            for name in names:
                if fault := fault_of_name(name):
                    problems.add(f"the tool {excerpt(name)} {fault}", "a name of a tool is expected")
            places = tuple(range(1, len(names) + 1))
            self.columns = BlockColumns(tuple(names), listed.states_unit, places, len(names) + 1)

    def rows(self) -> Iterator[BlockRow]:
        """The readable rows, in their order; at most `ROW_LIMIT`."""
        if self.columns is None:
            return
        for entry in self._entries:
            if self.problems and self.broken is BrokenRows.STOP:
                return
            self.read += 1
            if self.read > ROW_LIMIT:
                self.problems.add(f"more than {ROW_LIMIT:,} blocks", "split the file", row=entry.line)
                self.left_out += 1
                return
            before = self.problems.count
            if entry.fault:
                self.problems.add(entry.fault, "machine code or assembly is expected", row=entry.line)
            block = None if entry.fault else self._block(entry.line, entry.cell)
            origin = self._origin(entry.line, entry.origin)
            if block is not None and self.problems.count == before:
                yield BlockRow(entry.line, *block, tuple(map(entry.answers.get, self.columns.names)), origin)
            else:
                self.left_out += 1

"""Tables with a row per block and machine, as a table with a column per machine.

    hex,throughput,machine      4801d8,126.00,hsw
    4801d8,126.00,hsw           4801d8,104.00,skl       without titles: a block, a number and a word

Rows of one block become one row. A second number of a block on the same machine is a row of its own, so that
both are kept.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import PurePath
from typing import BinaryIO

from inference.formats.block_cells import code_of, is_first_cell, separator_of
from inference.formats.block_entries import BlockEntries, BlockEntry
from inference.formats.blocks_csv import ROW_LIMIT, BlockColumns, BlockFile
from inference.formats.problems import Problems, excerpt
from inference.formats.uops_info_digest import NAMES

TITLE = "blocks by machine (CSV)"
MACHINE_TITLES = ("machine", "uarch", "microarchitecture", "arch", "cpu")
_NUMBER = re.compile(r"-?[0-9.]+(?:e[+-]?[0-9]+)?", re.IGNORECASE)
_MACHINE = re.compile(r"[A-Za-z][\w.+ -]{0,60}")


def machine_of(file_name: str) -> str:
    """The core that a file of BHive is named after, `hsw.csv`; "" for other names."""
    return NAMES.get(PurePath(file_name).stem.upper(), "")


def is_machine_table(beginning: bytes) -> bool:
    lines = beginning.decode("utf-8-sig", errors="replace").splitlines()
    first = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    try:
        cells = [cell.strip() for cell in next(csv.reader([first], delimiter=separator_of(first)), [])]
    except csv.Error:
        return False
    return len(cells) > 2 and is_first_cell(cells[0]) and _machine_place(cells) is not None


def _machine_place(cells: list[str]) -> int | None:
    """The column with machines, by its title or, of three cells, because it has the only word."""
    titled = [place for place, cell in enumerate(cells) if place and cell.lower() in MACHINE_TITLES]
    if titled or not code_of(cells[0]) or len(cells) != 3:
        return titled[0] if len(titled) == 1 else None
    words = [place for place in (1, 2) if _MACHINE.fullmatch(cells[place])]
    numbers = [place for place in (1, 2) if not cells[place] or _NUMBER.fullmatch(cells[place])]
    return words[0] if len(words) == len(numbers) == 1 else None


def read_machine_table(file: BinaryIO, problems: Problems) -> BlockEntries:
    """Read a table; problems are noted."""
    table = _MachineTable(file)
    table.problems = problems
    return BlockEntries(TITLE, tuple(table.entries()), table.isa, states_unit=False)


class _MachineTable(BlockFile):
    def entries(self) -> Iterable[BlockEntry]:
        first, self._waiting = self._waiting, None
        if first is not None:  # no titles
            machine = _machine_place([cell.strip() for cell in first[1]]) or 2
            self.columns = BlockColumns(("",), False, (3 - machine,), len(first[1]))
        elif self.columns is None:
            return ()
        else:
            titles = dict(zip(self.columns.places, self.columns.names, strict=True))
            machine = next((at for at, title in titles.items() if title.lower() in MACHINE_TITLES), 0)
            if not machine:
                self.problems.add("the machines are in the first column", "the first column has the blocks")
                return ()
            del titles[machine]
            self.columns = replace(self.columns, names=tuple(titles.values()), places=tuple(titles))
        by_block: dict[bytes | str, list[BlockEntry]] = {}
        counts: Counter[tuple[bytes | str, str]] = Counter()
        while self.read <= ROW_LIMIT and not self.problems.full and (record := first or self._next()):
            first = None
            self.read += 1
            for entry in self._entries(*record, machine):
                key = code_of(entry.cell) or entry.cell
                _add(entry, key, by_block.setdefault(key, []), counts)
        if self.read > ROW_LIMIT:
            self.problems.add(f"more than {ROW_LIMIT:,} rows", "split the file")
        return chain.from_iterable(by_block.values())

    def _entries(self, line: int, cells: list[str], machine: int) -> Iterator[BlockEntry]:
        """The entry of a row, with one number per column; none after noting a problem."""
        assert self.columns is not None
        if len(cells) != self.columns.cells:
            right = "put assembly with commas in double quotes"
            self.problems.add(f"expected {self.columns.cells} fields, found {len(cells)}", right, row=line)
            return
        core = NAMES.get(cells[machine].strip().upper(), cells[machine].strip())
        if not _MACHINE.fullmatch(core):
            self.problems.add(f"{excerpt(core)} is no machine", "a name, e.g. hsw, is expected", row=line)
            return
        single = len(self.columns.names) == 1
        numbers = {
            core if single else f"{title}, {core}": self._number(line, title or "number", cells[at])
            for title, at in zip(self.columns.names, self.columns.places, strict=True)
        }
        answers = {name: number for name, number in numbers.items() if number is not None}
        if cells[0].strip():
            yield BlockEntry(line, cells[0].strip(), answers)


def _add(
    entry: BlockEntry,
    key: bytes | str,
    of_block: list[BlockEntry],
    counts: Counter[tuple[bytes | str, str]],
) -> None:
    """Add an entry to the first row of its block that has no number of its machine yet.

    `counts`: rows that have one, by block and column.
    """
    place = max((counts[key, name] for name in entry.answers), default=0)
    counts.update({(key, name): place + 1 - counts[key, name] for name in entry.answers})
    if place < len(of_block):
        of_block[place] = replace(of_block[place], answers={**of_block[place].answers, **entry.answers})
    else:
        of_block.append(entry)

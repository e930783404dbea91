"""Experiments with their cycles as CSV, the format for uploads: see docs/formats.md.

    experiment,cycles,unit,note
    "2*add GPR[64]:RW, GPR[64]:R; imul GPR[64]:RW, GPR[64]:R",1.0,cycles,

Columns named `tool:NAME` hold the cycles that other tools predict. Lines that begin with `#` may come first.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from inference.core.experiment import Measured
from inference.core.metrics import Unit
from inference.exchange.csv_cells import plain_text, written
from inference.exchange.document import (
    ENTRY_LIMIT,
    EXPERIMENT_LENGTH,
    Document,
    ExperimentEntry,
    check_cycles,
    check_length,
    check_name,
    check_note,
)
from inference.exchange.problems import Problems, excerpt
from inference.exchange.source import Source

COLUMNS = ("experiment", "cycles", "unit", "note")
REQUIRED = ("experiment", "cycles")
TOOL = "tool:"
HEADER = "experiment,cycles[,unit,note][,tool:NAME …]"
HEADER_IS = f"the header is {HEADER}"
COLUMN_LIMIT = 100  # a page shows all tools side by side

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
_TERM = re.compile(r"(?:([0-9]{1,18})\s*\*\s*)?(.*)", re.DOTALL)


def is_experiment_csv(source: Source) -> bool:
    """Whether the first line looks like a header of this format, be it a faulty one."""
    if source.is_json:
        return False
    first = _parted(source.text)[1].lstrip()[:1000].lower().partition("\n")[0]
    return "experiment" in first or "cycles" in first


def read_experiment_csv(source: Source, problems: Problems, unit: Unit) -> Document:
    """Read the rows; `unit` is that of the rows which name none."""
    rows = _rows(source.text, problems)
    header = next(rows, None)
    columns = _columns(header[1], problems) if header else None
    if columns is None:
        return Document()
    reader = _RowReader(columns, unit, problems)
    entries = []
    for number, (row, cells) in enumerate(rows):
        if number >= ENTRY_LIMIT:
            problems.add(f"more than {ENTRY_LIMIT} rows", "split the file", row=row)
            break
        entry = reader.entry(row, cells)
        if entry is not None:
            entries.append(entry)
    if not entries and not problems:
        problems.add("there is no row below the header", "one row per experiment is expected")
    facts = {
        "columns": list(columns),
        "units": sorted(used.value for used in reader.units),
        "tools": [name[len(TOOL) :] for name in columns if name.startswith(TOOL)],
    }
    return Document(experiments=tuple(entries), refused=tuple(reader.refused), facts=facts)


def _rows(text: str, problems: Problems) -> Iterator[tuple[int, list[str]]]:
    """(first line, cells) of every record that is not blank, behind the comments at the beginning."""
    above, rest = _parted(text)
    reader = csv.reader(io.StringIO(rest, newline=""), strict=True)
    while True:
        line = above + reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            problems.add(
                f"the CSV cannot be read from here: {error}",
                "fields with commas are put in double quotes, a quote inside is doubled",
                row=line,
            )
            return
        if any(cell.strip() for cell in cells):
            yield line, cells


def _parted(text: str) -> tuple[int, str]:
    """How many lines of comments and nothing stand above the header, and the text from there on."""
    above = start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        line = text[start:end].strip()
        if line and not line.startswith("#"):
            break
        above, start = above + 1, end
    return above, text[start:]


def _columns(header: Sequence[str], problems: Problems) -> tuple[str, ...] | None:
    """The normalised column names, or None after noting what is wrong with the header."""
    names = []
    before = problems.count
    if len(header) > COLUMN_LIMIT:
        problems.add(f"{len(header)} columns, where {COLUMN_LIMIT} are the most", HEADER_IS, row=1)
        return None
    for cell in header:
        name = cell.strip()
        lowered = name.lower()
        if lowered in COLUMNS:
            name = lowered
        elif lowered.startswith(TOOL) and check_name(name[len(TOOL) :], problems, row=1, column=TOOL):
            name = TOOL + name[len(TOOL) :].strip()
        else:
            problems.add(f"unknown column {excerpt(name)}", HEADER_IS, row=1)
        names.append(name)
    problems_of_sets = [(name, "is missing") for name in REQUIRED if name not in names]
    problems_of_sets += [(name, "occurs twice") for name in dict.fromkeys(names) if names.count(name) > 1]
    for name, fault in problems_of_sets:
        problems.add(f"the column {excerpt(name)} {fault}", HEADER_IS, row=1)
    return tuple(names) if problems.count == before else None


@dataclass
class _RowReader:
    """Turns the cells of one row after the other into entries; remembers which units occurred."""

    columns: tuple[str, ...]
    unit: Unit
    problems: Problems

    def __post_init__(self) -> None:
        self.units: set[Unit] = set()
        self.refused: list[tuple[str, int, str]] = []

    def entry(self, row: int, cells: list[str]) -> ExperimentEntry | None:
        """The experiment in a row, or None after noting its problems."""
        if len(cells) != len(self.columns):
            self.problems.add(
                f"{len(cells)} fields where the header has {len(self.columns)}",
                "put an experiment with commas in double quotes",
                row=row,
            )
            return None
        by_name = dict(zip(self.columns, map(plain_text, cells), strict=True))
        before = self.problems.count
        terms = parse_terms(by_name["experiment"], self.problems, row=row)
        unit = self._unit(by_name.get("unit", ""), row)
        number = parse_number(by_name["cycles"], self.problems, row=row, column="cycles")
        note = check_note(by_name.get("note", ""), self.problems, row=row, column="note")
        annotations = {
            name[len(TOOL) :]: value
            for name in self.columns
            if name.startswith(TOOL)
            and by_name[name].strip()
            and (value := parse_number(by_name[name], self.problems, row=row, column=name)) is not None
        }
        if terms is None:
            return None
        cycles = None
        if number is not None and unit is not None:
            length = sum(count for _, count in terms)
            cycles = check_cycles(_in_cycles(number, length, unit), self.problems, row=row, column="cycles")
        if cycles is None or note is None or unit is None or self.problems.count > before:
            self.refused.extend((name, row, "experiment") for name, _ in terms)
            return None
        self.units.add(unit)
        return ExperimentEntry(row, "experiment", terms, cycles, note, annotations)

    def _unit(self, cell: str, row: int) -> Unit | None:
        name = cell.strip().lower()
        if not name:
            return self.unit
        if name in {unit.value for unit in Unit}:
            return Unit(name)
        self.problems.add(
            f"{excerpt(cell)} is not a unit",
            f"one of {', '.join(unit.value for unit in Unit)} is expected",
            row=row,
            column="unit",
        )
        return None


def _in_cycles(value: float, length: int, unit: Unit) -> float:
    """Cycles per execution of an experiment of `length` instructions; 0 stays 0 for the range check."""
    if unit is Unit.CPI:
        return value * length
    if unit is Unit.IPC:
        return length / value if value else 0.0
    return value


def parse_number(cell: str, problems: Problems, *, row: int, column: str) -> float | None:
    """A decimal number ≥ 0, or None after noting the problem (text, NaN, infinity, sign)."""
    text = cell.strip()
    if not _NUMBER.fullmatch(text):
        right = "use a decimal point" if re.fullmatch(r"[0-9]+,[0-9]+", text) else "a number is expected"
        fault = f"{excerpt(text)} is not a number" if text else "the number is missing"
        problems.add(fault, right, row=row, column=column)
        return None
    value = float(text)
    if value < 0:
        problems.add(f"{excerpt(text)} is negative", "a number above 0 is expected", row=row, column=column)
        return None
    return value


def parse_terms(
    text: str, problems: Problems, *, row: int, column: str = "experiment"
) -> tuple[tuple[str, int], ...] | None:
    """`2*add GPR[64]:RW, GPR[64]:R; 1*imul …` as ((name, multiplicity), …); None after noting a problem."""
    terms = []
    before = problems.count
    for part in text.split(";"):
        if not part.strip():
            if ";" in text.strip().rstrip(";") or not text.strip().rstrip(";"):
                problems.add(
                    "the experiment has an empty term",
                    "write scheme texts separated by semicolons, e.g. 2*add GPR[64]:RW, GPR[64]:R",
                    row=row,
                    column=column,
                )
                return None
            continue
        match = _TERM.fullmatch(part.strip())
        assert match is not None, "the pattern matches every text"
        name = check_name(match[2], problems, row=row, column=column)
        count = int(match[1] or 1)
        if count < 1:
            problems.add(
                f"{excerpt(part.strip())} has multiplicity 0",
                "a whole number ≥ 1 is expected",
                row=row,
                column=column,
            )
        if name is not None:
            terms.append((name, count))
    if problems.count > before:
        return None
    length = min(sum(count for _, count in terms), EXPERIMENT_LENGTH + 1)
    return tuple(terms) if check_length(length, problems, row=row, column=column) else None


def write_experiment_csv(measured: Iterable[Measured], unit: Unit = Unit.CYCLES, head: str = "") -> str:
    """The settled measurements as CSV text, in their order, below the lines of `head`."""
    usable = [result for result in measured if result.usable and result.cycles is not None]
    tools = sorted({tool for result in usable for tool in result.annotations})
    rows = []
    for result in usable:
        assert result.cycles is not None
        answers = (result.annotations.get(tool) for tool in tools)
        cycles = _from_cycles(result.cycles, result.experiment.length, unit)
        rows.append([str(result.experiment), cycles, unit.value, result.note, *answers])
    return written([*COLUMNS, *(TOOL + tool for tool in tools)], rows, head)


def _from_cycles(cycles: float, length: int, unit: Unit) -> float:
    if unit is Unit.CPI:
        return cycles / length
    return length / cycles if unit is Unit.IPC else cycles

"""Experiments with their cycles as CSV, the format for uploads: see docs/formats.md.

    experiment,cycles,unit,note
    "2*add GPR[64]:RW, GPR[64]:R; imul GPR[64]:RW, GPR[64]:R",1.0,cycles,

Columns named `tool:NAME` hold the cycles that other tools predict. Lines that begin with `#` may come
first. Columns may be separated by tabs instead.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from inference.core.experiment import Measured
from inference.formats.document import (
    ENTRY_LIMIT,
    EXPERIMENT_LENGTH,
    NO_NUMBERS,
    Document,
    ExperimentEntry,
    check_cycles,
    check_length,
    check_name,
    check_note,
)
from inference.formats.file_numbers import SAMPLE_ROWS, TITLES, FileUnit, Guess, likely_unit
from inference.formats.problems import FilePlace, Problems, excerpt
from inference.formats.quoting import csv_text, plain_text
from inference.formats.source import Signature, Source

EXPERIMENT, NUMBER, UNIT, NOTE = "experiment", "cycles", "unit", "note"
TOOL = "tool:"
HEADER = "experiment,cycles[,unit,note][,tool:NAME …]"
HEADER_HINT = f"the header is {HEADER}"
COLUMN_LIMIT = 100  # a page shows all tools side by side
_EXPERIMENT_TITLES = {
    "experiment": EXPERIMENT,
    "experiments": EXPERIMENT,
    "instructions": EXPERIMENT,
    "schemes": EXPERIMENT,
}
_COLUMNS = (EXPERIMENT, NUMBER, UNIT, NOTE)
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
_TERM = re.compile(r"(?:([-+]?[0-9][-+0-9.,eE]{0,60})\s*\*\s*)?(.*)", re.DOTALL)
"""`2 * add GPR[64]:RW, GPR[64]:R`; the number is checked later."""

_COUNT_DIGITS = 9
"""Digits of a multiplicity that are read; `EXPERIMENT_LENGTH` is far below."""

_UNITS = {unit.value: unit for unit in FileUnit}
SIGNATURE = Signature(
    patterns=(re.compile(r"\A(?:\s*+#.*+)*+\s*+.{0,990}?(?:experiment|cycles)", re.IGNORECASE),)
)
"""Matches where the first line below comments looks like a header, even one with problems."""

Terms = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class ExperimentColumns:
    """The columns of a table, in their order: `names`, and `titles` as written.

    A name is `experiment`, `cycles` (the numbers, whatever their unit), `unit`, `note`, or `tool:NAME`.
    `unit`: by the title of the numbers; None for the title "cycles", which numbers in other units have as
    well.
    """

    names: tuple[str, ...]
    titles: tuple[str, ...]
    unit: FileUnit | None

    def place(self, name: str) -> int | None:
        """Index of a column, None where there is none."""
        return self.names.index(name) if name in self.names else None

    @property
    def tools(self) -> list[tuple[int, str]]:
        """(index, tool) of the columns with other tools' answers."""
        return [(at, name[len(TOOL) :]) for at, name in enumerate(self.names) if name.startswith(TOOL)]


def read_columns(header: Sequence[str], problems: Problems) -> ExperimentColumns | None:
    """The columns; None after noting problems of the header."""
    before = problems.count
    if len(header) > COLUMN_LIMIT:
        problems.add(f"{len(header)} columns, where {COLUMN_LIMIT} are the most", HEADER_HINT, row=1)
        return None
    names: list[str] = []
    unit = None
    for cell in header:
        title = cell.strip()
        plain = re.sub(r"[\s_]+", " ", title.lower())
        if plain in TITLES:
            names.append(NUMBER)
            unit = None if plain == NUMBER else TITLES[plain]
        elif plain in (UNIT, NOTE):
            names.append(plain)
        elif plain in _EXPERIMENT_TITLES:
            names.append(_EXPERIMENT_TITLES[plain])
        elif plain.startswith(TOOL) and check_name(title[len(TOOL) :], FilePlace(problems, 1, TOOL)):
            names.append(TOOL + title[len(TOOL) :].strip())
        else:
            names.append(title)
            problems.add(f"unknown column {excerpt(title)}", HEADER_HINT, row=1)
    faults = [(name, "is missing") for name in (EXPERIMENT, NUMBER) if name not in names]
    faults += [(name, "occurs twice") for name in dict.fromkeys(names) if names.count(name) > 1]
    for name, fault in faults:
        problems.add(f"the column {excerpt(name)} {fault}", HEADER_HINT, row=1)
    if problems.count > before:
        return None
    return ExperimentColumns(tuple(names), tuple(cell.strip() for cell in header), unit)


def read_experiment_csv(source: Source) -> Document:
    """Read experiments in CSV. `source.unit` applies to rows whose row and column name no unit."""
    problems = source.problems
    rows = _rows(source.text, problems)
    header = next(rows, None)
    columns = read_columns(header[1], problems) if header else None
    if columns is None:
        return Document()
    guess = None
    if columns.unit is None and UNIT not in columns.names:
        guess = _guess(source.text, columns)
    unit = columns.unit or source.unit or (FileUnit.CYCLES if guess is None else guess.unit)
    reader = _RowReader(columns, unit, problems)
    entries = []
    broken = row_problems = 0
    for number, (row, cells) in enumerate(rows):
        if number >= ENTRY_LIMIT:
            problems.add(f"more than {ENTRY_LIMIT} rows", "split the file", row=row)
            break
        before = problems.count
        entry = reader.entry(row, cells)
        if entry is not None:
            entries.append(entry)
        else:
            broken += 1
            row_problems += problems.count - before
    if not entries and not problems:
        problems.add("there is no row below the header", "one row per experiment is expected")
    return Document(
        experiments=tuple(entries),
        refused=tuple(reader.refused),
        broken=broken,
        row_problems=row_problems,
        facts=_facts(columns, reader, unit, guess),
    )


def _facts(
    columns: ExperimentColumns, reader: _RowReader, unit: FileUnit, guess: Guess | None
) -> dict[str, object]:
    """What a preview says of the file: columns, units, tools, and the unit that its numbers look like."""
    facts: dict[str, object] = {
        "columns": list(columns.names),
        "titles": list(columns.titles),
        "units": sorted(used.value for used in reader.units),
        "unit": unit.value,
        "tools": [tool for _, tool in columns.tools],
    }
    if columns.unit is not None:
        facts["unit_by_title"] = columns.unit.value
    if guess is not None:
        facts |= {"likely_unit": guess.unit.value, "why": guess.why}
    return facts


def _guess(text: str, columns: ExperimentColumns) -> Guess | None:
    """The likely unit of the first rows' numbers; None where nothing tells."""
    ignored = Problems()
    rows = _rows(text, ignored)
    next(rows, None)
    reader = _RowReader(columns, FileUnit.CYCLES, ignored)
    sample = []
    for _, (row, cells) in zip(range(SAMPLE_ROWS), rows, strict=False):
        entry = reader.entry(row, cells)
        if entry is not None:
            sample.append((entry.cycles, sum(count for _, count in entry.terms)))
    return likely_unit(*zip(*sample, strict=True)) if sample else None


def _rows(text: str, problems: Problems) -> Iterator[tuple[int, list[str]]]:
    """(first line, cells) of each record that is not blank, below the comments at the top."""
    above, table = _skip_comments(text)
    titles = table[: table.find("\n") + 1 or len(table)]
    tabs = "\t" in titles and "," not in titles
    reader = csv.reader(io.StringIO(table, newline=""), delimiter="\t" if tabs else ",", strict=True)
    line = above + 1
    while True:
        try:
            for cells in reader:
                if cells and ("".join(cells).strip()):
                    yield line, cells
                line = above + reader.line_num + 1
        except csv.Error as error:
            problems.add(
                f"the CSV cannot be read from here: {error}",
                "fields with commas are put in double quotes, a quote inside is doubled",
                row=line,
            )
        return


def _skip_comments(text: str) -> tuple[int, str]:
    """(number of comment and blank lines above the header, the text from the header on)."""
    line_count = start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        line = text[start:end].strip()
        if line and not line.startswith("#"):
            break
        line_count, start = line_count + 1, end
    return line_count, text[start:]


class _RowReader:
    """Turns rows into entries, and collects the units that occurred.

    Terms that were read before are not checked again: a large file repeats them.
    """

    def __init__(self, columns: ExperimentColumns, unit: FileUnit, problems: Problems) -> None:
        self.units: set[FileUnit] = set()
        self.refused: list[tuple[str, int, str]] = []
        self._unit = unit
        self._problems = problems
        self._width = len(columns.names)
        self._tools = columns.tools
        self._places = (columns.names.index(EXPERIMENT), columns.names.index(NUMBER))
        self._unit_at, self._note_at = columns.place(UNIT), columns.place(NOTE)
        self._terms_cache: dict[str, tuple[str, int]] = {}

    def entry(self, row: int, cells: Sequence[str]) -> ExperimentEntry | None:
        """The experiment of a row; None after noting problems."""
        problems, place = self._problems, FilePlace(self._problems, row, EXPERIMENT)
        if len(cells) != self._width:
            fault = f"expected {self._width} fields, found {len(cells)}"
            problems.add(fault, "put an experiment with commas in double quotes", row=row)
            return None
        before = problems.count
        experiment_at, number_at = self._places
        terms = parse_terms(plain_text(cells[experiment_at]), place, self._terms_cache)
        unit = self._unit_of(cells, place)
        cycles_place = place.at(NUMBER)
        number = parse_number(plain_text(cells[number_at]), cycles_place)
        note: str | None = ""
        if self._note_at is not None and cells[self._note_at]:
            note = check_note(plain_text(cells[self._note_at]), place.at(NOTE))
        annotations = self._answers(cells, place) if self._tools else NO_NUMBERS
        if terms is None:
            return None
        cycles = None
        if number is not None and unit is not None:
            length = sum(count for _, count in terms)
            cycles = check_cycles(unit.in_cycles(number, length), cycles_place)
        if cycles is None or note is None or unit is None or problems.count > before:
            self.refused.extend((name, row, EXPERIMENT) for name, _ in terms)
            return None
        self.units.add(unit)
        return ExperimentEntry(row, EXPERIMENT, terms, cycles, note, annotations)

    def _answers(self, cells: Sequence[str], place: FilePlace) -> dict[str, float]:
        """{tool: cycles} of the tools that have an answer."""
        answers = {}
        for at, tool in self._tools:
            if cells[at].strip():
                cycles = parse_number(plain_text(cells[at]), place.at(TOOL + tool))
                if cycles is not None:
                    answers[tool] = cycles
        return answers

    def _unit_of(self, cells: Sequence[str], place: FilePlace) -> FileUnit | None:
        cell = "" if self._unit_at is None else cells[self._unit_at]
        name = plain_text(cell).strip().lower()
        if not name:
            return self._unit
        if name not in _UNITS:
            place.at(UNIT).add(f"{excerpt(cell)} is not a unit", f"one of {', '.join(_UNITS)} is expected")
        return _UNITS.get(name)


def parse_number(cell: str, place: FilePlace) -> float | None:
    """A decimal number ≥ 0; None after noting a problem (text, NaN, infinity, negative)."""
    text = cell.strip()
    if not _NUMBER.fullmatch(text):
        right = "use a decimal point" if re.fullmatch(r"[0-9]+,[0-9]+", text) else "a number is expected"
        fault = f"{excerpt(text)} is not a number" if text else "the number is missing"
        place.add(fault, right)
        return None
    value = float(text)
    if value < 0:
        place.add(f"{excerpt(text)} is negative", "a number above 0 is expected")
        return None
    return value


def parse_terms(text: str, place: FilePlace, cache: dict[str, tuple[str, int]] | None = None) -> Terms | None:
    """The terms of an experiment, ((name, multiplicity), …); None after noting a problem.

    Args:
        text: Terms separated by semicolons; without a multiplicity, it is 1.
        place: Where problems are noted.
        cache: {term: (name, multiplicity)} of terms read before; extended by this call.

    >>> from inference.formats.problems import Problems
    >>> parse_terms("2*add R, R; mul R, R", FilePlace(Problems()))
    (('add R, R', 2), ('mul R, R', 1))
    """
    terms_by_text = {} if cache is None else cache
    terms = []
    before = place.problems.count
    length = 0
    for part in text.split(";"):
        term = terms_by_text.get(part)
        if term is None:
            if not part.strip():
                if ";" in text.strip().rstrip(";") or not text.strip().rstrip(";"):
                    place.add(
                        "the experiment has an empty term",
                        "write scheme texts separated by semicolons, e.g. 2*add GPR[64]:RW, GPR[64]:R",
                    )
                    return None
                continue
            term = _term(part.strip(), place)
            if term is None:
                continue
            terms_by_text[part] = term
        terms.append(term)
        length += term[1]
    if place.problems.count > before:
        return None
    fits = check_length(min(length, EXPERIMENT_LENGTH + 1), place)
    return tuple(terms) if fits else None


def _term(part: str, place: FilePlace) -> tuple[str, int] | None:
    match = _TERM.fullmatch(part)
    assert match is not None, "the pattern matches every text"
    name = check_name(match[2], place)
    number = match[1] or "1"
    count = int(number.lstrip("0")[:_COUNT_DIGITS] or 0) if number.isdecimal() else None
    if not count:
        none = f"{excerpt(part)} has multiplicity 0"
        fault = none if count == 0 else f"{excerpt(number)} before the * is no whole number"
        place.add(fault, "a whole number ≥ 1 is expected")
        return None
    return None if name is None else (name, count)


def write_experiment_csv(
    measured: Iterable[Measured], head: str = "", *, tools: Sequence[str] | None = None
) -> str:
    """Settled measurements as CSV text, in their order.

    Args:
        measured: Measurements; unusable ones are omitted.
        head: Comment lines above the header.
        tools: Tools whose answers get a column; None: all that occur, for which the measurements are held in
            memory. With names, `measured` is read once.
    """
    if tools is None:
        measured = list(measured)
        tools = sorted({tool for result in measured if result.usable for tool in result.annotations})
    header = [*_COLUMNS, *(TOOL + tool for tool in tools)]
    return csv_text(header, _written_rows(measured, tools), head)


def _written_rows(measured: Iterable[Measured], tools: Sequence[str]) -> Iterator[Sequence[object]]:
    for result in measured:
        if result.usable and result.cycles is not None:
            answers = (result.annotations.get(tool) for tool in tools)
            yield [str(result.experiment), result.cycles, FileUnit.CYCLES.value, result.note, *answers]

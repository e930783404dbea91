"""The first line of a table of experiments: which column is what, by its title."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from inference.formats.document import check_name
from inference.formats.file_units import TITLES, FileUnit
from inference.formats.problems import Problems, excerpt

EXPERIMENT, NUMBER, UNIT, NOTE = "experiment", "cycles", "unit", "note"
TOOL = "tool:"
HEADER = "experiment,cycles[,unit,note][,tool:NAME …]"
HEADER_IS = f"the header is {HEADER}"
COLUMN_LIMIT = 100  # a page shows all tools side by side
_SAME = {
    "experiment": EXPERIMENT,
    "experiments": EXPERIMENT,
    "instructions": EXPERIMENT,
    "schemes": EXPERIMENT,
}


@dataclass(frozen=True)
class ExperimentColumns:
    """What the columns of a table are, in their order: `names`, and as they were written, `titles`.

    A name is `experiment`, `cycles` (the numbers, whatever their unit), `unit`, `note`, or `tool:NAME`.
    `unit` is what the title of the numbers says of them; None where it is the plain "cycles", which is also
    the title of numbers in other units.
    """

    names: tuple[str, ...]
    titles: tuple[str, ...]
    unit: FileUnit | None

    def place(self, name: str) -> int | None:
        """The position of a column, None where there is no such column."""
        return self.names.index(name) if name in self.names else None

    @property
    def tools(self) -> list[tuple[int, str]]:
        """(position, tool) of the columns with other tools' answers."""
        return [(at, name[len(TOOL) :]) for at, name in enumerate(self.names) if name.startswith(TOOL)]


def read_columns(header: Sequence[str], problems: Problems) -> ExperimentColumns | None:
    """The columns, or None after noting what is wrong with the header."""
    before = problems.count
    if len(header) > COLUMN_LIMIT:
        problems.add(f"{len(header)} columns, where {COLUMN_LIMIT} are the most", HEADER_IS, row=1)
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
        elif plain in _SAME:
            names.append(_SAME[plain])
        elif plain.startswith(TOOL) and check_name(title[len(TOOL) :], problems, row=1, column=TOOL):
            names.append(TOOL + title[len(TOOL) :].strip())
        else:
            names.append(title)
            problems.add(f"unknown column {excerpt(title)}", HEADER_IS, row=1)
    faults = [(name, "is missing") for name in (EXPERIMENT, NUMBER) if name not in names]
    faults += [(name, "occurs twice") for name in dict.fromkeys(names) if names.count(name) > 1]
    for name, fault in faults:
        problems.add(f"the column {excerpt(name)} {fault}", HEADER_IS, row=1)
    if problems.count > before:
        return None
    return ExperimentColumns(tuple(names), tuple(cell.strip() for cell in header), unit)

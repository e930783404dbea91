"""What a published page shows, as plain values: facts, tables, pictures. `rendering` makes HTML of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property

from inference.core.mapping import Uops
from inference.figures.svg import SvgDrawing

Value = str | int | float | Uops | None
"""Of a cell: a text, a number, µops, or nothing that is known."""


class PublishedKind(StrEnum):
    MAPPING = "mapping"
    CORE = "core"
    COMPARISON = "comparison"
    CAMPAIGN = "campaign"


class CellKind(StrEnum):
    """How the cells of a column are shown and sorted."""

    TEXT = "text"
    CODE = "code"
    NUMBER = "number"
    UOPS = "uops"
    CHOICE = "choice"
    """Texts of which there are few: the page offers them as a filter."""


@dataclass(frozen=True)
class PublishedColumn:
    """A column: its heading, how its cells are shown, of numbers the decimals, of µops the names of ports."""

    title: str
    kind: CellKind = CellKind.TEXT
    decimals: int = 2
    ports: tuple[str, ...] = ()


@dataclass(frozen=True)
class PublishedTable:
    """`key` is its anchor and the name of its CSV; rows have a value per column, the first names the row."""

    key: str
    title: str
    columns: tuple[PublishedColumn, ...]
    rows: tuple[tuple[Value, ...], ...]
    note: str = ""


@dataclass(frozen=True)
class PublishedPicture:
    """A drawing under a heading; `key` is its anchor and file name. `alone`: it has the width of the page."""

    key: str
    title: str
    drawing: SvgDrawing
    note: str = ""
    alone: bool = True


@dataclass(frozen=True)
class PublishedFact:
    """A number of the head: what it is, the number as text, and what it rests on."""

    label: str
    text: str
    note: str = ""


@dataclass(frozen=True)
class PublishedPage:
    """Everything about one thing, for its page, its files and its card.

    `documents`: {file name: text} beside the tables' CSV. `usage`: {scheme: (µops, cycles)} on `ports`, by
    which a gallery puts cores side by side.
    """

    kind: PublishedKind
    title: str
    subtitle: str
    facts: tuple[PublishedFact, ...] = ()
    sections: tuple[PublishedTable | PublishedPicture, ...] = ()
    credits: tuple[str, ...] = ()
    text: str = ""
    documents: Mapping[str, str] = field(default_factory=dict)
    ports: tuple[str, ...] = ()
    usage: Mapping[str, tuple[Uops, float]] = field(default_factory=dict)

    @property
    def summary(self) -> str:
        """The facts in a line."""
        return " · ".join(f"{fact.text} {fact.label}" for fact in self.facts)


@dataclass(frozen=True)
class PrivateWords:
    """Names that stay here: {name: what is published in its place}, and what looks like a token."""

    names: Mapping[str, str]

    def removed_from(self, text: str) -> str:
        """The text without them; what stands in the place of one is not looked through again."""
        if self._pattern is not None:
            text = self._pattern.sub(lambda found: self.names[found.group()], text)
        return _TOKEN.sub("…", text)

    @cached_property
    def _pattern(self) -> re.Pattern[str] | None:
        """Any of them as a whole word, the longest first; None where there is none."""
        names = sorted(filter(str.strip, self.names), key=len, reverse=True)
        return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, names))})(?!\w)") if names else None


_TOKEN = re.compile(r"\bpmweb[a-z]*_[A-Za-z0-9_-]{16,}")


def cleaned(page: PublishedPage, private: PrivateWords) -> PublishedPage:
    """The page with no private word in any text that people here have written: names, notes, sources.

    What instructions are called stays, whatever somebody has called a machine.
    """
    clean = private.removed_from
    return replace(
        page,
        title=clean(page.title),
        subtitle=clean(page.subtitle),
        facts=tuple(PublishedFact(clean(f.label), clean(f.text), clean(f.note)) for f in page.facts),
        sections=tuple(_cleaned(section, private) for section in page.sections),
        credits=tuple(map(clean, page.credits)),
    )


def _cleaned(
    section: PublishedTable | PublishedPicture, private: PrivateWords
) -> PublishedTable | PublishedPicture:
    clean = private.removed_from
    named = replace(section, title=clean(section.title), note=clean(section.note))
    if isinstance(named, PublishedPicture):
        return named
    columns = tuple(replace(column, title=clean(column.title)) for column in named.columns)
    written = [place for place, column in enumerate(columns) if column.kind is CellKind.TEXT]
    rows = tuple(_with_clean_cells(row, written, private) for row in named.rows)
    return replace(named, columns=columns, rows=rows)


def _with_clean_cells(
    row: tuple[Value, ...], places: Sequence[int], private: PrivateWords
) -> tuple[Value, ...]:
    if not places:
        return row
    cells = list(row)
    for place in places:
        if isinstance(value := cells[place], str):
            cells[place] = private.removed_from(value)
    return tuple(cells)

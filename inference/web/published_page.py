"""Content of a published page as plain values: facts, tables, pictures; `publishing` makes HTML of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property

from inference.core.mapping import Uops
from inference.figures.svg import SvgDrawing

Value = str | int | float | Uops | None
"""Content of a cell; None is unknown."""


class PublishedKind(StrEnum):
    MAPPING = "mapping"
    CORE = "core"
    COMPARISON = "comparison"
    CAMPAIGN = "campaign"
    LOOP = "loop"


class CellKind(StrEnum):
    """Display and sort order of a column's cells."""

    TEXT = "text"
    CODE = "code"
    NUMBER = "number"
    UOPS = "uops"
    CHOICE = "choice"
    """One of few texts, which the page offers as a filter."""


class ProperName(str):
    """A column's title that begins with the name of something, which pages do not capitalise."""


@dataclass(frozen=True)
class PublishedColumn:
    """A column of a table; `decimals` is for numbers, `ports` are port names for µops."""

    title: str
    kind: CellKind = CellKind.TEXT
    decimals: int = 2
    ports: tuple[str, ...] = ()


@dataclass(frozen=True)
class PublishedTable:
    """A table; `key` is its anchor and the name of its CSV file. The first value of a row names the row."""

    key: str
    title: str
    columns: tuple[PublishedColumn, ...]
    rows: tuple[tuple[Value, ...], ...]
    note: str = ""


@dataclass(frozen=True)
class PublishedPicture:
    """A drawing; `key` is its anchor and file name. With `alone` it has the width of the page."""

    key: str
    title: str
    drawing: SvgDrawing
    note: str = ""
    alone: bool = True


@dataclass(frozen=True)
class PublishedFact:
    """A number in the page's head, with its label and its basis."""

    label: str
    text: str
    note: str = ""


@dataclass(frozen=True)
class PublishedPage:
    """A published result: content of its page, files and card.

    `documents` are {file name: text} besides the tables' CSV files. `usage` is {scheme: (µops, cycles)} on
    `ports`, by which a gallery compares cores.
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
        return " · ".join(f"{fact.text} {fact.label}" for fact in self.facts)


@dataclass(frozen=True)
class PrivateWords:
    """{private name: published replacement}; texts that look like tokens are private, too."""

    names: Mapping[str, str]

    def removed_from(self, text: str) -> str:
        """The text with replacements; these are not searched again."""
        if self._pattern is not None:
            text = self._pattern.sub(lambda match: self.names[match.group()], text)
        return _TOKEN.sub("…", text)

    @cached_property
    def _pattern(self) -> re.Pattern[str] | None:
        """Matches the names as whole words, longest first; None without names."""
        names = sorted(filter(str.strip, self.names), key=len, reverse=True)
        return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, names))})(?!\w)") if names else None


_TOKEN = re.compile(r"\bpmweb[a-z]*_[A-Za-z0-9_-]{16,}")


def without_private_words(page: PublishedPage, private: PrivateWords) -> PublishedPage:
    """The page without private words in texts that users wrote: names, notes, sources.

    Names of instructions stay, even if a machine has such a name.
    """
    clean = private.removed_from
    return replace(
        page,
        title=clean(page.title),
        subtitle=clean(page.subtitle),
        facts=tuple(PublishedFact(clean(f.label), clean(f.text), clean(f.note)) for f in page.facts),
        sections=tuple(_clean_section(section, private) for section in page.sections),
        credits=tuple(map(clean, page.credits)),
    )


def _clean_section(
    section: PublishedTable | PublishedPicture, private: PrivateWords
) -> PublishedTable | PublishedPicture:
    clean = private.removed_from
    cleaned = replace(section, title=clean(section.title), note=clean(section.note))
    if isinstance(cleaned, PublishedPicture):
        return cleaned
    columns = tuple(replace(column, title=clean(column.title)) for column in cleaned.columns)
    text_columns = [place for place, column in enumerate(columns) if column.kind is CellKind.TEXT]
    rows = tuple(_with_clean_cells(row, text_columns, private) for row in cleaned.rows)
    return replace(cleaned, columns=columns, rows=rows)


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

"""Scheme names of a file that an instruction set does not know, and what they might have meant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Protocol

from inference.formats.document import Document, LoadEntry, UsageEntry, VerdictEntry
from inference.formats.problems import Problems, excerpt

FOREIGN = 5  # unknown names; when they are the most, the file is probably about another instruction set
NEAREST = 3
"""Known schemes that are offered for an unknown name."""


class Nearest(Protocol):
    """Finds known texts that resemble a name."""

    def nearest(self, name: str, n: int = 1) -> list[str]:
        """Up to n of them, the best first."""
        ...


@dataclass(frozen=True)
class UnknownName:
    """A name that no scheme has: where it occurs first and how often, and the schemes that come nearest."""

    name: str
    row: int
    column: str
    rows: int
    nearest: tuple[str, ...]


def unknown_names(
    document: Document, texts: Mapping[str, str | None], names: Nearest, problems: Problems
) -> tuple[tuple[UnknownName, ...], int]:
    """Notes one problem per unknown name, at its first place: those that are listed in full, and how many.

    `texts`: the schemes of the file's names, None for an unknown one.
    """
    if None not in texts.values():
        return (), 0
    mentions: dict[str, list[tuple[int, str]]] = {}
    for name, row, column in _places(document):
        if texts[name] is None:
            mentions.setdefault(name, []).append((row, column))
    if is_foreign(len(mentions), len(texts)):
        problems.add(
            f"{len(mentions)} of {len(texts)} scheme names are unknown",
            "choose the instruction set that the file is about, or import it as a new one",
        )
    found = []
    for name, places in mentions.items():
        row, column = min(places)
        if not problems.full:
            near = tuple(names.nearest(name, NEAREST))
            found.append(UnknownName(name, row, column, len(places), near))
        else:
            near = ()
        often = f" (in {len(places)} rows)" if len(places) > 1 else ""
        problems.add(
            f"unknown scheme {excerpt(name)}{often}",
            f"the nearest known one is {near[0]!r}" if near else "write a scheme of the instruction set",
            row=row,
            column=column,
        )
    return tuple(found), len(mentions)


def is_foreign(unknown: int, names: int) -> bool:
    """Whether a file with so many unknown names of all is probably about something else."""
    return unknown >= FOREIGN and unknown * 2 > names


def _places(document: Document) -> Iterable[tuple[str, int, str]]:
    """(scheme name, row, column) of every mention."""
    if not document.partial:
        for one in document.experiments:
            for name, _ in one.terms:
                yield name, one.row, one.column
        said: Iterable[UsageEntry | VerdictEntry | LoadEntry] = chain(
            document.usages, document.verdicts, document.loads
        )
        for entry in said:
            yield entry.scheme, entry.row, entry.column
    yield from document.refused

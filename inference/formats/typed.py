"""From what a user types to an experiment: `2*add GPR[64]:RW, GPR[64]:R; 1*imul …`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Protocol

from inference.core.experiment import Experiment
from inference.formats.document import Document, LoadEntry, UsageEntry, VerdictEntry
from inference.formats.experiment_csv import parse_terms
from inference.formats.problems import Problems, excerpt
from inference.models import ISA
from inference.storage.instruction_sets import vocabulary

# Scheme names of a file that an instruction set does not know, and what they might have meant.


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


@dataclass(frozen=True)
class Suggestion:
    """A name that no scheme has, a near one that exists, and the whole text with that one instead."""

    name: str
    nearest: str
    corrected: str


@dataclass(frozen=True)
class Typed:
    """An experiment, or what is wrong with the text."""

    experiment: Experiment | None = None
    problems: tuple[str, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()


def read_experiment(text: str, isa: ISA) -> Typed:
    """Resolve every name as an upload does; never raises for what the text says."""
    problems = Problems()
    terms = parse_terms(text, problems, row=1)
    if terms is None:
        return Typed(problems=tuple(f"{entry.message}; {entry.right}" for entry in problems.listed))
    exact = set(isa.schemes.filter(text__in=[name for name, _ in terms]).values_list("text", flat=True))
    counts: dict[str, int] = {}
    unknown: list[str] = []
    suggestions: list[Suggestion] = []
    for name, count in terms:
        # The vocabulary is only made for names that are written otherwise: that takes a moment.
        scheme = name if name in exact else vocabulary(isa).resolve(name)
        if scheme is None:
            unknown.append(name)
            nearest = vocabulary(isa).nearest(name, 3)
            suggestions += [Suggestion(name, near, text.replace(name, near)) for near in nearest]
        else:
            counts[scheme] = counts.get(scheme, 0) + count
    if unknown:
        told = tuple(f"{isa.name} has no scheme {name!r}" for name in dict.fromkeys(unknown))
        return Typed(problems=told, suggestions=tuple(suggestions))
    return Typed(Experiment.of(counts))

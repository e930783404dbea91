"""From what a user types to an experiment: `2*add GPR[64]:RW, GPR[64]:R; 1*imul …`."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from inference.core.experiment import Experiment
from inference.formats.experiment_csv import parse_terms
from inference.formats.parsing import Names
from inference.formats.problems import FilePlace, Problems


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


def read_typed(text: str, isa: str, names_for: Callable[[Collection[str]], Names]) -> Typed:
    """Resolve every name as an upload does; never raises for what the text says.

    `isa`: what the instruction set is called; `names_for`: its schemes, for the names that the text has.
    """
    problems = Problems()
    terms = parse_terms(text, FilePlace(problems))
    if terms is None:
        return Typed(problems=tuple(f"{entry.message}; {entry.right}" for entry in problems.listed))
    names = names_for([name for name, _ in terms])
    counts: dict[str, int] = {}
    unknown: list[str] = []
    suggestions: list[Suggestion] = []
    for name, count in terms:
        scheme = names.resolve(name)
        if scheme is None:
            unknown.append(name)
            suggestions += [
                Suggestion(name, near, text.replace(name, near)) for near in names.nearest(name, 3)
            ]
        else:
            counts[scheme] = counts.get(scheme, 0) + count
    if unknown:
        told = tuple(f"{isa} has no scheme {name!r}" for name in dict.fromkeys(unknown))
        return Typed(problems=told, suggestions=tuple(suggestions))
    return Typed(Experiment.of(counts))

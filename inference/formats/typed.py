"""From what a user types to an experiment: `2*add GPR[64]:RW, GPR[64]:R; 1*imul …`."""

from __future__ import annotations

from dataclasses import dataclass

from inference.core.experiment import Experiment
from inference.formats.experiment_csv import parse_terms
from inference.formats.problems import Problems
from inference.models import ISA
from inference.storage.instruction_sets import vocabulary


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

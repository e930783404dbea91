"""How much a measuring run measures, and experiments that it is given one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from inference.core.experiment import Experiment, Measured
from inference.core.measured_slots import PADDINGS
from inference.core.protocols import Json, Measurer
from inference.formats.experiment_csv import parse_terms
from inference.formats.problems import FilePlace, Problems
from inference.models import ISA, Machine
from inference.runs.errors import ConfigError
from inference.runs.machines.facts import seconds_for
from inference.storage.instruction_sets import read_experiment
from inference.storage.rows import scheme_ids

MOST_LISTED = 1000
"""Experiments in one list: far more than the witnesses of a scheme are made of."""

MOST_LENGTH = 1500
"""Instructions in one of them: the longest flood of explainable inference, with room to spare."""

MOST_REPEATS = 600
"""Measurements of each: as many samples as explainable inference takes."""


LISTED = "listed"
"""The plan of a measuring run that is told its experiments."""


def listed_config(machine: int, experiments: Iterable[Experiment], repeats: int) -> Json:
    """The description of a run that measures each of these experiments so often on a machine."""
    return {
        "machine": machine,
        "plan": LISTED,
        "experiments": list(dict.fromkeys(map(str, experiments))),
        "repeats": min(MOST_REPEATS, max(1, repeats)),
    }


def read_listed(isa: ISA, given: Any) -> list[str]:
    """The experiments in the scheme texts of the instruction set, each once. Raises `ConfigError`."""
    if not isinstance(given, list) or not all(isinstance(text, str) for text in given):
        raise ConfigError("experiments must be a list of texts like '2*add GPR[64]:RW, GPR[64]:R; imul …'")
    if not 1 <= len(given) <= MOST_LISTED:
        raise ConfigError(f"experiments must be a list of 1 to {MOST_LISTED:,}, not {len(given):,}")
    found = dict.fromkeys(_read(isa, text) for text in dict.fromkeys(given))
    return [str(experiment) for experiment in found]


def _read(isa: ISA, text: str) -> Experiment:
    typed = read_experiment(text, isa)
    if typed.experiment is None:
        nearest = [each.nearest for each in typed.suggestions]
        hint = f"; the nearest: {'; '.join(nearest)}" if nearest else ""
        raise ConfigError(f"experiments: {'; '.join(typed.problems)}{hint}")
    if typed.experiment.length > MOST_LENGTH:
        told = f"{str(typed.experiment)[:80]!r} has {typed.experiment.length:,}"
        raise ConfigError(f"experiments: at most {MOST_LENGTH:,} instructions in one, {told}")
    return typed.experiment


def listed_experiments(texts: Sequence[str]) -> list[Experiment]:
    """What `read_listed` wrote, as values."""
    found = []
    for text in texts:
        terms = parse_terms(text, FilePlace(Problems()))
        assert terms is not None, "it was read before"
        found.append(Experiment.of(dict(terms)))
    return found


def ids_of_schemes(isa: ISA, texts: Sequence[str]) -> list[int]:
    """The rows of the schemes that occur in the experiments, ascending."""
    ids = scheme_ids(isa)
    return sorted({ids[scheme] for each in listed_experiments(texts) for scheme in each.schemes})


class Turns:
    """A measurer that measures anew whenever it is asked: the n-th answers come from the n-th repetition."""

    def __init__(self, again: Callable[[int], Measurer]) -> None:
        self._again = again
        self._turn = 0

    @property
    def identity(self) -> Json:
        """That of the first repetition."""
        return self._again(0).identity

    def offers(self) -> Sequence[Experiment] | None:
        """Those of the first repetition."""
        return self._again(0).offers()

    def measure(self, experiments: Iterable[Experiment]) -> Iterator[Measured]:
        """One result per experiment, in order."""
        measurer = self._again(self._turn)
        self._turn += 1
        return measurer.measure(experiments)


DEFAULT_MIXES = 1000


@dataclass(frozen=True)
class Effort:
    """`experiments` to measure, about, and how many seconds that takes."""

    experiments: int
    seconds: float


def effort(machine: Machine, schemes: int, wanted: str, given: int = DEFAULT_MIXES) -> Effort:
    """What a plan over so many schemes will take on a machine, a 1:n experiment for two pairs in three.

    `given`: how many mixes, or measurements of listed experiments.
    """
    pairs = schemes * (schemes - 1) // 2
    experiments = {
        "singletons": schemes,
        "pairs": schemes + pairs + 2 * pairs // 3,
        "mixes": given if schemes else 0,
        "slots": (1 + PADDINGS) * schemes,
        LISTED: given if schemes else 0,
    }[wanted]
    return Effort(experiments, seconds_for(experiments, machine))

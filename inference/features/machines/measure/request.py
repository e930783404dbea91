"""The effort of measuring runs, and their listed experiments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from inference.core.experiment import Experiment, Measured
from inference.core.measured_slots import MAX_PADDED
from inference.core.protocols import Json, Measurer
from inference.formats.experiment_csv import parse_terms
from inference.formats.problems import FilePlace, Problems
from inference.models import ISA, Machine
from inference.runs.errors import ConfigError
from inference.runs.machines.facts import estimated_seconds
from inference.storage.instruction_sets import read_experiment
from inference.storage.rows import scheme_ids

MAX_LISTED = 1000
"""Experiments in one list; the witnesses of a scheme have far fewer."""

MAX_LENGTH = 1500
"""Instructions in a listed experiment; longer than the longest of explainable inference."""

MAX_REPEATS = 600
"""Measurements of each listed experiment; the samples of explainable inference."""


LISTED = "listed"
"""The plan of a measuring run with listed experiments."""


def listed_config(machine: int, experiments: Iterable[Experiment], repeats: int) -> Json:
    """The description of a run that measures each experiment `repeats` times; `machine`: row id."""
    return {
        "machine": machine,
        "plan": LISTED,
        "experiments": list(dict.fromkeys(map(str, experiments))),
        "repeats": min(MAX_REPEATS, max(1, repeats)),
    }


def read_listed(isa: ISA, texts: Any) -> list[str]:
    """The experiments with the scheme texts of the instruction set, each once. Raises `ConfigError`."""
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ConfigError("experiments must be a list of texts like '2*add GPR[64]:RW, GPR[64]:R; imul …'")
    if not 1 <= len(texts) <= MAX_LISTED:
        raise ConfigError(f"experiments must be a list of 1 to {MAX_LISTED:,}, not {len(texts):,}")
    experiments = dict.fromkeys(_read(isa, text) for text in dict.fromkeys(texts))
    return [str(experiment) for experiment in experiments]


def _read(isa: ISA, text: str) -> Experiment:
    typed = read_experiment(text, isa)
    if typed.experiment is None:
        nearest = [suggestion.nearest for suggestion in typed.suggestions]
        hint = f"; the nearest: {'; '.join(nearest)}" if nearest else ""
        raise ConfigError(f"experiments: {'; '.join(typed.problems)}{hint}")
    if typed.experiment.length > MAX_LENGTH:
        actual = f"{str(typed.experiment)[:80]!r} has {typed.experiment.length:,}"
        raise ConfigError(f"experiments: at most {MAX_LENGTH:,} instructions in one, {actual}")
    return typed.experiment


def listed_experiments(texts: Sequence[str]) -> list[Experiment]:
    """The experiments of texts that `read_listed` returned."""
    experiments = []
    for text in texts:
        terms = parse_terms(text, FilePlace(Problems()))
        assert terms is not None, "`read_listed` has checked it"
        experiments.append(Experiment.of(dict(terms)))
    return experiments


def ids_of_schemes(isa: ISA, texts: Sequence[str]) -> list[int]:
    """The row ids of the schemes in the experiments, ascending."""
    ids = scheme_ids(isa)
    return sorted({ids[scheme] for experiment in listed_experiments(texts) for scheme in experiment.schemes})


class RepeatingMeasurements:
    """A measurer whose n-th call of `measure` uses the n-th repetition, so that nothing is cached."""

    def __init__(self, again: Callable[[int], Measurer]) -> None:
        self._again = again
        self._turn = 0

    @property
    def identity(self) -> Json:
        return self._again(0).identity

    def offers(self) -> Sequence[Experiment] | None:
        return self._again(0).offers()

    def measure(self, experiments: Iterable[Experiment]) -> Iterator[Measured]:
        measurer = self._again(self._turn)
        self._turn += 1
        return measurer.measure(experiments)


DEFAULT_MIXES = 1000


@dataclass(frozen=True)
class Effort:
    """Approximate number of `experiments` to measure, and the seconds for them."""

    experiments: int
    seconds: float


def estimate_effort(machine: Machine, schemes: int, plan: str, count: int = DEFAULT_MIXES) -> Effort:
    """Estimate the effort of a plan over `schemes` schemes, with 1:n experiments for two of three pairs.

    `count`: number of mixes, or of measurements of listed experiments.
    """
    pairs = schemes * (schemes - 1) // 2
    experiments = {
        "singletons": schemes,
        "pairs": schemes + pairs + 2 * pairs // 3,
        "mixes": count if schemes else 0,
        "slots": (1 + MAX_PADDED) * schemes,
        LISTED: count if schemes else 0,
    }[plan]
    return Effort(experiments, estimated_seconds(experiments, machine))

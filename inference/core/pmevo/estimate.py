"""Estimates of how long a run of PMEvo takes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from inference.core.pmevo.settings import PMEvoSettings

_PER_SET = 0.06e-9
"""Seconds per port set, scheme and experiment of an evaluation, on one thread."""

_MAX_PORTS = 12
"""With more ports, unions of occurring port sets are evaluated instead of all sets."""

_PER_EXPERIMENT = 60e-9  # seconds of an evaluation, whatever the number of ports

_PER_TERM = 2.5e-4
"""Seconds per scheme and experiment of a sweep of the re-fit, which tries some 500 port sets."""

_SPEED_UP = 0.9  # exponent of the number of threads: two are about 1.9 times as fast as one
_SCHEMES_PER_EXPERIMENT = 3  # that its loop body consists of, on average

_CLASSES = 5.0
"""Classes of n schemes that behave alike, as a multiple of √n: of some 300 schemes, the thesis (§5.3) found
31 to 47 % to differ from all others; whole families of instructions are more alike."""

_TIMES_ALONE = 16  # distinguishable times, each with a representative that every scheme is measured with
_WITH_MULTIPLE = 5 / 3  # experiments per pair: two in three have a 1:n experiment besides the 1:1


@dataclass(frozen=True)
class Estimate:
    """Number of experiments, and seconds of measuring (0 for recorded data) and of computing."""

    experiments: int
    measuring_seconds: float
    computing_seconds: float

    @property
    def seconds(self) -> float:
        return self.measuring_seconds + self.computing_seconds


def estimate(
    schemes: int,
    settings: PMEvoSettings,
    *,
    recorded: int | None = None,
    seconds_per_experiment: float = 0.0,
    processors: int = 1,
) -> Estimate:
    """Estimate a run within a factor of about two, assuming that evolution and re-fit reach their limits.

    Args:
        schemes: Number of schemes.
        settings: Settings of the run.
        recorded: Number of recorded experiments; None where one of PMEvo's plans is measured.
        seconds_per_experiment: Seconds per experiment of the measurer.
        processors: Used where the settings do not name a number of threads.
    """
    experiments = planned_experiments(schemes, settings) if recorded is None else recorded
    threads = settings.threads or processors
    if recorded is None:
        classes = estimated_classes(schemes)
        learnt = round(_WITH_MULTIPLE * classes**2 / 2)
    else:
        learnt = recorded
    computing = 0.0
    if settings.search != "refit":
        computing += _evolution_seconds(settings, learnt) / threads**_SPEED_UP
    if settings.search != "evolution":
        computing += _refit_seconds(settings, learnt) / min(settings.starts, threads) ** _SPEED_UP
    return Estimate(
        experiments=experiments,
        measuring_seconds=experiments * seconds_per_experiment if recorded is None else 0.0,
        computing_seconds=computing,
    )


def _evolution_seconds(settings: PMEvoSettings, learnt: int) -> float:
    """Estimated seconds on one thread, assuming that the evolution runs to its last generation."""
    sets = 2 ** min(settings.ports or _MAX_PORTS, _MAX_PORTS)
    seconds_per_experiment = _PER_EXPERIMENT + _SCHEMES_PER_EXPERIMENT * sets * _PER_SET
    return float(settings.population * (settings.max_generations + 1) * learnt * seconds_per_experiment)


def _refit_seconds(settings: PMEvoSettings, learnt: int) -> float:
    """Estimated seconds on one thread, assuming that every re-fit goes through all its rounds."""
    sweeps = settings.sweeps + settings.rounds
    return float(settings.starts * sweeps * _SCHEMES_PER_EXPERIMENT * learnt * _PER_TERM)


def planned_experiments(schemes: int, settings: PMEvoSettings) -> int:
    """Estimated number of experiments of the settings' plan, mixes included.

    The adaptive plan depends on the number of classes, which is guessed: 43 for 75 schemes, 87 for 300, 224
    for 2,000. Every scheme is measured with a representative of each time alone, every representative with
    all others, and one other member of each class with all representatives.

    Example:
        >>> planned_experiments(100, PMEvoSettings(plan="exhaustive"))
        8350
    """
    classes = estimated_classes(schemes)
    pairs = schemes * (schemes - 1) / 2
    if settings.plan == "adaptive":
        alone = min(_TIMES_ALONE, classes)
        members = min(classes, schemes - classes)
        pairs = min(pairs, schemes * alone + classes**2 / 2 + members * classes)
    pair_experiments = round(_WITH_MULTIPLE * pairs)
    if settings.plan == "adaptive" and settings.most_experiments is not None:
        pair_experiments = min(pair_experiments, settings.most_experiments)
    return schemes + pair_experiments + round(settings.learnt_mixes * classes)


def estimated_classes(schemes: int) -> int:
    """Estimated number of congruence classes of so many schemes."""
    return min(schemes, round(_CLASSES * math.sqrt(schemes)))

"""What a run of PMEvo will take, told before it starts."""

from __future__ import annotations

import math
from dataclasses import dataclass

from inference.core.pmevo.settings import PMEvoSettings

_PER_SET = 0.06e-9
"""Seconds to add and compare one port set of one scheme of one experiment, on one thread."""

_MOST_PORTS = 12
"""Beyond these, unions of occurring port sets are quicker to look at than all sets."""

_PER_EXPERIMENT = 60e-9
_PER_TERM = 2.5e-4
"""Seconds that a round of the re-fit takes per scheme of each experiment: it tries some 500 port sets."""

_SPEED_UP = 0.9  # two threads are about 1.9 times as fast as one
_SCHEMES_PER_EXPERIMENT = 3

_CLASSES = 5.0
"""Classes of n schemes that behave alike, as a multiple of √n: of some 300 schemes, the thesis (§5.3) found
31 to 47 % to differ from all others; whole families of instructions are more alike."""

_TIMES_ALONE = 16  # that are told apart, and so representatives that every scheme is measured with
_WITH_MULTIPLE = 5 / 3  # experiments per pair: two in three have a 1:n experiment beside the 1:1


@dataclass(frozen=True)
class Estimate:
    """`experiments` to measure, and the seconds of measuring and of computing."""

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
    """Within a factor of about two, as if evolution and re-fit went to their limits.

    `recorded`: the number of recorded experiments, None where one of PMEvo's own plans is measured, see
    `planned`. `seconds_per_experiment`: the measurer's pace. `processors`: those that the run may use, unless
    the settings name threads.
    """
    experiments = planned(schemes, settings) if recorded is None else recorded
    threads = settings.threads or processors
    if recorded is None:
        classes = guessed_classes(schemes)
        learnt = round(_WITH_MULTIPLE * classes**2 / 2)
    else:
        learnt = recorded
    computing = 0.0
    if settings.search != "refit":
        computing += _evolving(settings, learnt) / threads**_SPEED_UP
    if settings.search != "evolution":
        computing += _refitting(settings, learnt) / min(settings.starts, threads) ** _SPEED_UP
    return Estimate(
        experiments=experiments,
        measuring_seconds=experiments * seconds_per_experiment if recorded is None else 0.0,
        computing_seconds=computing,
    )


def _evolving(settings: PMEvoSettings, learnt: int) -> float:
    sets = 2 ** min(settings.ports or _MOST_PORTS, _MOST_PORTS)
    each = _PER_EXPERIMENT + _SCHEMES_PER_EXPERIMENT * sets * _PER_SET
    return float(settings.population * (settings.max_generations + 1) * learnt * each)


def _refitting(settings: PMEvoSettings, learnt: int) -> float:
    """Seconds on one thread, as if no re-fit lost its patience."""
    sweeps = settings.sweeps + settings.rounds
    return float(settings.starts * sweeps * _SCHEMES_PER_EXPERIMENT * learnt * _PER_TERM)


def planned(schemes: int, settings: PMEvoSettings) -> int:
    """About how many experiments the plan has that the settings name, mixes included.

    The adaptive plan depends on how many classes there are, which is guessed: 43 of 75 schemes, 87 of 300,
    224 of 2,000. Every scheme is measured with a representative of each time alone, every representative with
    all others, and one member of each class with all representatives as well, where a class has one.
    """
    classes = guessed_classes(schemes)
    pairs = schemes * (schemes - 1) / 2
    if settings.plan == "adaptive":
        alone = min(_TIMES_ALONE, classes)
        members = min(classes, schemes - classes)
        pairs = min(pairs, schemes * alone + classes**2 / 2 + members * classes)
    asked = round(_WITH_MULTIPLE * pairs)
    if settings.plan == "adaptive" and settings.most_experiments is not None:
        asked = min(asked, settings.most_experiments)
    return schemes + asked + round(settings.learnt_mixes * classes)


def guessed_classes(schemes: int) -> int:
    """How many classes so many schemes may turn out to have."""
    return min(schemes, round(_CLASSES * math.sqrt(schemes)))

"""What a run of PMEvo will take, told before it starts."""

from __future__ import annotations

from dataclasses import dataclass

from inference.core.pmevo.settings import PMEvoSettings

_PER_SET = 0.06e-9
"""Seconds to add and compare one port set of one scheme of one experiment, on one thread."""

_MOST_PORTS = 12
"""Beyond these, unions of occurring port sets are quicker to look at than all sets."""

_PER_EXPERIMENT = 60e-9
_SPEED_UP = 0.9  # two threads are about 1.9 times as fast as one
_SCHEMES_PER_EXPERIMENT = 3


@dataclass(frozen=True)
class Estimate:
    """`experiments` to measure, and the seconds of measuring and of computing."""

    experiments: int
    measuring_seconds: float
    computing_seconds: float

    @property
    def seconds(self) -> float:
        """Both together."""
        return self.measuring_seconds + self.computing_seconds


def estimate(
    schemes: int,
    settings: PMEvoSettings,
    *,
    recorded: int | None = None,
    seconds_per_experiment: float = 0.0,
    processors: int = 1,
) -> Estimate:
    """Within a factor of about two, as if the evolution ran to its limit: with hundreds of schemes it does.

    `recorded`: the number of recorded experiments, None where PMEvo's own plan is measured, which is counted
    with a 1:n experiment for two pairs in three. `seconds_per_experiment`: the measurer's pace.
    `processors`: those that the run may use, unless the settings name threads.
    """
    pairs = schemes * (schemes - 1) // 2
    experiments = schemes + pairs + 2 * pairs // 3 if recorded is None else recorded
    sets = 2 ** min(settings.ports, _MOST_PORTS)
    each = _PER_EXPERIMENT + _SCHEMES_PER_EXPERIMENT * sets * _PER_SET
    mappings = settings.population * (settings.max_generations + 1)
    threads = settings.threads or processors
    return Estimate(
        experiments=experiments,
        measuring_seconds=experiments * seconds_per_experiment if recorded is None else 0.0,
        computing_seconds=mappings * experiments * each / threads**_SPEED_UP,
    )

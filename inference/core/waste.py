"""The time that a scheduler wastes beyond ports and slots, simulated for a mapping outside of a search.

A scheduler binds µops to ports before it knows which µops follow, so experiments take longer than any mapping
with the right ports predicts. A search that takes such times literally explains them by µops that do not
exist. Simulating costs hundreds of times what a linear program does, so a search does not simulate: between
two searches each measurement is divided by its waste under the current mapping, and the next search learns
from these corrected times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Protocol

import numpy as np

from inference.core.evaluator import PortMappingModel
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping, ports_in
from inference.core.tables import ExperimentTable, Floats

Simulated = Callable[[PortMapping, Experiment], float | None]
"""Cycles per execution of an experiment with the core's scheduler under a mapping; None where it cannot be
simulated, or ports do not limit it.
"""

MAX_POLICIES = 100
"""That a search simulates under one mapping: what takes one to four seconds of one core."""


@dataclass(frozen=True)
class SchedulerFit:
    """A scheduler under a mapping.

    Args:
        simulated: None where no scheduler explains more than ports and slots do.
        error: Root mean square of the relative errors, with the scheduler or without any, on the experiments
            that show schedulers.
    """

    simulated: Simulated | None
    error: float


def few_policies(goes_on: Callable[[], bool]) -> Callable[[], bool]:
    """A condition that holds `MAX_POLICIES` times, as long as `goes_on` does.

    A count rather than a time: a time would make results depend on the load of the computer.
    """
    policies_left = iter(range(MAX_POLICIES))
    return lambda: goes_on() and next(policies_left, None) is not None


class WasteSource(Protocol):
    """Knowledge about a core beside its ports."""

    @property
    def width(self) -> int | None:
        """Slots that it dispatches per cycle, as measured; None where they were not."""
        ...

    @property
    def mapping(self) -> PortMapping | None:
        """The ports under which the core's scheduler is known; None where it has to be inferred."""
        ...

    def with_chains(self) -> WasteSource:
        """The same core; experiments that chains through registers limit are simulated as well.

        A simulated scheduler with chains fits several mappings. A search that measures further experiments
        can distinguish them; one that has to use existing measurements could take a chain for a µop.
        """
        ...

    def least_cycles(
        self, measured: Mapping[Experiment, float], *, pulse: Callable[[], None] = lambda: None
    ) -> Mapping[Experiment, float]:
        """{experiment: cycles that its code takes on any ports}, for the experiments where that is known.

        Args:
            measured: {experiment: cycles}; the bound of one experiment may rest on others.
            pulse: Called once for each.
        """
        ...

    def experiments(self, mapping: PortMapping) -> Sequence[Experiment]:
        """Experiments that distinguish schedulers under a mapping; empty where none do."""
        ...

    def fit(
        self, mapping: PortMapping, measured: Mapping[Experiment, float], pulse: Callable[[], bool]
    ) -> SchedulerFit:
        """Infer a scheduler under a mapping.

        Args:
            mapping: The core's ports.
            measured: {experiment: cycles}.
            pulse: Called between simulations; False ends the search with the best policy so
                far.

        Returns:
            The simulator of `simulator`, and the relative error of its times.
        """
        ...

    def simulator(
        self, mapping: PortMapping, measured: Mapping[Experiment, float], pulse: Callable[[], bool]
    ) -> Simulated | None:
        """The core's scheduler, inferred under a mapping where it is not known yet.

        Args:
            mapping: The current ports.
            measured: {experiment: cycles}.
            pulse: Called between simulations; False ends an inference with the best result so far.

        Returns:
            None where no scheduler explains more than ports and slots do.
        """
        ...


def known_simulator(source: WasteSource) -> Simulated | None:
    """The scheduler of a core where it is known beforehand; None where it has to be inferred."""
    return None if source.mapping is None else source.simulator(source.mapping, {}, lambda: True)


def disjoint_units(port_sets: Sequence[int]) -> Iterator[tuple[int, int]]:
    """For two units that share ports within a third with room for both: one of them moved off the other.

    Where schedulers waste, units that bind µops to ports in vain look as if they shared some of these: three
    multiplications and three shifts on six ports take as long as on five. Only with the scheduler's waste can
    both mappings be compared, so each is a candidate of its own.

    Args:
        port_sets: Port sets as masks, each once. Of two units the later one moves, into the first third
            one.

    Yields:
        (port set, the one in its place).
    """
    for fixed, moved in combinations(port_sets, 2):
        shared = fixed & moved
        if not shared or shared in (fixed, moved):
            continue
        around = [wide for wide in port_sets if wide not in (fixed, moved) and not (fixed | moved) & ~wide]
        free = [port for wide in around[:1] for port in ports_in(wide & ~(fixed | moved))]
        if len(free) >= shared.bit_count():
            yield moved, moved & ~shared | sum(1 << port for port in free[: shared.bit_count()])


@dataclass(frozen=True)
class WastefulTimes:
    """Experiments on a core whose scheduler wastes time.

    Args:
        experiments: Experiments in the order of the arrays.
        measured: Cycles.
        bounds: Cycles that ports and slots of the mapping allow.
        predicted: Cycles with the scheduler's waste; `bounds` where it was not simulated.
    """

    experiments: tuple[Experiment, ...]
    measured: Floats
    bounds: Floats
    predicted: Floats

    @property
    def corrected(self) -> dict[Experiment, float]:
        """{experiment: cycles without its waste}: measured × bound / predicted."""
        cycles = self.measured * self.bounds / self.predicted
        return dict(zip(self.experiments, cycles.tolist(), strict=True))

    @property
    def error(self) -> float:
        """Mean relative error of the predictions, as a share."""
        return float(np.mean(np.abs(self.predicted / self.measured - 1)))

    @property
    def error_of_bounds(self) -> float:
        """Mean relative error of ports and slots alone, as a share."""
        return float(np.mean(np.abs(self.bounds / self.measured - 1)))


def wasteful_times(
    measured: Mapping[Experiment, float],
    mapping: PortMapping,
    simulated: Simulated | None,
    lower_bounds: Mapping[Experiment, float] | None = None,
    pulse: Callable[[], None] = lambda: None,
) -> WastefulTimes:
    """Measured experiments with the predictions of a mapping and of a scheduler.

    Args:
        measured: {experiment: cycles} of schemes that the mapping describes.
        mapping: Ports and slots.
        simulated: None without a scheduler.
        lower_bounds: {experiment: cycles that it takes on any ports}, from `WasteSource.least_cycles`.
        pulse: Called between experiments.
    """
    experiments = tuple(measured)
    schemes = sorted({scheme for experiment in experiments for scheme in experiment.schemes})
    table = ExperimentTable.from_experiments(experiments, schemes)
    ports = PortMappingModel(mapping).cycles(table)
    floor = np.array([(lower_bounds or {}).get(experiment, 0.0) for experiment in experiments])
    bounds = np.maximum(ports, floor)
    predicted = bounds.copy()
    for place, experiment in enumerate(experiments if simulated is not None else ()):
        pulse()
        assert simulated is not None
        cycles = simulated(mapping, experiment)
        if cycles is not None:
            predicted[place] = max(cycles, bounds[place])
    return WastefulTimes(experiments, np.array([*measured.values()]), bounds, predicted)

"""Snapshots of a search: its best mapping, compared with measurements that it does not learn from."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from inference.core.evaluator import Evaluator
from inference.core.experiment import Experiment, Measured
from inference.core.mapping import PortMapping
from inference.core.pacing import PROGRESS_INTERVAL, PacedReporter
from inference.core.pmevo.events import Snapshot
from inference.core.pmevo.fitness import FitnessGate
from inference.core.tables import ExperimentTable, Population


class Snapshots:
    """Emits snapshots of the fittest mapping, on held-out results or, without any, on those learnt from."""

    def __init__(
        self, classes: Sequence[Sequence[str]], judge: FitnessGate, test_results: Sequence[Measured]
    ) -> None:
        self.classes = classes
        self._settings = judge.settings
        self._pace: PacedReporter = judge.pace
        schemes = {scheme for members in classes for scheme in members}
        test_cycles: dict[Experiment, float] = {
            result.experiment: result.cycles
            for result in test_results
            if result.usable and result.cycles is not None and schemes.issuperset(result.experiment.schemes)
        }
        self._on = "held-out" if test_cycles else "training"
        table = ExperimentTable.from_experiments(test_cycles, sorted(schemes)) if test_cycles else judge.table
        self._measured = np.array(list(test_cycles.values())) if test_cycles else judge.measured
        self._table = table

    def mapping(
        self, population: Population, index: int, issue_width: float | None = None, slots: Sequence[int] = ()
    ) -> PortMapping:
        """One mapping of a population over the representatives, as a mapping of all schemes.

        `slots`: issue slots of each representative; empty without an issue width.
        """
        members = [(scheme, k) for k, scheme_class in enumerate(self.classes) for scheme in scheme_class]
        usage = {scheme: population.row(index, k) for scheme, k in sorted(members)}
        ports = tuple(str(k) for k in range(population.n_ports))
        slots_by_scheme = {scheme: slots[k] for scheme, k in members} if slots else {}
        return PortMapping(ports, usage, self._settings.r_max, issue_width, slots_by_scheme)

    def show(self, mapping: Callable[[], PortMapping], *, now: bool = False) -> None:
        """Emit a snapshot of a mapping, at most every two seconds unless `now`."""
        if not (self._pace.due("snapshot", PROGRESS_INTERVAL) or now):
            return
        current = mapping()
        cycles = Evaluator(self._table, len(current.ports)).mapping_cycles(current)
        self._pace.emit(Snapshot(current, self._measured, cycles, self._table, self._on))

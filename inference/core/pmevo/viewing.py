"""What a search shows of itself on the way: its best mapping against measurements it does not learn from."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from inference.core.evaluator import Evaluator
from inference.core.experiment import Experiment, Measured
from inference.core.mapping import PortMapping
from inference.core.pacing import SHOW_EVERY, PacedReporter
from inference.core.pmevo.events import Snapshot
from inference.core.pmevo.fitness import FitnessGate
from inference.core.tables import ExperimentTable, Population


class Viewer:
    """Shows the fittest mapping: on held-out results, or where there are none on those learnt from."""

    def __init__(
        self, classes: Sequence[Sequence[str]], judge: FitnessGate, held_out_results: Sequence[Measured]
    ) -> None:
        self.classes = classes
        self._settings = judge.settings
        self._pace: PacedReporter = judge.pace
        known = {scheme for members in classes for scheme in members}
        held_out: dict[Experiment, float] = {
            result.experiment: result.cycles
            for result in held_out_results
            if result.usable and result.cycles is not None and known.issuperset(result.experiment.schemes)
        }
        self._on = "held-out" if held_out else "training"
        table = ExperimentTable.from_experiments(held_out, sorted(known)) if held_out else judge.table
        self._measured = np.array(list(held_out.values())) if held_out else judge.measured
        self._table = table

    def mapping(
        self,
        population: Population,
        index: int,
        issue_width: float | None = None,
        slots: Sequence[int] = (),
    ) -> PortMapping:
        """One of a population over the representatives as a mapping of all schemes.

        `slots`: of each representative, where there is an issue width.
        """
        members = [(scheme, k) for k, each in enumerate(self.classes) for scheme in each]
        usage = {scheme: population.row(index, k) for scheme, k in sorted(members)}
        ports = tuple(str(k) for k in range(population.n_ports))
        taken = {scheme: slots[k] for scheme, k in members} if slots else {}
        return PortMapping(ports, usage, self._settings.r_max, issue_width, taken)

    def show(self, mapping: Callable[[], PortMapping], *, now: bool = False) -> None:
        """Emit a snapshot of a mapping, at most every two seconds unless `now`."""
        if not (self._pace.due("snapshot", SHOW_EVERY) or now):
            return
        shown = mapping()
        cycles = Evaluator(self._table, len(shown.ports)).cycles_one(shown)
        self._pace.emit(Snapshot(shown, self._measured, cycles, self._table, self._on))

"""One mapping whose schemes are changed one at a time; only experiments in which they occur are evaluated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from inference.core.arrays import Floats, Int64s
from inference.core.errors import InvalidInputError
from inference.core.evaluator import Evaluator, checked_mass
from inference.core.loss import RELATIVE, Loss
from inference.core.mapping import Uops, check_uops
from inference.core.tables import MOST_COUNTED, Population
from inference.core.tunables import check_whole

if TYPE_CHECKING:
    from inference.core.kernels.layout import Rows


class LocalSearch:
    """A mapping with arrays of its own, with the cycles of every experiment and what its prediction counts.

    `error` is `Evaluator.mean_loss`, bit for bit; with the usual `loss` the mean relative error. Creating one
    loads numba.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        population: Population,
        measured: Floats,
        index: int = 0,
        loss: Loss = RELATIVE,
    ) -> None:
        from inference.core.populations import mixes_of  # loads numba

        evaluator.check(population)
        self._evaluator = evaluator
        self._measured = evaluator.checked(measured)
        self._loss = loss
        self._mixes = mixes_of(evaluator.table, evaluator.floor)
        self._longest = int(evaluator.table.lengths.max(initial=0))
        self._rows = [population.row(index, scheme) for scheme in range(population.n_schemes)]
        self._cycles = np.empty(len(evaluator.table))
        self._errors = np.zeros(len(evaluator.table), dtype=np.int64)
        self._total = 0
        self._room = -1  # kinds of µops per row
        for scheme, row in enumerate(self._rows):
            self._check(scheme, row)  # µops that a row has twice were added up
        self._make_room(max(self._rows, key=len, default=()))
        everything = np.arange(len(evaluator.table), dtype=np.int64)
        self._total = self._evaluate(everything, self._cycles, self._errors)

    @property
    def error(self) -> float:
        """Mean loss of the mapping as it stands."""
        return float(self._evaluator.mean_of(self._total))

    @property
    def cycles(self) -> Floats:
        """Cycles of all experiments under the mapping as it stands (a copy)."""
        return self._cycles.copy()

    def row(self, scheme: int) -> Uops:
        """The µops of a scheme as they stand."""
        return self._rows[scheme]

    def population(self) -> Population:
        """The mapping as it stands, as a population of one."""
        return Population.from_rows(self._rows, 1, self._evaluator.n_ports)

    def error_with(self, scheme: int, uops: Uops) -> float:
        """The error that the mapping would have if `scheme` had these µops; changes nothing.

        Raises `InvalidInputError` for a number that no scheme has, and for impossible µops.
        """
        self._check(scheme, uops)
        which = self._evaluator.table.containing(scheme)
        if not len(which):
            return self.error
        change = self._try(scheme, uops, which)[0]
        self._write(scheme, self._rows[scheme])
        return float(self._evaluator.mean_of(self._total + change))

    def replace(self, scheme: int, uops: Uops) -> float:
        """Give `scheme` these µops (sorted by port set, without repeats) for good; returns the new error.

        Raises what `error_with` raises, and then has changed nothing.
        """
        self._check(scheme, uops)
        which = self._evaluator.table.containing(scheme)
        change, cycles, errors = self._try(scheme, uops, which)
        self._total += change
        self._cycles[which] = cycles
        self._errors[which] = errors
        self._rows[scheme] = uops
        return self.error

    def _check(self, scheme: int, uops: Uops) -> None:
        """The compiled loops check no bounds: what they are given has to be right."""
        check_whole("the number of a scheme", scheme, 0, len(self._rows) - 1)
        name = self._evaluator.table.schemes[scheme]
        check_uops(name, uops, self._evaluator.n_ports)
        if any(count > MOST_COUNTED for _, count in uops):
            raise InvalidInputError(f"{name!r}: a µop count may be at most {MOST_COUNTED}")
        checked_mass(sum(count for _, count in uops) * self._longest)

    def _try(self, scheme: int, uops: Uops, which: Int64s) -> tuple[int, Floats, Int64s]:
        """With other µops on the arrays: the change of the sum of errors, the new cycles, the new errors."""
        self._make_room(uops)
        self._write(scheme, uops)
        cycles = np.empty(len(which))
        errors = np.empty(len(which), dtype=np.int64)
        return self._evaluate(which, cycles, errors) - int(self._errors[which].sum()), cycles, errors

    def _evaluate(self, which: Int64s, cycles: Floats, errors: Int64s) -> int:
        from inference.core.kernels.loops import refresh  # loads numba

        largest = self._evaluator.largest_error
        return int(
            refresh(
                self._arrays,
                self._uops,
                self._mixes,
                which,
                self._measured,
                self._loss,
                largest,
                cycles,
                errors,
            )
        )

    def _make_room(self, uops: Uops) -> None:
        """See that the arrays can hold these µops in place of any others."""
        if len(uops) <= self._room:
            return
        from inference.core.kernels.layout import make_arrays  # loads numba
        from inference.core.populations import most_terms  # loads numba

        self._room = max(2 * len(uops), 1)
        n_schemes, n_ports = len(self._rows), self._evaluator.n_ports
        terms = most_terms(self._evaluator.table)
        self._arrays = make_arrays(n_schemes, n_ports, self._room * terms, terms, tables=True)
        self._uops = _empty_rows(n_schemes, self._room)
        for scheme, row in enumerate(self._rows):
            self._write(scheme, row)

    def _write(self, scheme: int, uops: Uops) -> None:
        from inference.core.kernels.loops import write_row  # loads numba

        masks = np.array([mask for mask, _ in uops], dtype=np.int64)
        counts = np.array([count for _, count in uops], dtype=np.int32)
        write_row(self._arrays, self._uops, scheme, masks, counts)


def _empty_rows(n_schemes: int, room: int) -> Rows:
    from inference.core.kernels.layout import Rows  # loads numba

    starts = np.arange(n_schemes, dtype=np.int64) * room
    masks = np.zeros(n_schemes * room, dtype=np.int64)
    return Rows(starts, starts.copy(), masks, np.zeros(n_schemes * room, dtype=np.int32))

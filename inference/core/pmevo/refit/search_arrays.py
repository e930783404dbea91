"""The arrays of a re-fit: schemes are re-fitted one at a time, each exactly, all others fixed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from inference.core.evaluator import Evaluator, slots_per_experiment
from inference.core.pmevo.refit.front import RefitPoint
from inference.core.pmevo.refit.kernel_arrays import RefitMixes, RefitRows, RefitSurroundings, UsedKinds
from inference.core.pmevo.refit.objective import MEAN, Objective, Prices
from inference.core.pmevo.refit.usage import MAX_KINDS, Usage
from inference.core.tables import Bools, Floats, Int64s
from inference.core.throughput import natural_width

_MIN_WIDTH = 5  # port sets at least so wide are tried, whatever the schemes' times suggest
_FIRST_ROOM = 1 << 14  # unions; grows where that is too few
_WITHOUT_UOPS = 3  # spreads by which a scheme without µops may take longer alone than its slot
_LARGEST_JOINT = 1 << MAX_KINDS  # unions of the port sets of one scheme


@dataclass(frozen=True)
class Lists:
    """The port sets that a re-fit tries: for one kind alone, for two together, and in changes to the best."""

    alone: Int64s
    pool: Int64s
    moves: Int64s

    def within(self, ports: int) -> Lists:
        """The port sets that have no other ports than these."""
        return Lists(*(masks[(masks & ~ports) == 0] for masks in (self.alone, self.pool, self.moves)))


class SearchArrays:
    """The experiments, and scratch arrays for re-fitting one scheme at a time, for one thread.

    Args:
        times: Measured cycles of every scheme alone, float64[n_schemes].
        members: Number of schemes that each stands for, int64[n_schemes]. Creating one loads numba.
    """

    def __init__(self, evaluator: Evaluator, measured: Floats, times: Floats, members: Int64s) -> None:
        table = evaluator.table
        self._evaluator = evaluator
        self._measured = evaluator.checked(measured)
        self.times = times
        self._members = members
        containing = [table.containing(scheme) for scheme in range(table.n_schemes)]
        starts = np.zeros(table.n_schemes + 1, np.int64)
        np.cumsum([len(experiments) for experiments in containing], out=starts[1:])
        self._mixes: RefitMixes = RefitMixes(
            offsets=table.offsets,
            scheme=table.scheme.astype(np.int64),
            repeats=table.count.astype(np.int64),
            floor=evaluator.floor,
            measured=self._measured,
            starts=starts,
            # Short ones first: they show most about a scheme, so that bad candidates are given up sooner.
            of_scheme=np.concatenate(
                [
                    experiments[np.argsort(table.lengths[experiments], kind="stable")]
                    for experiments in containing
                ]
            ),
        )
        self.widest = max(_MIN_WIDTH, 1 + max(natural_width(time) for time in times.tolist()))
        self.experiments_per_scheme = len(table.scheme) / table.n_schemes
        self.occurrences: Int64s = np.diff(starts)
        self._most = int(self.occurrences.max())
        self._around = self._surroundings(_FIRST_ROOM)

    def among(self, schemes: Int64s) -> SearchArrays:
        """The experiments that consist of these schemes only, which are renumbered in the given order."""
        table = self._evaluator.table
        alone = np.isin(table.scheme, schemes)
        inside = np.flatnonzero(np.logical_and.reduceat(alone, table.offsets[:-1]))
        subtable = table.selected(inside, schemes)
        return SearchArrays(
            Evaluator(subtable, self._evaluator.n_ports, lower_bounds=self._evaluator.floor[inside]),
            self._measured[inside],
            self.times[schemes],
            self._members[schemes],
        )

    def point(self, usage: Usage, issue_width: float | None = None) -> RefitPoint:
        """A copy of the mapping with its error and volume; slots count where there is an issue width."""
        if issue_width is None:
            population = usage.population(self._evaluator.n_ports)
            error = float(self._evaluator.mean_relative_error(population, self._measured)[0])
        else:
            cycles = self._cycles(usage, 1 / issue_width)
            error = float(np.mean(np.abs(cycles - self._measured) / self._measured))
        return RefitPoint(error, usage.volume(self._members), usage.copy(), issue_width)

    def value(
        self, usage: Usage, objective: Objective, prices: Prices, *, forgive_waste: bool = False
    ) -> float:
        """The objective of a mapping: the losses of all experiments, and all prices.

        With `forgive_waste`, a time up to that of an even distribution of µops over their ports has no loss:
        a scheduler does not know what comes next.
        """
        from inference.core.pmevo.refit.candidates import losses  # loads numba

        cycles = self._cycles(usage, objective.per_slot)
        if forgive_waste:
            wasted = self._measured <= self._evenly_spread(usage) * (1 + objective.loss.spread)
            cycles = np.where(wasted, np.maximum(cycles, self._measured), cycles)
        kinds = usage.kinds()
        rarity = sum(
            math.log(len(usage.sizes) / max(1, rank)) for users in kinds.values() for rank in range(users)
        )
        return float(
            losses(cycles, self._measured, objective.loss)
            + prices.kind * len(kinds)
            + prices.rare * rarity
            + prices.volume * usage.volume(np.ones_like(self._members))
            + prices.uop * usage.uops
            + prices.slot * int(usage.slots.sum())
            + prices.none * int(np.count_nonzero(self.without_ports(usage, objective)))
        )

    def without_ports(self, usage: Usage, objective: Objective) -> Bools:
        """bool[n_schemes]: schemes without µops whose time alone their slots do not explain."""
        return np.asarray((usage.sizes == 0) & self._is_slow(objective))

    def _is_slow(self, objective: Objective) -> Bools:
        """bool[n_schemes]: schemes slower alone than issue width and R_max; all, where waste is forgiven."""
        r_max = self._evaluator.r_max
        lower_bound = max(objective.per_slot, 1 / r_max if r_max else 0.0)
        noisy = lower_bound * (1 + _WITHOUT_UOPS * objective.loss.spread)
        return np.asarray((self.times > noisy) | (objective.loss.forgiven > 0))

    def _cycles(self, usage: Usage, per_slot: float) -> Floats:
        """Cycles of all experiments, by ports, R_max and slots of `per_slot` cycles: float64[n]."""
        ports: Floats = self._evaluator.cycles(usage.population(self._evaluator.n_ports))[0]
        slots = slots_per_experiment(self._evaluator.table, usage.slots)
        return np.asarray(np.maximum(ports, slots * per_slot))

    def _evenly_spread(self, usage: Usage) -> Floats:
        """Cycles of all experiments if every µop is spread evenly over its ports: float64[n_experiments]."""
        table = self._evaluator.table
        pressure = usage.pressure(self._evaluator.n_ports)[table.scheme] * table.count[:, np.newaxis]
        busiest: Floats = np.add.reduceat(pressure, table.offsets[:-1], axis=0).max(axis=1)
        return busiest

    def refit(
        self,
        usage: Usage,
        scheme: int,
        lists: Lists,
        prices: Prices,
        objective: Objective = MEAN,
        *,
        keep: bool,
    ) -> float:
        """Give a scheme the best µops found; returns the change of the objective, a sum over experiments.

        `keep`: its present µops are a candidate, too; otherwise it gets µops out of `lists` at any cost.
        """
        from inference.core.pmevo.refit.kernels import refit  # loads numba
        from inference.core.pmevo.refit.surroundings import gather  # loads numba

        rows: RefitRows = RefitRows(usage.masks, usage.counts, usage.sizes, usage.slots)
        if not self._is_slow(objective)[scheme]:
            prices = prices._replace(none=0.0)
        n = gather(self._mixes, rows, scheme, self._around)
        while n < 0:  # the unions did not fit
            self._around = self._surroundings(2 * len(self._around.unions))
            n = gather(self._mixes, rows, scheme, self._around)
        before, after = refit(
            self._around,
            n,
            rows,
            scheme,
            float(self.times[scheme]),
            lists.alone,
            lists.pool,
            lists.moves,
            UsedKinds(*usage.used_beside(scheme)),
            objective,
            prices,
            keep,
        )
        return float(after - before)

    def _surroundings(self, room: int) -> RefitSurroundings:
        """Scratch arrays with room for so many unions of port sets, allocated once for all re-fits."""
        terms = int(np.diff(self._mixes.offsets).max())
        widths = np.zeros(65)
        widths[1:] = 1 / np.arange(1, 65)
        return RefitSurroundings(
            unions=np.empty(room, np.int64),
            masses=np.empty(room),
            ends=np.empty(self._most, np.int64),
            alone=np.empty(self._most),
            beside=np.empty(self._most),
            repeats=np.empty(self._most, np.int64),
            measured=np.empty(self._most),
            kinds=np.empty(terms * MAX_KINDS, np.int64),
            amounts=np.empty(terms * MAX_KINDS),
            widths=widths,
            tried=np.empty(MAX_KINDS, np.int64),
            tried_counts=np.empty(MAX_KINDS),
            joint=np.empty(_LARGEST_JOINT, np.int64),
            joint_counts=np.empty(_LARGEST_JOINT),
            best=np.empty(MAX_KINDS, np.int64),
            best_counts=np.empty(MAX_KINDS),
            best_slots=np.empty(1, np.int64),
            start_masks=np.empty(MAX_KINDS, np.int64),
            start_counts=np.empty(MAX_KINDS),
        )

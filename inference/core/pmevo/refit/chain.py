"""One re-fit from start to end: open sweeps, in which any port set may be used, then fewer and fewer kinds.

Mappings with few kinds of µops are better: on measured Skylake data the error on unseen mixes falls while
kinds are removed, until only the processor's own are left. So a chain runs in rounds. Each begins with sweeps
in which new kinds have a price, and then removes the least useful kind, one after another, until that costs
much. The next round starts from the best mapping so far.

A chain advances in steps of some milliseconds, between which it can be stopped, saved and resumed. Its next
step depends only on its state and its random streams.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from inference.core.pmevo.refit.front import RefitPoint, add_point, cheapest
from inference.core.pmevo.refit.objective import Prices
from inference.core.pmevo.refit.port_sets import PortSets
from inference.core.pmevo.refit.search_arrays import Lists, SearchArrays
from inference.core.pmevo.refit.usage import Usage
from inference.core.pmevo.settings import PMEvoSettings
from inference.core.tables import Int64s

OPEN, FEWER, LAST, NARROW, DONE = "open", "fewer", "last", "narrow", "done"

_POOL = 40  # most used kinds that are combined in pairs
_RANDOM = 6  # random port sets that an open sweep combines with these
_SETTLED = 0.02  # open sweeps end when a smaller share of the schemes changes
_MANY_KINDS = 48  # with more, the kind with the fewest users is removed without trying others
_FEW_KINDS = 24  # with more, not every removed kind is followed by a sweep
_SWEEP_AFTER = 0.9  # but one follows when only this share of kinds since the last sweep is left
_MIN_KINDS = 2
_ENOUGH = 1.2  # a round ends when the error exceeds the smallest by this factor
_TOO_MUCH = 4.0  # the same for the last round
_SMALL = 0.005  # added to errors that are multiplied, as they may be 0
_GUESS = 0.25  # estimated cost of removing a kind per user, as a share of the price of a kind
_BETTER = 0.998  # a round that lowers the cost by less is barren
_NARROWING = (10.0, 100.0, 1000.0)  # factors on the price of the volume
_NARROWED = 1.5  # factor between the numbers of kinds that are narrowed


@dataclass(frozen=True)
class ChainPlace:
    """The progress of a chain, in numbers and texts that a checkpoint can hold.

    Attributes:
        stage: OPEN and FEWER in every round, then LAST, which removes kinds to the end, NARROW, which
            trades accuracy for volume, and DONE.
        position: Schemes done in the sweep, `changed` of which got other µops; None between two sweeps.
        sweep: Number of sweeps so far.
        opened: Of these in this stage.
        barren: Unsuccessful rounds in a row.
        cost: The lowest before the last round.
        left: Kinds after the last sweep.
        error: D_avg then.
        narrowed: Finished sweeps of NARROW, over `levels`, which are numbers of kinds.
    """

    stage: str = OPEN
    sweep: int = 0
    position: int | None = 0
    changed: int = 0
    opened: int = 0
    round: int = 0
    barren: int = 0
    cost: float = math.inf
    left: int = 0
    error: float = math.inf
    narrowed: int = 0
    levels: tuple[int, ...] = ()


@dataclass(frozen=True)
class Swept:
    """A finished sweep: its number from 1, the number of changed schemes, and the mapping."""

    sweep: int
    changed: int
    point: RefitPoint


class Chain:
    """A re-fit: `usage` is its current mapping, `front` the Pareto front of those so far.

    `random(sweep)`: the random stream of a sweep. `losses`: {kind: cost of removing it when that was last
    tried}.
    """

    def __init__(
        self,
        arrays: SearchArrays,
        usage: Usage,
        settings: PMEvoSettings,
        random: Callable[[int], np.random.Generator],
    ) -> None:
        self.usage = usage
        self.place = ChainPlace()
        self.losses: dict[int, float] = {}
        self.front: tuple[RefitPoint, ...] = ()
        self._arrays = arrays
        self._settings = settings
        self._random = random
        self._sets = PortSets.of(settings.n_ports, arrays.widest)
        self._trials: dict[int, tuple[float, Usage]] = {}
        self._order: tuple[int, Int64s, Int64s] | None = None
        self._kind_price = settings.kind_price * arrays.experiments_per_scheme
        self._volume_price = settings.volume_price * arrays.experiments_per_scheme

    @property
    def done(self) -> bool:
        return self.place.stage == DONE

    def advance(self) -> Swept | None:
        """Do one step; returns the sweep if one ended with it, else None."""
        if self.place.position is None:
            self._leave_out()
            return None
        if not self._refit_scheme(self.place.position):
            return None
        point = self._arrays.point(self.usage)
        self.front = add_point(self.front, point)
        swept = Swept(self.place.sweep + 1, self.place.changed, point)
        self.place = replace(
            self.place, sweep=swept.sweep, opened=self.place.opened + 1, left=point.kinds, error=point.error
        )
        self._after_sweep()
        return swept

    def _refit_scheme(self, position: int) -> bool:
        """Re-fit the next scheme of a sweep; whether it was the last one."""
        order, extra = self._schedule()
        scheme = int(order[position])
        before = self.usage.row(scheme)
        self._arrays.refit(self.usage, scheme, self._lists(extra), self._prices(), keep=True)
        changed = self.place.changed + (self.usage.row(scheme) != before)
        self.place = replace(self.place, position=position + 1, changed=changed)
        return position + 1 == len(order)

    def _schedule(self) -> tuple[Int64s, Int64s]:
        """The random order of the schemes in this sweep, and its random port sets."""
        sweep = self.place.sweep
        if self._order is None or self._order[0] != sweep:
            random = self._random(sweep)
            order = random.permutation(len(self.usage.sizes))
            self._order = (
                sweep,
                order,
                random.choice(self._sets.listed, min(_RANDOM, len(self._sets.listed)), replace=False),
            )
        return self._order[1], self._order[2]

    def _prices(self) -> Prices:
        """The prices of the current stage: of new kinds while it may add any, of volume while it narrows."""
        volume = self._volume_price
        if self.place.stage == NARROW:
            volume *= _NARROWING[self.place.narrowed % len(_NARROWING)]
        dear = self.place.stage == OPEN and self.place.sweep > 0  # in the first sweep, kinds are free
        return Prices(self._kind_price if dear else 0.0, volume)

    def _lists(self, extra: Int64s) -> Lists:
        if self.place.stage == OPEN:
            return lists_of(self.usage, self._sets, extra)
        kinds = self.usage.kinds()
        used = np.array(list(kinds), dtype=np.int64)
        return Lists(used, most_used(kinds), used)

    def _after_sweep(self) -> None:
        """Continue the stage, or begin the next one."""
        place = self.place
        if place.stage == NARROW:
            self.place = replace(place, narrowed=place.narrowed + 1)
            self._narrow()
        elif place.stage != OPEN:
            self.place = replace(place, position=None, changed=0)
        elif self._opened_enough():
            self._descend(FEWER)
        else:
            self.place = replace(place, position=0, changed=0)

    def _opened_enough(self) -> bool:
        """Whether the stage OPEN ends: after one sweep in later rounds, else once hardly anything changes."""
        place = self.place
        if place.round:
            return True
        settled = place.sweep > 1 and place.changed <= _SETTLED * len(self.usage.sizes)
        return settled or place.opened >= self._settings.sweeps

    def _descend(self, stage: str) -> None:
        self._trials.clear()
        self.losses = {}
        self.place = replace(self.place, stage=stage, position=None, changed=0)

    def _leave_out(self) -> None:
        """Remove one more kind, or find out what removing one costs."""
        kinds = self.usage.kinds()
        limit = _TOO_MUCH if self.place.stage == LAST else _ENOUGH
        smallest = min(point.error for point in self.front) + _SMALL
        if len(kinds) <= _MIN_KINDS or self.place.error > limit * smallest:
            self._end_of_descent()
        elif len(kinds) > _MANY_KINDS:
            self._settle(self._without(min(kinds, key=lambda mask: (kinds[mask], mask)))[1])
        else:
            self._leave_out_cheapest(kinds)

    def _leave_out_cheapest(self, kinds: dict[int, int]) -> None:
        """Try the kind that seems cheapest to remove, and remove it once none seems cheaper than it is.

        A loss is what removing a kind cost when that was last tried, or a guess; trying it corrects it.
        """
        guess = _GUESS * self._kind_price
        losses = {mask: self.losses.get(mask, guess * users) for mask, users in kinds.items()}
        mask = min(losses, key=lambda mask: (losses[mask], mask))
        if mask in self._trials:
            self._settle(self._trials[mask][1])
            return
        self._trials[mask] = self._without(mask)
        self.losses[mask] = self._trials[mask][0]

    def _settle(self, usage: Usage) -> None:
        """Continue with fewer kinds; at times a sweep follows."""
        self.usage = usage
        self._trials.clear()
        kinds = usage.kinds()
        self.losses = {mask: loss for mask, loss in self.losses.items() if mask in kinds}
        max_kinds = min(_MANY_KINDS, _SWEEP_AFTER * self.place.left)
        if len(kinds) <= max(_FEW_KINDS, max_kinds):
            self.place = replace(self.place, position=0)

    def _without(self, mask: int) -> tuple[float, Usage]:
        """(cost, mapping) of removing a kind: its users are re-fitted one by one."""
        usage = self.usage.copy()
        kinds = usage.kinds()
        del kinds[mask]
        remaining = np.array(list(kinds), dtype=np.int64)
        lists = Lists(remaining, most_used(kinds), remaining)
        prices = Prices(0.0, self._volume_price)
        loss = sum(self._arrays.refit(usage, user, lists, prices, keep=False) for user in usage.users(mask))
        return loss, usage

    def _end_of_descent(self) -> None:
        """Start another round or the last descent from the best mapping so far, or end the last descent."""
        place, best = self.place, cheapest(self.front)
        if place.stage == LAST:
            self.place = replace(place, stage=NARROW, levels=_levels(self.front))
            self._narrow()
            return
        barren = 0 if best.cost < _BETTER * place.cost else place.barren + 1
        ended = place.round + 1 >= self._settings.rounds or barren > self._settings.patience
        self.usage = best.usage.copy()
        self.place = replace(
            place,
            round=place.round + 1,
            barren=barren,
            cost=min(place.cost, best.cost),
            error=best.error,
            left=best.kinds,
        )
        if ended:
            self._descend(LAST)
        else:
            self.place = replace(self.place, stage=OPEN, opened=0, position=0, changed=0)

    def _narrow(self) -> None:
        """Begin the next sweep of NARROW: for each level of kinds, with rising prices of volume."""
        place = self.place
        level, step = divmod(place.narrowed, len(_NARROWING))
        if level == len(place.levels):
            self.place = replace(place, stage=DONE, position=None)
            return
        if step == 0:
            eligible = (point for point in self.front if point.kinds <= place.levels[level])
            self.usage = min(eligible, key=lambda point: point.objectives).usage.copy()
        self.place = replace(place, position=0, changed=0)


def lists_of(usage: Usage, sets: PortSets, extra: Int64s, allowed: int = -1) -> Lists:
    """The port sets to try for a scheme that may get new kinds of µops.

    Args:
        usage: The current mapping, whose most used kinds form pairs.
        sets: Port sets near given ones.
        extra: Masks of ports that form pairs as well.
        allowed: Mask of the ports that the scheme may use; -1 for all.
    """
    kinds = usage.kinds()
    tried = sets.around(np.array(list(kinds), dtype=np.int64), allowed)
    return Lists(tried, np.union1d(most_used(kinds), extra), tried).within(allowed)


def _levels(front: tuple[RefitPoint, ...]) -> tuple[int, ...]:
    """Numbers of kinds on the front, from the most to the fewest, each well below the one before."""
    levels: list[int] = []
    for kinds in sorted({point.kinds for point in front}, reverse=True):
        if not levels or kinds * _NARROWED <= levels[-1]:
            levels.append(kinds)
    return tuple(levels)


def most_used(kinds: dict[int, int]) -> Int64s:
    """The kinds with most users, ascending."""
    pool = sorted(kinds, key=lambda mask: (-kinds[mask], mask))[:_POOL]
    return np.array(sorted(pool), dtype=np.int64)

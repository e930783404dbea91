"""The search for the mapping with the fewest µops and issue slots that the measurements do not contradict.

A re-fit that minimises the mean error explains a core's waste, and its issue slots, by µops that do not
exist. Here the loss is bounded (`objective.py`), every µop and slot has a price, and µops that can use as
many ports as the core issues slots are excluded, as the issue width hides them.

A local search gives one scheme after another its best µops and slots until hardly any changes. It starts from
points of the front, then from changes to the best mapping so far: a kind of µop is removed from all its
users, or replaced by one with other ports, or a third of the schemes lose their µops, or get a further µop of
one kind. Each takes about a second where a re-fit takes minutes, and dozens of them lead from very different
fronts to the same mapping, or to one as good.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from inference.core.metrics import bounded_loss
from inference.core.pmevo.refit.chain import lists_of, most_used
from inference.core.pmevo.refit.front import RefitPoint
from inference.core.pmevo.refit.objective import Objective, Prices
from inference.core.pmevo.refit.port_sets import PortSets
from inference.core.pmevo.refit.preferences import (
    COST,
    FormPair,
    prefer_fewer,
    prefer_forms,
    prefer_own_ports,
)
from inference.core.pmevo.refit.search_arrays import Lists, SearchArrays
from inference.core.pmevo.refit.usage import MAX_KINDS, Usage
from inference.core.pmevo.settings import PMEvoSettings
from inference.core.tables import Int64s

RARE = 0.003
"""Price of a kind per experiment of a scheme and unit of log(schemes / users): few users must gain much."""

STARTS = 8
"""Points of the front from which a local search starts, evenly spread over it."""

_FEW = 40  # experiments per scheme at least in prices, so that a single one does not justify a µop
_FEW_FOR_KINDS = 80  # the same for rarity: with few experiments, more schemes have to agree
_SWEEPS = 8  # over all schemes, in one local search
_EXTRA = 6  # random port sets that a sweep combines with those in use
_SETTLED = 0.01  # a local search ends when a smaller share of the schemes changes
_WIDER = (1.2, 1.25, 1.5, 2.0)
"""Issue widths to try, as multiples of R_max: a core may issue more slots than instructions."""

_REMOVED, _EXCHANGED, _ANEW, _MORE = range(4)
_WAYS = (_REMOVED, _REMOVED, _EXCHANGED, _EXCHANGED, _ANEW, _MORE)  # as often as each is chosen
_SOME = 1 / 3  # of the schemes are changed by the last two
_BETTER = 1e-9  # less than this is rounding, not an improvement


@dataclass(frozen=True)
class BoundedState:
    """State between two local searches: `done` of them, the last `barren` of which found nothing better.

    Attributes:
        usage: The best mapping so far, None before the first search.
        value: Its objective.
        issue_width: Slots per cycle that it was found with, None where slots do not count.
    """

    issue_width: float | None
    done: int = 0
    barren: int = 0
    usage: Usage | None = None
    value: float = math.inf


class BoundedSearch:
    """A sequence of local searches, which depends only on its arguments.

    Args:
        arrays: The experiments.
        front: Mappings to start from.
        settings: Prices and limits.
        random: `random(k)` is the random stream of the k-th search.
        pulse: Called between steps.
        saved: The state to resume from; None to start.
        first: Gives a mapping with an issue width to start from in place of the front's first; None for that.
        dearer: Factor on the price of rare kinds.
        forgiven: Share of each measured time that may be waste.
        allowed: int64[n_schemes], mask of the ports of each scheme; None for all.
    """

    def __init__(
        self,
        arrays: SearchArrays,
        front: Sequence[RefitPoint],
        settings: PMEvoSettings,
        random: Callable[[int], np.random.Generator],
        pulse: Callable[[], None],
        saved: BoundedState | None = None,
        first: Callable[[], RefitPoint | None] = lambda: None,
        dearer: float = 1.0,
        forgiven: float = 0.0,
        allowed: Int64s | None = None,
    ) -> None:
        self._allowed = allowed
        self._loss = bounded_loss(settings.spread, forgiven)
        self.state = saved or BoundedState(settings.issue_width or settings.r_max)
        self._arrays = arrays
        self._settings = settings
        self._starts = [point.usage for point in _spread(front, STARTS)]
        self._first = first
        self._random = random
        self._pulse = pulse
        limited = settings.r_max is not None
        # Of few schemes there cannot be many experiments.
        per_scheme = max(arrays.experiments_per_scheme, min(_FEW, len(arrays.times)))
        kind = settings.new_kind_price * per_scheme
        uop = settings.uop_price * per_scheme
        rare = RARE * dearer * max(per_scheme, _FEW_FOR_KINDS)
        # Neither may waste be all that a scheme's µops explain, nor may R_max hide all that it has: a kind
        # that no other scheme has costs no more.
        none = uop + kind + rare * math.log(len(arrays.times)) if forgiven or limited else 0.0
        slot = settings.slot_price * per_scheme
        self.prices = Prices(kind, volume=0.0, uop=uop, slot=slot, rare=rare, none=none)
        self._wider = _WIDER if limited and settings.issue_width is None else ()

    @property
    def most(self) -> int:
        """Local searches at most: from the front, with other issue widths, from perturbations."""
        return len(self._starts) + len(self._wider) + self._settings.perturbations

    @property
    def ended(self) -> bool:
        """Whether all local searches are done, or too many in a row found nothing better."""
        return self.state.done >= self.most or self.state.barren > self._settings.perturbation_patience

    def advance(self) -> None:
        """Run the next local search, and keep its mapping if that is better."""
        k = self.state.done
        random = self._random(k)
        width = self.state.issue_width
        first_usage = self._first() if k == 0 else None
        if first_usage is not None:
            usage, width, openly = first_usage.usage, first_usage.issue_width, False
        elif k < len(self._starts):
            usage, openly = self._remove_wide(self._starts[k], width), True
        elif k < len(self._starts) + len(self._wider):
            assert self._settings.r_max is not None
            width = self._settings.r_max * self._wider[k - len(self._starts)]
            usage, openly = self._best.copy(), False
        else:
            usage, openly = self._perturb(random), bool(random.integers(2))
        value = self._settle(usage, width, random, openly=openly)
        state = replace(self.state, done=k + 1)
        if value < state.value - _BETTER:
            state = replace(state, usage=usage, value=value, issue_width=width, barren=0)
        elif k >= len(self._starts) + len(self._wider):
            state = replace(state, barren=state.barren + 1)
        self.state = state

    @property
    def point(self) -> RefitPoint:
        """The best mapping so far; only after the first local search."""
        return self._arrays.point(self._best, self.state.issue_width)

    def apply_preferences(self, forms: Sequence[FormPair], domains: Sequence[str | None]) -> RefitPoint:
        """The best mapping with the settings' preferences where measurements hardly decide."""
        width = self.state.issue_width
        objective = self.objective(width)

        def value(usage: Usage, *, forgive_waste: bool = False) -> float:
            self._pulse()
            return self._arrays.value(usage, objective, self.prices, forgive_waste=forgive_waste)

        max_steps = COST * self._arrays.experiments_per_scheme
        usage = self._best
        if self._settings.apart:
            usage = prefer_own_ports(usage, domains, value, max_steps)
        if self._settings.forgive_waste:
            usage = prefer_fewer(usage, domains, partial(value, forgive_waste=True))
        if self._settings.regular_forms:
            usage = prefer_forms(usage, forms, value, max_steps)
        return self._arrays.point(usage, width)

    @property
    def _best(self) -> Usage:
        assert self.state.usage is not None, "the first local search always finds something"
        return self.state.usage

    def _settle(
        self, usage: Usage, width: float | None, random: np.random.Generator, *, openly: bool
    ) -> float:
        """Sweep over the schemes until hardly any changes; returns the objective.

        `openly`: schemes may get kinds that no scheme has yet.
        """
        objective = self.objective(width)
        sets = self._sets(width)
        for _ in range(_SWEEPS):
            changed = 0
            extra = random.choice(sets.listed, min(_EXTRA, len(sets.listed)), replace=False)
            for scheme in random.permutation(len(usage.sizes)).tolist():
                before = usage.row(scheme), usage.slots[scheme]
                ports = self._ports_of(scheme)
                lists = lists_of(usage, sets, extra, ports) if openly else in_use(usage).within(ports)
                self._arrays.refit(usage, scheme, lists, self.prices, objective, keep=True)
                changed += (usage.row(scheme), usage.slots[scheme]) != before
                self._pulse()
            if changed <= _SETTLED * len(usage.sizes):
                break
        return self._arrays.value(usage, objective, self.prices)

    def value(self, usage: Usage) -> float:
        """The objective of a mapping, with the issue width of the best one so far."""
        self._pulse()
        return self._arrays.value(usage, self.objective(self.state.issue_width), self.prices)

    def objective(self, width: float | None) -> Objective:
        """The loss for an issue width in slots per cycle, None for none; without prices."""
        return Objective(self._loss, 0.0 if width is None else 1 / width)

    def _sets(self, width: float | None) -> PortSets:
        """Port sets that measurements can distinguish: narrower than the issue width."""
        widest = self._arrays.widest
        if width is not None:
            widest = min(widest, max(1, math.ceil(width) - 1))
        return PortSets.of(self._settings.n_ports, widest)

    def _remove_wide(self, usage: Usage, width: float | None) -> Usage:
        """The mapping without µops that the issue width hides; every other µop takes a slot."""
        narrow = usage.copy()
        if width is None:
            return narrow
        for scheme in range(len(narrow.sizes)):
            row = [uop for uop in narrow.row(scheme) if uop[0].bit_count() < math.ceil(width)]
            narrow.set_row(scheme, row)
            narrow.slots[scheme] = max(1, sum(count for _, count in row))
        return narrow

    def _perturb(self, random: np.random.Generator) -> Usage:
        """A random change to the best mapping, as the module's docstring lists them."""
        usage = self._best.copy()
        kinds = list(usage.kinds())
        sets = self._sets(self.state.issue_width)
        change = _WAYS[int(random.integers(len(_WAYS)))] if kinds else _MORE
        if change in (_ANEW, _MORE):
            extra_mask = int(sets.listed[int(random.integers(len(sets.listed)))])
            for scheme in random.permutation(len(usage.sizes))[: int(len(usage.sizes) * _SOME)].tolist():
                row = dict(usage.row(scheme)) if change == _MORE else {}
                if change == _MORE and len(row) < MAX_KINDS and not extra_mask & ~self._ports_of(scheme):
                    row.setdefault(extra_mask, 1)
                usage.set_row(scheme, sorted(row.items()))
            return usage
        mask = kinds[int(random.integers(len(kinds)))]
        other = self._similar_set(mask, sets, random) if change == _EXCHANGED else 0
        for scheme in usage.users(mask):
            row = dict(usage.row(scheme))
            count = row.pop(mask)
            if other and not other & ~self._ports_of(scheme):
                row[other] = row.get(other, 0) + count
            usage.set_row(scheme, sorted(row.items())[:MAX_KINDS])
        return usage

    def _similar_set(self, mask: int, sets: PortSets, random: np.random.Generator) -> int:
        """A random port set with a port more, a port less, or another port."""
        near = sets.listed[np.bitwise_count(sets.listed ^ mask) <= 2]
        if sets.is_partial:
            near = np.union1d(near, sets.neighbours(np.array([mask], dtype=np.int64)))
        if not len(near):
            near = sets.listed  # a kind from an evolution may be wider than any set that is tried
        return int(near[int(random.integers(len(near)))])

    def _ports_of(self, scheme: int) -> int:
        """Mask of the ports that a scheme may use; -1 for all."""
        return -1 if self._allowed is None else int(self._allowed[scheme])


def in_use(usage: Usage) -> Lists:
    """Lists of only the kinds of µops in use."""
    kinds = usage.kinds()
    used = np.array(list(kinds), dtype=np.int64)
    return Lists(used, most_used(kinds), used)


def _spread(front: Sequence[RefitPoint], limit: int) -> list[RefitPoint]:
    """At most `limit` points, evenly spread over the front, its ends included."""
    if len(front) <= limit:
        return list(front)
    return [front[round(k * (len(front) - 1) / (limit - 1))] for k in range(limit)]

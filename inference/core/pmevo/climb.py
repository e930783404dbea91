"""The greedy hill climb at the end (§5.1.3, local search)."""

from __future__ import annotations

from inference.core.local_search import LocalSearch
from inference.core.mapping import Uops
from inference.core.pmevo.fitness import Judge, Slopes
from inference.core.tables import Population


def climbed(judge: Judge, population: Population, index: int, slopes: Slopes) -> tuple[Population, float]:
    """The local optimum next to one mapping, as a population of one, and its D_avg.

    For each µop of each scheme, its count goes down while the mapping stays at least as fit; if not even
    once, then up while the mapping becomes strictly fitter. A count may reach 0, which removes the µop; only
    the last µop of a scheme stays unless there is an R_max, because without either the scheme would take no
    time, and it was measured to take some.
    """
    climber = _Climber(judge, LocalSearch(judge.evaluator, population, judge.measured, index), slopes)
    for scheme in range(population.n_schemes):
        for mask, _ in climber.search.row(scheme):
            moved = False
            while climber.step(scheme, mask, -1):
                moved = True
            while not moved and climber.step(scheme, mask, +1):
                pass
    return climber.search.population(), climber.search.error


class _Climber:
    def __init__(self, judge: Judge, search: LocalSearch, slopes: Slopes) -> None:
        self.search = search
        self._judge = judge
        self._slopes = slopes
        self._error = search.error

    def step(self, scheme: int, mask: int, change: int) -> bool:
        """Change the count of a µop by one; undone, and False, where the fitness does not allow it."""
        before = self.search.row(scheme)
        count = dict(before).get(mask, 0)
        if count == 0:
            return False
        if count + change == 0 and len(before) == 1 and self._judge.settings.r_max is None:
            return False
        error = self._judge.replaced(self.search, scheme, _changed(before, mask, count + change))
        worse = self._slopes.error * (error - self._error) + self._slopes.volume * change * mask.bit_count()
        if worse < 0 or (worse == 0 and change < 0):
            self._error = error
            return True
        self.search.replace(scheme, before)
        return False


def _changed(uops: Uops, mask: int, count: int) -> Uops:
    return tuple((m, count if m == mask else n) for m, n in uops if m != mask or count > 0)

"""The loop of Algorithm 4.1 for one number of ports: two candidates, an experiment that tells them apart."""

from __future__ import annotations

from dataclasses import dataclass, field

from inference.core.cegar.alternatives import MOST_COPIES, Alternatives, Settled, matched
from inference.core.cegar.encodings import Questions
from inference.core.cegar.events import (
    Candidates,
    CandidatesDecided,
    SearchStanding,
    Survivor,
    Undecided,
)
from inference.core.cegar.problem import (
    Alternative,
)
from inference.core.cegar.search import CegarSearch
from inference.core.cegar.shape import Candidate, Observation, Shape
from inference.core.cegar.solving import SolverLimitError
from inference.core.experiment import Experiment
from inference.core.identity import Distinction

ENOUGH = 8
"""Mappings in a row that only longer experiments tell from the first, before longer ones are asked."""


@dataclass
class Pool:
    """A first mapping, those that nothing admissible tells from it, those not yet compared with it.

    Experiments of up to `longest` instructions are asked while they tell something, as in §4.3: mappings that
    take longer ones come `later`.

    "Cannot be told apart" is not transitive: where the first mapping falls, its successor is compared with
    all that are left.
    """

    first: Candidate
    aside: list[Candidate] = field(default_factory=list)
    waiting: list[Candidate] = field(default_factory=list)
    later: list[Candidate] = field(default_factory=list)
    longest: int = 2  # alone, the schemes were measured before
    fresh: int = 0  # found and set aside since the last measurement

    def keep(self, observation: Observation, second: Candidate) -> bool:
        """Only those that explain this too; False where none does."""
        known = (self.first, second, *self.aside, *self.waiting, *self.later)
        left = [one for one in known if observation.holds(one)]
        if not left:
            return False
        survives = left[0] == self.first
        kept = set(left)
        self.waiting = [one for one in self.waiting if one in kept] if survives else left[1:]
        self.aside = [one for one in self.aside if survives and one in kept]
        self.later = [one for one in self.later if survives and one in kept]
        self.first = left[0]
        self.fresh = 0
        return True

    def postpone(self, second: Candidate, length: int) -> bool:
        """Whether an experiment of this length is too long for now."""
        if length <= self.longest:
            return False
        self.later.append(second)
        if len(self.later) >= ENOUGH:
            self.lengthen()
        return True

    def lengthen(self) -> bool:
        """Allow one more instruction where mappings wait for that; whether there are any."""
        self.longest += bool(self.later)
        self.waiting, self.later = self.waiting + self.later, []
        return bool(self.waiting)


_TOO_MANY = "{} other mappings could be told apart only by experiments that may not or cannot be measured"


class Decider:
    """Asks, measures and excludes until nothing is left to tell apart."""

    def __init__(self, search: CegarSearch) -> None:
        self._search = search

    def decide(self, shape: Shape, *, listing: bool) -> Settled | None:
        """The loop of Algorithm 4.1; None where no mapping of this shape explains the measurements."""
        asked = self._search.questions(shape)
        pool: Pool | None = None
        try:
            pool = self._begin(asked)
            while pool is not None:
                new = not pool.waiting
                second, known, exhausted = self._next(asked, pool)
                if second is None and pool.lengthen():
                    continue
                if second is None:
                    return self._settled(shape, asked, pool, exhausted=exhausted, listing=listing)
                distinction = self._search.judge.experiment(shape, pool.first, second, known)
                if distinction is None:
                    pool.aside.append(second)
                    pool.fresh += new
                    if pool.fresh > asked.patience + self._search.settings.alternatives:
                        return self._gave_up(shape, pool, _TOO_MANY.format(pool.fresh))
                    continue
                if pool.postpone(second, distinction.experiment.length):
                    continue
                observation, decision = self._measure(shape, pool.first, second, distinction)
                if observation is None:
                    pool.aside.append(second)
                else:
                    asked.add(observation)
                    if not pool.keep(observation, second):
                        pool = self._begin(asked)
                self._tell_decision(decision, shape)
            return None
        except SolverLimitError as error:
            if pool is None:
                raise
            return self._gave_up(shape, pool, str(error))
        finally:
            asked.close()

    def _begin(self, asked: Questions) -> Pool | None:
        first = self._find(asked)
        return None if first is None else Pool(first)

    def _find(self, asked: Questions) -> Candidate | None:
        """A candidate that is not found again."""
        found = asked.another()
        if found is not None:
            asked.exclude(found)
        return found

    def _next(self, asked: Questions, pool: Pool) -> tuple[Candidate | None, Experiment | None, bool]:
        """Another mapping, an experiment that tells it apart if one is known, whether none is left at all.

        Just any other one is tried first, which is quicker while most of them differ.
        """
        if pool.waiting or (pool.fresh >= asked.patience and pool.lengthen()):
            return pool.waiting.pop(0), None, False
        began = self._search.pace.clock()
        try:
            if pool.fresh < asked.patience:
                second = self._find(asked)
                return second, None, second is None
            found = asked.other(pool.first)
            if found is None:
                return None, None, False
            asked.exclude(found[0])
            return found[0], found[1], False
        finally:
            self._search.searching += self._search.pace.clock() - began

    def _settled(
        self, shape: Shape, asked: Questions, pool: Pool, *, exhausted: bool, listing: bool
    ) -> Settled:
        """Nothing is left to decide; what else explains the measurements is gathered up to the limit."""
        if not listing:
            return Settled(shape.mapping(pool.first), (), more=True, limit="")
        self._search.enter("alternatives")
        found = self._gathered(shape, pool)
        tries, limit = 0, ""
        try:
            while not (
                exhausted or found.full or tries > MOST_COPIES * (self._search.settings.alternatives + 1)
            ):
                other = self._find(asked)
                tries += 1
                exhausted = other is None
                if other is not None:
                    found.add(shape.mapping(other))
        except SolverLimitError as error:
            self._search.deadline.end()
            limit = str(error)
        return self._described(found, more=found.full or not exhausted, limit=limit)

    def _gave_up(self, shape: Shape, pool: Pool, limit: str) -> Settled:
        self._search.deadline.end()
        return self._described(self._gathered(shape, pool), more=True, limit=limit)

    def _gathered(self, shape: Shape, pool: Pool) -> Alternatives:
        found = Alternatives(shape.mapping(pool.first), self._search.settings.alternatives)
        for other in (*pool.aside, *pool.waiting):
            found.add(shape.mapping(other))
        return found

    def _described(self, found: Alternatives, *, more: bool, limit: str) -> Settled:
        """The alternatives with their ports named to match, and why each is one."""
        listed = []
        try:
            for other, differing in matched(found.mapping, found.listed, self._search.pulse):
                listed.append(Alternative(other, differing, self._search.judge.hidden(found.mapping, other)))
                self._search.tell(Undecided.of(len(listed), listed[-1]))
        except SolverLimitError as error:
            more, limit = True, limit or str(error)
        return Settled(found.mapping, tuple(listed), more, limit)

    def _measure(
        self, shape: Shape, first: Candidate, second: Candidate, distinction: Distinction
    ) -> tuple[Observation | None, CandidatesDecided]:
        self._search.counter_examples += 1
        self._search.tell(
            Candidates(
                number=self._search.counter_examples,
                first=shape.mapping(first),
                second=shape.mapping(second),
                experiment=distinction.experiment,
                first_cycles=distinction.first,
                second_cycles=distinction.second,
            )
        )
        (measured,) = self._search.answers.measure([distinction.experiment])
        observation = None
        survivor: Survivor = "open"
        if self._search.take(measured) and measured.cycles is not None:
            wasted = self._search.readings.wasted(measured.experiment)
            observation = Observation.of(shape, measured.experiment, measured.cycles, wasted)
            if observation.holds(first):
                survivor = "first"
            else:
                survivor = "second" if observation.holds(second) else "neither"
        number = self._search.counter_examples
        return observation, CandidatesDecided(
            number, measured.cycles, measured.state, survivor, experiment=measured.experiment
        )

    def _tell_decision(self, decision: CandidatesDecided, shape: Shape) -> None:
        self._search.tell(decision)
        seconds = max(self._search.seconds(), 1e-9)
        share = round(min(1.0, self._search.searching / seconds), 4)
        self._search.tell(
            SearchStanding(
                len(self._search.answers.used),
                self._search.counter_examples,
                shape.ports,
                round(seconds, 3),
                share,
            )
        )

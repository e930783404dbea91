"""The loop of Algorithm 4.1 for one number of ports."""

from __future__ import annotations

from dataclasses import dataclass, field

from inference.core.cegar.alternatives import MAX_COPIES, Alternatives, SettledMapping, match_ports
from inference.core.cegar.encodings import Questions
from inference.core.cegar.events import Candidates, CandidatesDecided, SearchProgress, Survivor, Undecided
from inference.core.cegar.problem import Alternative
from inference.core.cegar.search import CegarSearch
from inference.core.cegar.shape import Candidate, Observation, Shape
from inference.core.cegar.z3_solver import SolverLimitError
from inference.core.experiment import Experiment
from inference.core.identity import Distinction

MAX_POSTPONED = 8
"""Postponed mappings after which experiments may be one instruction longer."""


@dataclass
class Pool:
    """The current mapping and the others that explain the measurements.

    Attributes:
        aside: No admissible experiment distinguishes them from `first`.
        waiting: Not yet compared with it.
        later: Only experiments of more than `longest` instructions distinguish them; short ones are
            measured first (§4.3). "Indistinguishable" is not transitive: where `first` is excluded, its
            successor is compared with all that are left.
    """

    first: Candidate
    aside: list[Candidate] = field(default_factory=list)
    waiting: list[Candidate] = field(default_factory=list)
    later: list[Candidate] = field(default_factory=list)
    longest: int = 2  # alone, the schemes were measured before
    fresh: int = 0  # found and set aside since the last measurement

    def keep(self, observation: Observation, second: Candidate) -> bool:
        """Remove the mappings that the observation excludes; False where none is left."""
        candidates = (self.first, second, *self.aside, *self.waiting, *self.later)
        remaining = [candidate for candidate in candidates if observation.holds(candidate)]
        if not remaining:
            return False
        if remaining[0] == self.first:
            survivors = set(remaining)
            self.waiting = [candidate for candidate in self.waiting if candidate in survivors]
            self.aside = [candidate for candidate in self.aside if candidate in survivors]
            self.later = [candidate for candidate in self.later if candidate in survivors]
        else:  # what was said of the others was said in comparison with the excluded one
            self.first, *self.waiting = remaining
            self.aside, self.later = [], []
        self.fresh = 0
        return True

    def postpone(self, second: Candidate, length: int) -> bool:
        """Put a mapping off whose experiment has this length; False where the length is allowed already."""
        if length <= self.longest:
            return False
        self.later.append(second)
        if len(self.later) >= MAX_POSTPONED:
            self.lengthen()
        return True

    def lengthen(self) -> bool:
        """Allow one more instruction if mappings were postponed; whether any wait to be compared now."""
        self.longest += bool(self.later)
        self.waiting, self.later = self.waiting + self.later, []
        return bool(self.waiting)


_TOO_MANY_ASIDE = "only experiments that are not allowed or not available would distinguish {} other mappings"


class Decider:
    """Runs the loop on a search, which measures and reports."""

    def __init__(self, search: CegarSearch) -> None:
        self._search = search

    def decide(self, shape: Shape, *, listing: bool) -> SettledMapping | None:
        """The loop of Algorithm 4.1; None where no mapping of this shape explains the measurements."""
        questions = self._search.questions(shape)
        pool: Pool | None = None
        try:
            pool = self._begin(questions)
            while pool is not None:
                new = not pool.waiting
                second, distinguishing, exhausted = self._next(questions, pool)
                if second is None and pool.lengthen():
                    continue
                if second is None:
                    return self._conclude(shape, questions, pool, exhausted=exhausted, listing=listing)
                distinction = self._search.chooser.experiment(shape, pool.first, second, distinguishing)
                if distinction is None:
                    pool.aside.append(second)
                    pool.fresh += new
                    if pool.fresh > questions.aside_limit + self._search.settings.alternatives:
                        return self._gave_up(shape, pool, _TOO_MANY_ASIDE.format(pool.fresh))
                    continue
                if pool.postpone(second, distinction.experiment.length):
                    continue
                observation, decision = self._measure(shape, pool.first, second, distinction)
                if observation is None:
                    pool.aside.append(second)
                else:
                    questions.add(observation)
                    if not pool.keep(observation, second):
                        pool = self._begin(questions)
                self._tell_decision(decision, shape)
            return None
        except SolverLimitError as error:
            if pool is None:
                raise
            return self._gave_up(shape, pool, str(error))
        finally:
            questions.close()

    def _begin(self, questions: Questions) -> Pool | None:
        first = self._find(questions)
        return None if first is None else Pool(first)

    def _find(self, questions: Questions) -> Candidate | None:
        """Find a candidate, and exclude it from later answers."""
        candidate = questions.find_candidate()
        if candidate is not None:
            questions.exclude(candidate)
        return candidate

    def _next(self, questions: Questions, pool: Pool) -> tuple[Candidate | None, Experiment | None, bool]:
        """(another mapping, an experiment that distinguishes it if known, whether the shape has no more).

        Any further mapping is tried first: that is quicker, while most of them can be distinguished.
        """
        if pool.waiting or (pool.fresh >= questions.aside_limit and pool.lengthen()):
            return pool.waiting.pop(0), None, False
        began = self._search.pace.clock()
        try:
            if pool.fresh < questions.aside_limit:
                second = self._find(questions)
                return second, None, second is None
            pair = questions.find_second(pool.first)
            if pair is None:
                return None, None, False
            questions.exclude(pair[0])
            return pair[0], pair[1], False
        finally:
            self._search.searching += self._search.pace.clock() - began

    def _conclude(
        self, shape: Shape, questions: Questions, pool: Pool, *, exhausted: bool, listing: bool
    ) -> SettledMapping:
        """The result, with alternatives up to the setting's number if `listing`."""
        if not listing:
            return SettledMapping(shape.mapping(pool.first), (), more=True, limit="")
        self._search.enter_phase("alternatives")
        alternatives = self._gather(shape, pool)
        tries, limit = 0, ""
        try:
            while not (
                exhausted
                or alternatives.full
                or tries > MAX_COPIES * (self._search.settings.alternatives + 1)
            ):
                other = self._find(questions)
                tries += 1
                exhausted = other is None
                if other is not None:
                    alternatives.add(shape.mapping(other))
        except SolverLimitError as error:
            self._search.deadline.end()
            limit = str(error)
        return self._describe(alternatives, more=alternatives.full or not exhausted, limit=limit)

    def _gave_up(self, shape: Shape, pool: Pool, limit: str) -> SettledMapping:
        """The result so far; what follows has no time limit, or describing it would hit that limit again."""
        self._search.deadline.end()
        return self._describe(self._gather(shape, pool), more=True, limit=limit)

    def _gather(self, shape: Shape, pool: Pool) -> Alternatives:
        alternatives = Alternatives(shape.mapping(pool.first), self._search.settings.alternatives)
        for other in (*pool.aside, *pool.waiting):
            alternatives.add(shape.mapping(other))
        return alternatives

    def _describe(self, alternatives: Alternatives, *, more: bool, limit: str) -> SettledMapping:
        """The result with its alternatives renamed to match, and why no experiment distinguishes each."""
        listed = []
        try:
            for other, differing in match_ports(
                alternatives.mapping, alternatives.listed, self._search.pulse
            ):
                listed.append(
                    Alternative(other, differing, self._search.chooser.hidden(alternatives.mapping, other))
                )
                self._search.emit(Undecided.of(len(listed), listed[-1]))
        except SolverLimitError as error:
            more, limit = True, limit or str(error)
        return SettledMapping(alternatives.mapping, tuple(listed), more, limit)

    def _measure(
        self, shape: Shape, first: Candidate, second: Candidate, distinction: Distinction
    ) -> tuple[Observation | None, CandidatesDecided]:
        """Measure what distinguishes two candidates: the observation, None without a usable one, its event.

        The caller reports the event after the observation has taken effect.
        """
        self._search.counter_examples += 1
        self._search.emit(
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
        if self._search.record(measured) and measured.cycles is not None:
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
        self._search.emit(decision)
        seconds = max(self._search.seconds(), 1e-9)
        share = round(min(1.0, self._search.searching / seconds), 4)
        self._search.emit(
            SearchProgress(
                len(self._search.answers.used),
                self._search.counter_examples,
                shape.ports,
                round(seconds, 3),
                share,
            )
        )

"""The search for discoveries (Algorithm 8.1), in rounds, a function of the seed and the rounds before.

A round samples fresh blocks, minimises the interesting ones side by side and passes over those that an
earlier discovery subsumes. When a few are left they are generalised together: a wave. There is a checkpoint
after each round and each wave. A fresh block is known by its place, the number of blocks sampled before it,
so that a checkpoint names blocks that wait by their places.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence

from anica_app.core.domain.abstract import AbstractBlock
from anica_app.core.search.discovery_set import DiscoverySet
from anica_app.core.search.events import Counted, Discovered, SampledRound
from anica_app.core.search.findings import (
    FoundDiscovery,
    Generalised,
    Keeper,
    News,
    Round,
    State,
    checkpoint_of,
    discovery_json,
    state_of,
)
from anica_app.core.search.generalising import RoundCandidate, generalise_all, minimised, sample_fresh
from anica_app.core.search.judging import InterestJudge
from anica_app.core.search.panel import Driver, Meter, World
from anica_app.core.search.settings import Termination
from inference.core.pacing import PacedReporter
from inference.core.protocols import Checkpoint, Reporter
from inference.predictors.panel import Panel

Clock = Callable[[], float]

_PATIENCE = 10
"""Rounds that a block waits at most until there are others to generalise it with."""


class CampaignSearch:
    """One campaign: `search` does it, from its beginning or from a checkpoint.

    `excluded` are abstract blocks that shall not be discovered. The reporter hears `Counted`, `SampledRound`
    and `Discovered`; the keeper gets results and checkpoints together.
    """

    def __init__(
        self,
        world: World,
        panel: Panel,
        judge: InterestJudge,
        termination: Termination,
        reporter: Reporter,
        keeper: Keeper,
        excluded: Sequence[AbstractBlock] = (),
        clock: Clock = time.monotonic,
    ) -> None:
        self._world = world
        self._domain = world.domain
        self._panel = panel
        self._driver = Driver(world.domain, panel, judge)
        self._termination = termination
        self._reporter = reporter
        self._pace = PacedReporter(reporter, clock)
        self._keeper = keeper
        self._excluded = excluded
        self._clock = clock
        self._state: State = State(seed=world.seed)
        self._book: DiscoverySet = DiscoverySet(world, excluded=excluded)
        self._meter = Meter(panel, clock)
        self._generalising = 0

    def search(self, resume: Checkpoint | None = None) -> State:
        """Search until the campaign's end is reached; where it stands then.

        Raises `PredictorError` where a tool cannot work, and what the reporter's pulse raises.
        """
        waiting: list[RoundCandidate] = []
        if resume is not None:
            waiting = self._take_up(state_of(resume, self._domain))
        self._meter.start(self._state.counters.seconds)
        while not self._is_over():
            if self._wants_more(waiting):
                waiting += self._round()
            elif waiting:
                waiting = self._wave(waiting)
            else:
                break
        self._tell(generalising=0)
        seconds = self._meter.seconds()
        self._state.counters = dataclasses.replace(self._state.counters, seconds=seconds)
        return self._state

    def _take_up(self, state: State) -> list[RoundCandidate]:
        """Go on from a checkpoint; the blocks that wait to be generalised are made once more."""
        self._state = state
        self._book = DiscoverySet(self._world, state.discoveries, state.subsumed, self._excluded)
        self._book.generalisations = state.counters.generalisations
        fresh = sample_fresh(self._world, self._driver, state.pending)
        return minimised(self._world, self._driver, fresh)

    def _wants_more(self, waiting: Sequence[RoundCandidate]) -> bool:
        """Whether to sample another round before those that wait are generalised: full waves are quicker."""
        if self._is_sampled_out() or len(self._chosen(waiting)) >= self._world.settings.side_by_side:
            return False
        batch = self._world.settings.batch
        return not waiting or self._state.counters.rounds - waiting[0].place // batch < _PATIENCE

    def _round(self) -> list[RoundCandidate]:
        """Fresh blocks: the interesting ones, minimised, that nothing known subsumes."""
        number, batch = self._state.counters.rounds, self._world.settings.batch
        end = (number + 1) * batch if self._termination.blocks is None else self._termination.blocks
        places = range(number * batch, min((number + 1) * batch, end))
        fresh = sample_fresh(self._world, self._driver, places)
        candidates = minimised(self._world, self._driver, fresh)
        unknown = [one for one in candidates if not self._book.knows(one.abstract, one.kind)]
        self._count(
            rounds=1,
            sampled=len(fresh.blocks),
            interesting=len(candidates),
            subsumed=len(candidates) - len(unknown),
            failed_samples=fresh.failed,
        )
        self._state.pending += [one.place for one in unknown]
        sampled = SampledRound(number, len(fresh.blocks), len(candidates), len(unknown), self._seconds())
        self._reporter.emit(sampled)
        self._keep(fresh=Round(number, list(fresh.blocks.values()), fresh.failed))
        return unknown

    def _wave(self, waiting: Sequence[RoundCandidate]) -> list[RoundCandidate]:
        """Generalise the first few blocks that have nothing in common; those that still wait."""
        chosen = self._chosen(waiting)
        self._tell(generalising=len(chosen))
        traces = generalise_all(self._world, self._driver, chosen, self._look_up)
        known = len(self._book.discoveries)
        admitted: list[Generalised] = []
        dropped = 0
        for candidate in chosen:
            before = len(self._book.discoveries)
            if self._book.knows(candidate.abstract, candidate.kind):
                dropped += 1  # by what has just been discovered
                continue
            admitted += self._book.admit(candidate, traces[candidate.place])
            if len(self._book.discoveries) > before:
                self._state.fruitful = max(candidate.place, self._state.fruitful)
        rest = [one for one in waiting if one not in chosen]
        left = [one for one in rest if not self._book.knows(one.abstract, one.kind)]
        self._count(generalisations=len(admitted), subsumed=dropped + len(rest) - len(left))
        self._state.pending = [one.place for one in left]
        self._keep(self._book.discoveries[known:], admitted)
        return left

    def _chosen(self, pending: Sequence[RoundCandidate]) -> list[RoundCandidate]:
        """The first few of which none is a special case of an earlier one."""
        chosen: list[RoundCandidate] = []
        for candidate in pending:
            if not any(
                one.kind == candidate.kind and self._domain.subsumes(one.abstract, candidate.abstract)
                for one in chosen
            ):
                chosen.append(candidate)
            if len(chosen) == self._world.settings.side_by_side:
                break
        return chosen

    def _keep(
        self,
        discoveries: Sequence[FoundDiscovery] = (),
        generalised: Sequence[Generalised] = (),
        fresh: Round | None = None,
    ) -> None:
        state, discovery_set = self._state, self._book
        judged, failures = self._meter.taken()
        self._count(judged=judged)
        state.failures.update(failures)
        sampled = state.counters.rounds * self._world.settings.batch
        if self._termination.blocks is not None:
            sampled = min(sampled, self._termination.blocks)
        state.counters = dataclasses.replace(
            state.counters, seconds=self._meter.seconds(), barren=sampled - 1 - state.fruitful
        )
        newly = {one: by for one, by in discovery_set.subsumed.items() if one not in state.subsumed}
        state.discoveries, state.subsumed = list(discovery_set.discoveries), dict(discovery_set.subsumed)
        for discovery in discoveries:
            self._reporter.emit(self._discovered(discovery))
        news = News(state.counters, dict(state.failures), fresh, discoveries, generalised, newly)
        self._keeper.keep(news, checkpoint_of(state, self._domain))
        self._tell(generalising=0)

    def _discovered(self, discovery: FoundDiscovery) -> Discovered:
        facts = discovery_json(discovery, self._domain)
        return Discovered(
            **{name: facts[name] for name in ("number", "abstract", "code", "length", "generality")},
            way=discovery.kind,
            interestingness=facts["interestingness"],
            concrete=discovery.concrete,
            subsumes=sorted(one for one, by in self._book.subsumed.items() if by == discovery.number),
            seconds=self._seconds(),
        )

    def _count(self, **more: int) -> None:
        counters = self._state.counters
        self._state.counters = dataclasses.replace(
            counters, **{name: getattr(counters, name) + number for name, number in more.items()}
        )

    def _is_over(self) -> bool:
        """Whether nothing shall be done any more."""
        enough = self._termination.discoveries
        return self._time_is_up() or (enough is not None and len(self._book.standing) >= enough)

    def _is_sampled_out(self) -> bool:
        """Whether no more fresh blocks are wanted."""
        end, counters = self._termination, self._state.counters
        if end.blocks is not None and counters.rounds * self._world.settings.batch >= end.blocks:
            return True
        return end.barren is not None and counters.barren >= end.barren

    def _time_is_up(self) -> bool:
        minutes = self._termination.minutes
        return minutes is not None and self._meter.seconds() >= 60 * minutes

    def _seconds(self) -> float:
        return round(self._meter.seconds(), 3)

    def _look_up(self) -> bool:
        """Tell how it goes, now and then, while blocks are generalised; whether time is up."""
        if self._pace.due(Counted.kind):
            self._tell(generalising=self._generalising)
        return self._time_is_up()

    def _tell(self, generalising: int) -> None:
        self._generalising = generalising
        counters = self._state.counters
        judged = counters.judged + self._meter.untaken()
        self._reporter.emit(
            Counted(
                **{**dataclasses.asdict(counters), "judged": judged, "seconds": self._seconds()},
                discoveries=len(self._book.discoveries),
                standing=len(self._book.standing),
                generalising=generalising,
                rate=round(self._meter.rate(), 1),
                failures=dict(self._state.failures),
            )
        )

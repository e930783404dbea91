"""The search for discoveries (Algorithm 8.1), in rounds; a function of the seed and of the rounds before.

A round samples fresh blocks, minimises the interesting ones side by side and drops those that an earlier
discovery subsumes. Once a few are left they are generalised together: a wave. A checkpoint follows each round
and each wave. A fresh block is identified by its place, the number of blocks sampled before it, so that a
checkpoint stores waiting blocks by their places.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence

from anica_app.core.domain.abstract import AbstractBlock
from anica_app.core.search.campaign_state import (
    CampaignDiscovery,
    CampaignGeneralisation,
    CampaignState,
    CampaignStore,
    CampaignUpdate,
    FreshRound,
    checkpoint_of,
    discovery_json,
    state_of,
)
from anica_app.core.search.discovery_set import DiscoverySet
from anica_app.core.search.events import CountersEvent, DiscoveryEvent, RoundEvent
from anica_app.core.search.generalisation import RoundCandidate, generalise_all, minimise_all, sample_fresh
from anica_app.core.search.interestingness import InterestJudge
from anica_app.core.search.search_tasks import Driver, PanelMeter, SearchContext
from anica_app.core.search.settings import Termination
from inference.core.pacing import PacedReporter
from inference.core.protocols import Checkpoint, Reporter
from inference.predictors.panel import Panel

Clock = Callable[[], float]

_MAX_ROUNDS_WAITING = 10
"""Rounds that a block waits at most for others to be generalised with."""


class CampaignSearch:
    """One campaign: `search` runs it from its beginning or from a checkpoint.

    `excluded` are abstract blocks that must not be discovered. The reporter gets `CountersEvent`,
    `RoundEvent` and `DiscoveryEvent`; the store gets each update together with its checkpoint.
    """

    def __init__(
        self,
        world: SearchContext,
        panel: Panel,
        judge: InterestJudge,
        termination: Termination,
        reporter: Reporter,
        store: CampaignStore,
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
        self._store = store
        self._excluded = excluded
        self._clock = clock
        self._state: CampaignState = CampaignState(seed=world.seed)
        self._discoveries: DiscoverySet = DiscoverySet(world, excluded=excluded)
        self._meter = PanelMeter(panel, clock)
        self._generalising = 0

    def search(self, resume: Checkpoint | None = None) -> CampaignState:
        """Search until the campaign's end, and return its final state.

        Args:
            resume: The checkpoint to continue from; None to begin.

        Raises:
            PredictorError: A tool cannot work. Exceptions of the reporter's pulse pass through.
        """
        waiting: list[RoundCandidate] = []
        if resume is not None:
            waiting = self._restore(state_of(resume, self._domain))
        self._meter.start(self._state.counters.seconds)
        while not self._has_ended():
            if self._should_sample(waiting):
                waiting += self._round()
            elif waiting:
                waiting = self._wave(waiting)
            else:
                break
        self._report_counters(generalising=0)
        seconds = self._meter.seconds()
        self._state.counters = dataclasses.replace(self._state.counters, seconds=seconds)
        return self._state

    def _restore(self, state: CampaignState) -> list[RoundCandidate]:
        """Continue from a checkpoint; waiting blocks are sampled and minimised again."""
        self._state = state
        self._discoveries = DiscoverySet(self._world, state.discoveries, state.subsumed, self._excluded)
        self._discoveries.generalisations = state.counters.generalisations
        fresh = sample_fresh(self._world, self._driver, state.pending)
        return minimise_all(self._world, self._driver, fresh)

    def _should_sample(self, waiting: Sequence[RoundCandidate]) -> bool:
        """Whether to sample another round before waiting blocks are generalised: full waves are faster."""
        if self._is_sampled_out() or len(self._independent(waiting)) >= self._world.settings.side_by_side:
            return False
        batch = self._world.settings.batch
        return not waiting or self._state.counters.rounds - waiting[0].place // batch < _MAX_ROUNDS_WAITING

    def _round(self) -> list[RoundCandidate]:
        """Sample a round; returns its interesting blocks, minimised, that no discovery subsumes."""
        number, batch = self._state.counters.rounds, self._world.settings.batch
        end = (number + 1) * batch if self._termination.blocks is None else self._termination.blocks
        places = range(number * batch, min((number + 1) * batch, end))
        fresh = sample_fresh(self._world, self._driver, places)
        candidates = minimise_all(self._world, self._driver, fresh)
        unsubsumed = self._unsubsumed_candidates(candidates)
        self._increase(
            rounds=1,
            sampled=len(fresh.blocks),
            interesting=len(candidates),
            subsumed=len(candidates) - len(unsubsumed),
            failed_samples=fresh.failed,
        )
        self._state.pending += [candidate.place for candidate in unsubsumed]
        sampled = RoundEvent(number, len(fresh.blocks), len(candidates), len(unsubsumed), self._seconds())
        self._reporter.emit(sampled)
        self._save(fresh=FreshRound(number, list(fresh.blocks.values()), fresh.failed))
        return unsubsumed

    def _wave(self, waiting: Sequence[RoundCandidate]) -> list[RoundCandidate]:
        """Generalise the first independent blocks together, and return the blocks that still wait."""
        candidates = self._independent(waiting)
        self._report_counters(generalising=len(candidates))
        traces = generalise_all(self._world, self._driver, candidates, self._report_when_due)
        discovery_count = len(self._discoveries.discoveries)
        admitted: list[CampaignGeneralisation] = []
        dropped = 0
        for candidate in candidates:
            before = len(self._discoveries.discoveries)
            if self._discoveries.is_known(candidate.abstract, candidate.kind):
                dropped += 1  # by what has just been discovered
                continue
            admitted += self._discoveries.admit(candidate, traces[candidate.place])
            if len(self._discoveries.discoveries) > before:
                self._state.fruitful = max(candidate.place, self._state.fruitful)
        unchosen = [pending for pending in waiting if pending not in candidates]
        still_waiting = self._unsubsumed_candidates(unchosen)
        self._increase(generalisations=len(admitted), subsumed=dropped + len(unchosen) - len(still_waiting))
        self._state.pending = [pending.place for pending in still_waiting]
        self._save(self._discoveries.discoveries[discovery_count:], admitted)
        return still_waiting

    def _unsubsumed_candidates(self, candidates: Sequence[RoundCandidate]) -> list[RoundCandidate]:
        known = self._discoveries.is_known
        return [candidate for candidate in candidates if not known(candidate.abstract, candidate.kind)]

    def _independent(self, pending: Sequence[RoundCandidate]) -> list[RoundCandidate]:
        """The first blocks, up to `side_by_side`, of which none is subsumed by an earlier one."""
        independent: list[RoundCandidate] = []
        for candidate in pending:
            if not any(
                earlier.kind == candidate.kind and self._domain.subsumes(earlier.abstract, candidate.abstract)
                for earlier in independent
            ):
                independent.append(candidate)
            if len(independent) == self._world.settings.side_by_side:
                break
        return independent

    def _save(
        self,
        discoveries: Sequence[CampaignDiscovery] = (),
        generalised: Sequence[CampaignGeneralisation] = (),
        fresh: FreshRound | None = None,
    ) -> None:
        """Store what was found since the last checkpoint together with it, so that neither is lost alone."""
        state, discovery_set = self._state, self._discoveries
        judged, failures = self._meter.take_counts()
        self._increase(judged=judged)
        state.failures.update(failures)
        sampled = state.counters.rounds * self._world.settings.batch
        if self._termination.blocks is not None:
            sampled = min(sampled, self._termination.blocks)
        state.counters = dataclasses.replace(
            state.counters, seconds=self._meter.seconds(), barren=sampled - 1 - state.fruitful
        )
        before = state.subsumed
        subsumed = {number: by for number, by in discovery_set.subsumed.items() if number not in before}
        state.discoveries, state.subsumed = list(discovery_set.discoveries), dict(discovery_set.subsumed)
        for discovery in discoveries:
            self._reporter.emit(self._discovery_event(discovery))
        all_failures = dict(state.failures)
        update = CampaignUpdate(state.counters, all_failures, fresh, discoveries, generalised, subsumed)
        self._store.save_update(update, checkpoint_of(state, self._domain))
        self._report_counters(generalising=0)

    def _discovery_event(self, discovery: CampaignDiscovery) -> DiscoveryEvent:
        facts = discovery_json(discovery, self._domain)
        return DiscoveryEvent(
            **{name: facts[name] for name in ("number", "abstract", "code", "length", "generality")},
            way=discovery.kind,
            interestingness=facts["interestingness"],
            concrete=discovery.concrete,
            subsumes=sorted(
                number for number, by in self._discoveries.subsumed.items() if by == discovery.number
            ),
            seconds=self._seconds(),
        )

    def _increase(self, **more: int) -> None:
        counters = self._state.counters
        self._state.counters = dataclasses.replace(
            counters, **{name: getattr(counters, name) + number for name, number in more.items()}
        )

    def _has_ended(self) -> bool:
        enough = self._termination.discoveries
        return self._time_is_up() or (enough is not None and len(self._discoveries.unsubsumed) >= enough)

    def _is_sampled_out(self) -> bool:
        end, counters = self._termination, self._state.counters
        if end.blocks is not None and counters.rounds * self._world.settings.batch >= end.blocks:
            return True
        return end.barren is not None and counters.barren >= end.barren

    def _time_is_up(self) -> bool:
        minutes = self._termination.minutes
        return minutes is not None and self._meter.seconds() >= 60 * minutes

    def _seconds(self) -> float:
        return round(self._meter.seconds(), 3)

    def _report_when_due(self) -> bool:
        """Report counters at intervals while blocks are generalised; return whether time is up."""
        if self._pace.due(CountersEvent.kind):
            self._report_counters(generalising=self._generalising)
        return self._time_is_up()

    def _report_counters(self, generalising: int) -> None:
        self._generalising = generalising
        counters = self._state.counters
        judged = counters.judged + self._meter.uncounted()
        self._reporter.emit(
            CountersEvent(
                **{**dataclasses.asdict(counters), "judged": judged, "seconds": self._seconds()},
                discoveries=len(self._discoveries.discoveries),
                standing=len(self._discoveries.unsubsumed),
                generalising=generalising,
                rate=round(self._meter.rate(), 1),
                failures=dict(self._state.failures),
            )
        )

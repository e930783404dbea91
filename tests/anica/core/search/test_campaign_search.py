"""Algorithm 8.1 on a tiny instruction set: what is found, when it ends, and interruptions."""

from __future__ import annotations

import itertools
import random
import time

import pytest

from anica_app.core.search.campaign_search import CampaignSearch
from anica_app.core.search.campaign_state import Outcome, checkpoint_of
from anica_app.core.search.interestingness import Disagreement, InterestSettings
from anica_app.core.search.search_tasks import SearchContext
from anica_app.core.search.settings import SearchSettings, Termination
from inference.core import checkpoint as checkpoints
from inference.core.errors import InterruptedRunError, InvalidInputError
from inference.predictors.panel import Panel
from inference.predictors.protocol import Failure, PredictorError
from tests.anica.core.search.toy import (
    MUST,
    Abstract,
    MemoryStore,
    Quiet,
    Scripted,
    ToyDomain,
    abstract_of,
    plain,
)

DOMAIN = ToyDomain()
QUICK = {"batch": 12, "samples": 30, "first_look": 5, "orders": 3, "longest": 3}


def aliased(block):
    """Slow where an a1 is followed by a b of the same register, round the corner as well."""
    follows = zip(block, block[1:] + block[:1], strict=True)
    hit = any(one[:2] == "a1" and next_[0] == "b" and one[2] == next_[2] for one, next_ in follows)
    return plain(block) + 20 * hit


def family(block):
    """Every b costs five cycles."""
    return sum(5.0 if one[0] == "b" else 1.0 for one in block)


def pair_crashes(block):
    """a2 and b1 together end the tool."""
    return Failure.CRASH if {"a2", "b1"} <= {one[:2] for one in block} else plain(block)


def several(block):
    """As `aliased`, and slow with two b2, with a2 and b1, and where a b2y is alone or with an a2x."""
    names = [one[:2] for one in block]
    faults = [
        names.count("b2") > 1,
        {"a2", "b1"} <= set(names),
        "b2y" in block and set(block) <= {"b2y", "a2x"},
    ]
    return aliased(block) + 20 * any(faults)


class Search:
    """A campaign over scripted tools, with what it told."""

    def __init__(
        self, *answers, end=None, seed=1, pulse=lambda: None, excluded=(), clock=time.monotonic, **settings
    ):
        self.tools = [Scripted(f"tool {n}", answer) for n, answer in enumerate(answers)]
        self.store, self.reporter = MemoryStore(), Quiet(pulse)
        self.world = SearchContext(DOMAIN, SearchSettings(**{**QUICK, **settings}), seed)
        self.panel = Panel(self.tools, self.reporter.pulse)
        self.campaign = CampaignSearch(
            self.world,
            self.panel,
            Disagreement(InterestSettings()),
            Termination(**(end or {"barren": 36})),
            self.reporter,
            self.store,
            excluded=excluded,
            clock=clock,
        )

    def result(self, resume=None):
        try:
            return self.campaign.search(resume)
        finally:
            self.panel.close()


def blocks_of(discoveries):
    return {frozenset(DOMAIN.listed(one.abstract)) for one in discoveries}


def test_a_store_that_is_slow_before_a_load_of_the_same_register_is_named_and_nothing_more():
    found = Search(aliased, plain).result().unsubsumed
    expected = frozenset(DOMAIN.listed(Abstract((("a1", None), (None, "b")), frozenset({(0, 1, MUST)}))))
    assert expected in blocks_of(found)
    for one in found:
        blocks = DOMAIN.listed(one.abstract)
        assert all(aliased(block) > plain(block) for block in blocks), one
        assert not any(aliased(b) > plain(b) for b in itertools.chain(*(halves(b) for b in blocks)))


def halves(block):
    return [block[:place] + block[place + 1 :] for place in range(len(block))] if len(block) > 1 else []


def test_a_family_predicted_wrongly_is_one_discovery():
    found = Search(family, plain).result().unsubsumed
    assert [one.abstract for one in found] == [abstract_of(DOMAIN, "b")]
    assert found[0].kind == "difference"
    assert found[0].interestingness == pytest.approx(8 / 6)
    assert (found[0].length, found[0].generality) == (1, 2)


def test_a_pair_that_crashes_is_found_beside_a_difference_and_told_apart():
    mixed = lambda block: max(family(block), 0) if pair_crashes(block) != Failure.CRASH else Failure.CRASH  # noqa: E731
    found = Search(mixed, plain).result().unsubsumed
    assert {one.kind for one in found} == {"difference", "crash of 1"}
    crash = next(one for one in found if one.kind == "crash of 1")
    assert set(DOMAIN.listed(crash.abstract)) == set(DOMAIN.listed(abstract_of(DOMAIN, "a2", "b1"))) or set(
        DOMAIN.listed(crash.abstract)
    ) == set(DOMAIN.listed(abstract_of(DOMAIN, "b1", "a2")))


def test_one_tool_alone_is_searched_for_crashes():
    found = Search(pair_crashes).result().unsubsumed
    assert len(found) == 1
    assert found[0].kind == "crash of 1"


def test_what_is_excluded_is_not_discovered_again():
    search = Search(family, plain, excluded=[abstract_of(DOMAIN, "b")])
    state = search.result()
    assert state.discoveries == []
    assert state.counters.interesting == state.counters.subsumed > 0


def test_discoveries_that_a_later_one_includes_are_marked():
    state = Search(family, plain, end={"blocks": 120}, orders=1, side_by_side=1, seed=3).result()
    assert state.subsumed, "b1 was to be found first, then all b"
    by_number = {one.number: one for one in state.discoveries}
    for special, general in state.subsumed.items():
        assert special < general
        assert DOMAIN.subsumes(by_number[general].abstract, by_number[special].abstract)
    for one, other in itertools.permutations(state.unsubsumed, 2):
        assert not DOMAIN.subsumes(one.abstract, other.abstract)


def test_every_generalisation_is_told_with_what_became_of_it():
    search = Search(aliased, plain, end={"blocks": 120})
    state = search.result()
    told = [one for news in search.store.updates for one in news.generalised]
    assert [one.number for one in told] == list(range(len(told))) != []
    assert state.counters.generalisations == len(told)
    made = [one for news in search.store.updates for one in news.discoveries]
    assert [one.number for one in made] == list(range(len(made)))
    for one in told:
        discovery = made[one.discovery]
        assert (one.became is Outcome.DISCOVERY) <= (one.trace.result == discovery.abstract)
        assert DOMAIN.subsumes(discovery.abstract, one.trace.result)
    fresh = [news.fresh for news in search.store.updates if news.fresh is not None]
    assert [one.number for one in fresh] == list(range(10))
    assert sum(len(one.blocks) for one in fresh) == state.counters.sampled == 120


@pytest.mark.parametrize(
    ("end", "reached"),
    [
        ({"blocks": 30}, lambda state: state.counters.sampled == 30),
        ({"barren": 24}, lambda state: 24 <= state.counters.barren < 48),
        ({"discoveries": 1}, lambda state: len(state.unsubsumed) >= 1),
    ],
)
def test_it_ends_where_it_shall(end, reached):
    assert reached(Search(aliased, plain, end=end).result())


def test_blocks_without_a_discovery_are_no_more_than_those_that_were_sampled():
    state = Search(plain, plain, end={"blocks": 30}).result()
    assert state.counters.barren == state.counters.sampled == 30


def test_it_ends_when_its_time_is_over_in_the_midst_of_generalising():
    at = itertools.count()
    state = Search(several, plain, end={"minutes": 1.0}, clock=lambda: float(next(at))).result()
    assert state.counters.seconds >= 60
    assert state.counters.seconds < 200
    with pytest.raises(InvalidInputError, match="must end"):
        Termination()


def test_a_tool_that_cannot_work_ends_the_search_with_its_own_words():
    class Broken(Scripted):
        def predict(self, blocks):
            raise PredictorError("not installed: apt install it")

    search = Search(plain, plain)
    search.panel.predictors = (search.tools[0], Broken("broken", plain))
    with pytest.raises(PredictorError, match="apt install"):
        search.result()


def test_the_same_seed_finds_the_same_however_slow_the_tools_are_and_another_seed_something_else():
    def dawdling(block):
        time.sleep(random.random() / 2000)  # any length: it must make no difference
        return several(block)

    one = Search(several, plain, end={"blocks": 60}).result()
    slow = Search(dawdling, plain, end={"blocks": 60}).result()
    other = Search(several, plain, end={"blocks": 60}, seed=2).result()
    assert one.discoveries == slow.discoveries
    assert one.subsumed == slow.subsumed
    assert [d.start_code for d in other.discoveries] != [d.start_code for d in one.discoveries]


def test_twenty_interruptions_at_random_moments_leave_no_trace():
    """Each attempt goes on from what the last one had stored, through its bytes."""
    undisturbed = Search(several, plain, end={"blocks": 240})
    expected = undisturbed.result()
    moments = random.Random(7)
    stored, news, interruptions = None, [], 0
    while True:
        pulses = itertools.count()
        last = moments.randint(1, 12) if interruptions < 20 else 10**9

        def pulse(pulses=pulses, last=last):
            if next(pulses) >= last:
                raise InterruptedRunError("stop")

        search = Search(several, plain, end={"blocks": 240}, pulse=pulse)
        try:
            state = search.result(None if stored is None else checkpoints.decode(stored))
        except InterruptedRunError:
            interruptions += 1
            state = None
        if search.store.checkpoint is not None:
            stored = checkpoints.encode(search.store.checkpoint)
        news += search.store.updates
        if state is not None:
            break
    assert interruptions == 20
    assert documents(state) == documents(expected)
    assert told(news) == told(undisturbed.store.updates), "nothing is told twice, nothing is lost"


def test_what_the_tools_were_asked_before_the_search_is_not_counted():
    expected = Search(pair_crashes, plain, end={"blocks": 120}).result()
    search = Search(pair_crashes, plain, end={"blocks": 120})
    crashed = search.panel.ask([DOMAIN.code(("a2x", "b1x"))])()
    assert crashed[0][0].failure is Failure.CRASH
    state = search.result()
    assert state.failures == expected.failures
    assert state.counters.judged == expected.counters.judged


def documents(state):
    """As it is stored, but for the time and the work that it took."""
    meta = checkpoint_of(state, DOMAIN).meta
    unequal = {"seconds", "judged"}
    return {**meta, "counters": {k: v for k, v in meta["counters"].items() if k not in unequal}}


def told(news):
    return (
        [one for each in news for one in each.discoveries],
        [(one.number, one.trace, one.became, one.discovery) for each in news for one in each.generalised],
        [each.fresh.number for each in news if each.fresh is not None],
        [sorted((each.subsumed or {}).items()) for each in news if each.subsumed],
    )


def test_the_live_events_count_up_and_name_every_discovery():
    search = Search(aliased, plain, end={"blocks": 120})
    state = search.result()
    by_kind = {
        kind: [e for e in search.reporter.events if e.kind == kind]
        for kind in ("batch", "discovery", "counters")
    }
    assert [e.number for e in by_kind["discovery"]] == [one.number for one in state.discoveries]
    assert [e.round for e in by_kind["batch"]] == list(range(10))
    assert sum(e.interesting for e in by_kind["batch"]) == state.counters.interesting
    last = by_kind["counters"][-1].payload()
    assert last["sampled"] == 120
    assert last["standing"] == len(state.unsubsumed)
    assert last["judged"] > 120

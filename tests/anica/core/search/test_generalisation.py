"""Algorithm 8.2 on a tiny instruction set: theorems, traces, evidence."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anica_app.core.search.abstract_check import AbstractCheck, InterestReason, SamplingChecker
from anica_app.core.search.generalisation import RoundCandidate, generalise, generalise_all
from anica_app.core.search.interestingness import BlockInterest, Disagreement, InterestSettings, JudgedBlock
from anica_app.core.search.search_tasks import Driver, SearchContext
from anica_app.core.search.settings import SearchSettings
from inference.predictors.panel import Panel
from inference.predictors.protocol import Failure
from tests.anica.core.search.toy import (
    EVERYTHING,
    MUST,
    MUST_NOT,
    Abstract,
    Scripted,
    ToyDomain,
    abstract_of,
    plain,
)
from tests.drawn import examples

DOMAIN = ToyDomain()
PAIRS = list(itertools.product(EVERYTHING, repeat=2))


class Ideal:
    """The check of Theorem 8.5: every block that is represented is looked at."""

    def __init__(self, interesting):
        self._interesting = interesting

    def check(self, abstract, path, before=None):
        yield from ()
        ideal = self._interesting.issuperset(DOMAIN.listed(abstract))
        return AbstractCheck(InterestReason.ALL if ideal else InterestReason.SAMPLE)

    confirm = check


def ended(task):
    with pytest.raises(StopIteration) as end:
        next(task)
    return end.value.value


def more_general(abstract):
    """Everything above an abstract block."""
    above, waiting = set(), [abstract]
    while waiting:
        one = waiting.pop()
        for expansion in DOMAIN.expansions(one):
            wider = DOMAIN.expand(one, expansion)
            if wider not in above:
                above.add(wider)
                waiting.append(wider)
    return above


abstract_blocks = st.builds(
    Abstract,
    st.tuples(*[st.tuples(st.sampled_from([None, "a1", "b2"]), st.sampled_from([None, "a", "b"]))] * 2),
    st.sampled_from([frozenset(), frozenset({(0, 1, MUST)}), frozenset({(0, 1, MUST_NOT)})]),
)


@examples(150)
@given(st.lists(abstract_blocks, min_size=1, max_size=4), st.data())
def test_with_an_ideal_check_the_result_is_interesting_and_nothing_above_it_is(planted, data):
    interesting = {block for one in planted for block in DOMAIN.listed(one)}
    starts = [block for block in PAIRS if interesting.issuperset(DOMAIN.listed(DOMAIN.represent(block)))]
    if not starts:
        return
    block = data.draw(st.sampled_from(starts))
    world = SearchContext(DOMAIN, SearchSettings(), data.draw(st.integers(0, 1000)))
    start = DOMAIN.represent(block)
    trace = ended(generalise(world, start, AbstractCheck(InterestReason.ALL), Ideal(interesting), 0, ()))
    assert interesting.issuperset(DOMAIN.listed(trace.result))
    assert DOMAIN.contains(trace.result, block)
    for above in more_general(trace.result):
        assert not interesting.issuperset(DOMAIN.listed(above))
    assert [step.accepted for step in trace.steps].count(True) == len(DOMAIN.expansions(start)) - len(
        DOMAIN.expansions(trace.result)
    )


def slow_aliased_store(block):
    """Ten cycles more where an a1 is followed by a b of the same register, round the corner as well."""
    follows = zip(block, block[1:] + block[:1], strict=True)
    hit = any(one[:2] == "a1" and next_[0] == "b" and one[2] == next_[2] for one, next_ in follows)
    return plain(block) + 10 * hit


def generalised(answer, block, other=plain, judge=None, expired=lambda: False, **settings):
    tools = [Scripted("one", answer), Scripted("two", other)]
    panel = Panel(tools)
    driver = Driver(DOMAIN, panel, Disagreement(judge or InterestSettings()))
    world = SearchContext(DOMAIN, SearchSettings(**settings), 1)
    witness = driver.judge([block])[0]
    candidate = RoundCandidate(0, witness, witness, DOMAIN.represent(block))
    traces = generalise_all(world, driver, [candidate], expired)[0]
    panel.close()
    return traces, tools


@pytest.mark.parametrize("options", [{}, {"share_evidence": False, "first_look": 100}])
def test_a_planted_fault_is_characterised_exactly_whatever_the_order(options):
    traces, _ = generalised(slow_aliased_store, ("a1x", "b2x"), **options)
    expected = Abstract((("a1", None), (None, "b")), frozenset({(0, 1, MUST)}))
    assert len(traces) == 5
    assert expected in [trace.result for trace in traces]
    for trace in traces:
        assert all(slow_aliased_store(block) > plain(block) for block in DOMAIN.listed(trace.result))
    assert len({tuple(step.expansion for step in trace.steps) for trace in traces}) > 1


@pytest.mark.parametrize("confirming", [0, 100])
def test_measurements_that_others_disturb_do_not_stand_in_the_way(confirming):
    lost = set()

    def disturbed(block):
        if block != ("a1y", "b1y"):
            return slow_aliased_store(block)
        lost.add(block)
        return Failure.NO_NUMBER

    traces, _ = generalised(disturbed, ("a1x", "b2x"), confirming=confirming)
    assert lost
    expected = Abstract((("a1", None), (None, "b")), frozenset({(0, 1, MUST)}))
    assert expected in [trace.result for trace in traces]


@pytest.mark.parametrize(("exceptions", "whole"), [(0.0, False), (0.4, True)])
def test_a_rule_may_have_as_many_exceptions_as_are_forgiven(exceptions, whole):
    special = ("a1y", "b1y")

    def answer(block):
        return plain(block) if block == special else slow_aliased_store(block)

    options = {"samples": 20, "first_look": 20, "confirming": 20, "exceptions": exceptions}
    traces, _ = generalised(answer, ("a1x", "b2x"), **options)
    expected = Abstract((("a1", None), (None, "b")), frozenset({(0, 1, MUST)}))
    assert (expected in [trace.result for trace in traces]) == whole
    assert any(special in DOMAIN.listed(trace.result) for trace in traces) == whole
    counted = [step.check.samples for trace in traces for step in trace.steps if step.accepted]
    for samples in counted:
        exceptional = sum(not one.verdict.interesting for one in samples)
        assert exceptional <= exceptions * len(samples)


def test_the_first_order_drops_names_first_and_only_if_wanted():
    class Named(ToyDomain):
        def precedence(self, expansion):
            return {"alias": 0, "family": 1, "name": 2}[expansion[0]]

    def taken(**settings):
        world = SearchContext(Named(), SearchSettings(**settings), 1)
        start = DOMAIN.represent(("a1x", "b2x"))
        check = AbstractCheck(InterestReason.ALL)
        traces = [ended(generalise(world, start, check, Ideal({*PAIRS}), order, ())) for order in (0, 1)]
        return [[step.expansion[0] for step in trace.steps] for trace in traces]

    first, second = taken()
    assert first == ["alias", "family", "family", "name", "name"]
    assert second != first
    assert taken(names_first=False)[0] != first


def test_what_hardly_anybody_knows_about_is_not_interesting():
    def lost(block):
        return Failure.NO_NUMBER if block != ("a1x", "b2x") else slow_aliased_store(block)

    traces, _ = generalised(lost, ("a1x", "b2x"))
    assert all(len(set(DOMAIN.listed(trace.result))) <= 2 for trace in traces)


def test_when_time_is_up_what_was_reached_is_the_result():
    at = itertools.count()
    whole, _ = generalised(slow_aliased_store, ("a1x", "b2x"), orders=1)
    cut, _ = generalised(slow_aliased_store, ("a1x", "b2x"), orders=1, expired=lambda: next(at) >= 3)
    (short,), (full,) = cut, whole
    assert 0 < len(short.steps) < len(full.steps)
    assert [step.expansion for step in short.steps] == [s.expansion for s in full.steps[: len(short.steps)]]
    assert all(slow_aliased_store(block) > plain(block) for block in DOMAIN.listed(short.result))


def test_a_constraint_that_others_imply_goes_without_a_look():
    traces, _ = generalised(slow_aliased_store, ("a1x", "b2x"))
    idle = [step for trace in traces for step in trace.steps if step.check.reason is InterestReason.SAME]
    assert idle
    assert all(step.accepted and not step.check.samples for step in idle)
    for trace in traces:
        assert trace.result_check.samples, "how interesting the result is was seen when it last grew"


def test_a_trace_tells_what_was_tried_and_why():
    trace = generalised(slow_aliased_store, ("a1x", "b2x"), orders=1)[0][0]
    assert trace.start_check.interesting
    reached = trace.start
    for step in trace.steps:
        expanded = DOMAIN.expand(reached, step.expansion)
        assert step.accepted == (step.check.reason in (InterestReason.ALL, InterestReason.SAME))
        assert all(DOMAIN.contains(expanded, one.block) for one in step.check.samples)
        assert step.accepted == all(one.verdict.interesting for one in step.check.samples)
        reached = expanded if step.accepted else reached
    assert reached == trace.result
    tried = [step.expansion for step in trace.steps]
    assert len(tried) == len(set(tried)), "what was rejected is not tried again"


def test_a_block_seen_to_be_uninteresting_refutes_other_abstract_blocks_without_sampling():
    shared, tools = generalised(slow_aliased_store, ("a1x", "b2x"))
    alone, others = generalised(slow_aliased_store, ("a1x", "b2x"), share_evidence=False)
    reasons = [step.check.reason for trace in shared for step in trace.steps]
    assert InterestReason.KNOWN in reasons
    assert InterestReason.KNOWN not in [step.check.reason for trace in alone for step in trace.steps]
    assert sum(map(len, tools[0].asked)) < sum(map(len, others[0].asked))
    refuted = next(s.check for t in shared for s in t.steps if s.check.reason is InterestReason.KNOWN)
    assert not refuted.samples[0].verdict.interesting


def test_looking_in_steps_asks_for_less_where_the_first_look_decides():
    at_once = generalised(slow_aliased_store, ("a1x", "b2x"), first_look=100, share_evidence=False)[1]
    in_steps = generalised(slow_aliased_store, ("a1x", "b2x"), first_look=5, share_evidence=False)[1]
    assert sum(map(len, in_steps[0].asked)) < sum(map(len, at_once[0].asked))
    assert SearchSettings(samples=100, first_look=10).batch_sizes() == [10, 90]
    assert SearchSettings(samples=7, first_look=100).batch_sizes() == [7]


def test_where_the_representation_is_not_interesting_the_concrete_block_is_the_result():
    only_x = lambda block: 9.0 if block == ("a1x",) else 1.0  # noqa: E731
    traces, _ = generalised(only_x, ("a1x",))
    assert len(traces) == 1
    assert traces[0].concrete
    assert traces[0].steps == ()
    assert traces[0].result == DOMAIN.represent(("a1x",))


def test_what_cannot_be_sampled_is_not_interesting():
    world = SearchContext(ToyDomain(names=("b1",)), SearchSettings(attempts=3), 1)
    model = JudgedBlock(("a1x",), b"a1x", (), BlockInterest(True, 1.0, "difference"))
    check = ended(SamplingChecker(world, model).check(abstract_of(DOMAIN, "a1"), ()))
    assert check.reason is InterestReason.EMPTY
    assert not check.interesting
    assert check.failed == 3, "one sample given up is enough"


@pytest.mark.parametrize(
    ("new_share", "least", "most"), [(0.0, 0.2, 0.8), (0.75, 0.75, 0.95), (1.0, 1.0, 1.0)]
)
def test_a_share_of_the_samples_is_of_what_an_expansion_has_added(new_share, least, most):
    world = SearchContext(DOMAIN, SearchSettings(new_share=new_share, first_look=20), 1)
    model = JudgedBlock(("a1x", "b1x"), b"a1x b1x", (), BlockInterest(True, 1.0, "difference"))
    before, wider = abstract_of(DOMAIN, "a", ""), abstract_of(DOMAIN, "", "")
    blocks = next(SamplingChecker(world, model).check(wider, (), before))
    new = [block for block in blocks if not DOMAIN.contains(before, block)]
    assert least <= len(new) / len(blocks) <= most


def crashes_on_a_pair(block):
    """Ten times too slow with any a2; a crash where a b1 comes along."""
    names = {one[:2] for one in block}
    if {"a2", "b1"} <= names:
        return Failure.CRASH
    return 10.0 * len(block) if "a2" in names else plain(block)


def test_a_crash_is_generalised_apart_from_a_difference():
    apart, _ = generalised(crashes_on_a_pair, ("a2x", "b1y"))
    assert {tuple(DOMAIN.listed(t.result)) for t in apart} == {
        tuple(DOMAIN.listed(abstract_of(DOMAIN, "a2", "b1")))
    }
    mixed, _ = generalised(crashes_on_a_pair, ("a2x", "b1y"), kinds_apart=False)
    assert abstract_of(DOMAIN, "a2", "") in [trace.result for trace in mixed]

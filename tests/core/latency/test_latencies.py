"""Latencies are found again on processors that have them, and what cannot be isolated says why."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core.latency import ChainReading, LatencyProblem, LatencyResult, infer_latencies, read_pair
from inference.isa.chains import ChainLink, DependencyChain, PairChains
from inference.isa.x86 import schemes
from inference.isa.x86.chains import connectors, links_of, pair_chains
from inference.isa.x86.chains.values import values_of
from inference.measuring.simulated_chains import SimulatedLatencies, sampled_latencies
from tests.core.latency.sampled_pairs import by_name, pairs
from tests.drawn import examples


@cache
def of_connectors() -> tuple[PairChains, ...]:
    return tuple(map(pair_chains, connectors()))


def all_links() -> list[ChainLink]:
    chains = (chain for pair in (*of_connectors(), *pairs()) for chain in pair.chains)
    return sorted({link for chain in chains for link in chain.links})


def drawn(seed: int) -> dict[ChainLink, float]:
    """Random latencies: whole cycles, as of most, and a few that are not; connectors are short.

    Logical operations, which restore values, take one cycle, as on every core.
    """
    dice = random.Random(seed)
    quick = set(connectors())
    logical = dict.fromkeys((link for link in quick if link.scheme.startswith(LOGICAL)), 1.0)
    return {
        link: float(dice.randint(1, 3 if link in quick else 20))
        if dice.random() < 0.9
        else dice.randint(4, 30) / 4
        for link in all_links()
    } | logical


LOGICAL = ("and", "or", "vpand", "vpor", "vandpd", "vorpd", "korw")


def truths(pair: PairChains, truth: dict[ChainLink, float]) -> tuple[float, float]:
    """The least and the most that a pair takes, over the values that matter."""
    links = [replace(pair.link, values=one.name) for one in pair.classes] or [pair.link]
    found = [truth[link] for link in links]
    return min(found), max(found)


def is_right(value: float | None, truth: float) -> bool:
    return value is not None and abs(value - truth) <= max(0.1, 0.02 * truth)


def inferred(truth: dict[ChainLink, float], **quirks: float) -> LatencyResult:
    return infer_latencies(
        LatencyProblem(pairs(), of_connectors()), SimulatedLatencies(truth.__getitem__, **quirks)
    )  # type: ignore[arg-type]


@examples(20)
@given(st.integers(0, 10_000))
def test_every_isolated_latency_is_the_processors_own(seed: int) -> None:
    truth = drawn(seed)
    result = inferred(truth)
    asked = {pair.link: pair for pair in pairs()}
    isolated = [one for one in result.pairs if one.is_isolated]
    assert len(isolated) == sum(pair.isolated and bool(pair.chains) for pair in pairs())
    for one in isolated:
        assert (one.least, one.most) == pytest.approx(truths(asked[one.link], truth))


@examples(20)
@given(st.integers(0, 10_000))
def test_a_bound_is_never_below_the_truth_and_sums_are_said_to_be_sums(seed: int) -> None:
    truth = drawn(seed)
    asked = {pair.link: pair for pair in pairs()}
    for one in inferred(truth).pairs:
        if one.at_most is not None:
            assert one.at_most >= truths(asked[one.link], truth)[1] - 1e-6
            assert "only in sum" in one.why or "stored just before" in one.why


def test_noise_and_outliers_hide_next_to_nothing_and_no_wrong_value_passes() -> None:
    wanted = [pair for pair in pairs() if pair.isolated and pair.chains]
    found_right, seeds = 0, range(20)
    for seed in seeds:
        truth = drawn(seed)
        found = {one.link: one for one in inferred(truth, noise=0.01, outliers=0.02, seed=seed).pairs}
        for pair in wanted:
            one, (least, most) = found[pair.link], truths(pair, truth)
            found_right += is_right(one.least, least) and is_right(one.most, most)
            assert one.least == pytest.approx(least, rel=0.04, abs=0.3)
            assert one.most == pytest.approx(most, rel=0.04, abs=0.3)
    assert found_right >= 0.992 * len(wanted) * len(seeds)  # connectors of up to 7.5 cycles


@cache
def divisions() -> tuple[PairChains, ...]:
    """Of all schemes whose values matter, but AVX-512."""
    texts = (one.text for one in schemes() if one.encoding != "EVEX" and len(values_of(one)) > 1)
    return tuple(pair for text in texts for pair in map(pair_chains, links_of(text)) if pair.isolated)


@pytest.mark.parametrize("seed", range(8))
def test_quick_and_slow_values_are_found_among_noise_and_outliers(seed: int) -> None:
    drawn_by_seed = sampled_latencies(seed)
    measurer = SimulatedLatencies(drawn_by_seed, noise=0.01, outliers=0.02, seed=seed)
    result = infer_latencies(LatencyProblem(divisions(), of_connectors()), measurer)
    right = 0
    for pair, one in zip(divisions(), result.pairs, strict=True):
        true = [drawn_by_seed(replace(pair.link, values=each.name)) or 0.0 for each in pair.classes]
        right += is_right(one.least, min(true)) and is_right(one.most, max(true))
    assert right >= 0.99 * len(divisions())


def test_ways_back_that_show_different_latencies_are_told_apart_however_long_these_are() -> None:
    """A bypass costs a cycle, which is not much of a division."""
    division, lead = ChainLink("vdivpd", "2", "1"), ChainLink("vpand", "2", "1")
    direct = DependencyChain(b"\x90", (division,))
    closed = [DependencyChain(b"\x90" * (1 + n), (division, *(lead,) * n)) for n in (1, 3)]
    readings = [ChainReading(direct, 17.0), ChainReading(closed[0], 19.0), ChainReading(closed[1], 21.0)]
    found = read_pair(PairChains(division, (direct, *closed), isolated=True), readings, {lead: 1.0})
    assert (found.least, found.most, found.best) == pytest.approx((17.0, 18.0, 17.0))
    near = [
        ChainReading(one.chain, (one.cycles or 0) - (0.8 if one.chain != direct else 0)) for one in readings
    ]
    found = read_pair(PairChains(division, (direct, *closed), isolated=True), near, {lead: 1.0})
    assert found.least == found.most
    assert 17.0 < (found.most or 0) < 17.2


def test_a_disturbed_long_chain_is_not_believed_against_two_that_agree() -> None:
    addition, lead = ChainLink("add", "1", "1"), ChainLink("movsxd", "2", "1")
    chains = [DependencyChain(b"\x90" * (1 + n), (addition, *(lead,) * n)) for n in (0, 1, 3)]
    readings = [
        ChainReading(chain, cycles) for chain, cycles in zip(chains, (0.962, 2.001, 3.736), strict=True)
    ]
    found = read_pair(PairChains(addition, tuple(chains), isolated=True), readings, {lead: 1.0})
    assert found.least == found.most == pytest.approx(0.98, abs=0.02)
    assert not found.throughput_limited


class DisturbedAtFirst(SimulatedLatencies):
    """One that shows a tenth too little whenever a chain through flags is measured for the first time."""

    def measure(self, chains: Sequence[DependencyChain], repeat: int = 0) -> Iterator[ChainReading]:
        for one in super().measure(chains, repeat):
            assert one.cycles is not None
            through_flags = "flags" in (one.chain.links[0].source, one.chain.links[0].destination)
            yield replace(one, cycles=one.cycles * (0.9 if through_flags and not repeat else 1.0))


def test_sums_that_are_no_whole_number_are_measured_again() -> None:
    truth = dict.fromkeys(all_links(), 1.0)
    sums = [pair for pair in pairs() if pair.chains and not pair.isolated and "flags" in pair.why]
    assert sums
    expected = {one.link: one.at_most for one in inferred(truth).pairs}
    disturbed = infer_latencies(LatencyProblem(sums, of_connectors()), DisturbedAtFirst(truth.__getitem__))
    assert {one.link: one.at_most for one in disturbed.pairs} == pytest.approx(
        {pair.link: expected[pair.link] for pair in sums}
    )


def test_sums_of_whole_cycles_are_measured_once() -> None:
    truth = dict.fromkeys(all_links(), 1.0)
    sums = tuple(pair for pair in pairs() if pair.chains and not pair.isolated)
    codes: list[tuple[bytes, bool]] = []
    infer_latencies(
        LatencyProblem(sums, []),
        SimulatedLatencies(truth.__getitem__),
        lambda reading, *_: codes.append((reading.chain.code, reading.chain.loop)),
    )
    assert len(set(codes)) == len(codes)


def test_what_throughput_limits_is_passed_over() -> None:
    truth = dict.fromkeys(all_links(), 1.0) | dict.fromkeys(connectors(), 3.0)
    result = inferred(truth, throughput=1.5)
    for text, source in (("add GPR[64]:RW, GPR[64]:R", "1"), ("vaddpd XMM:W, XMM:R, XMM:R", "2")):
        found = by_name(result, text, source, "1")
        assert found.throughput_limited  # the scheme with itself takes 1.5 cycles
        assert (found.least, found.most) == pytest.approx((1.0, 1.0))  # with a connector it is hidden


def test_the_same_code_is_measured_once() -> None:
    class Counting(SimulatedLatencies):
        def measure(self, chains, repeat=0):  # type: ignore[no-untyped-def]
            codes.extend((chain.code, repeat) for chain in chains)
            return super().measure(chains, repeat)

    codes: list[tuple[bytes, int]] = []
    infer_latencies(LatencyProblem([*pairs(), *pairs()], of_connectors()), Counting(drawn(1).__getitem__))
    assert len(codes) == len(set(codes))


def test_a_listener_hears_how_many_readings_there_are_and_will_be() -> None:
    class Counting(SimulatedLatencies):
        def measure(self, chains, repeat=0):  # type: ignore[no-untyped-def]
            rounds.append(len(chains))
            return super().measure(chains, repeat)

    rounds: list[int] = []
    heard: list[tuple[int, int]] = []
    infer_latencies(
        LatencyProblem(pairs(), of_connectors()),
        Counting(drawn(1).__getitem__, noise=0.01, outliers=0.05, seed=1),
        lambda reading, done, total: heard.append((done, total)),
    )
    assert len(rounds) > 1
    assert heard == [
        (sum(rounds[:number]) + done, sum(rounds[: number + 1]))
        for number, size in enumerate(rounds)
        for done in range(1, size + 1)
    ]


def test_what_no_other_chain_confirms_is_measured_again() -> None:
    """Something else slowed a chain down when it was measured first."""
    link, way = ChainLink("imul", "2", "1"), ChainLink("movsxd", "2", "1")
    chains = tuple(DependencyChain(b"\x90" * (1 + n), (link, *(way,) * n)) for n in (1, 3))

    class Disturbed(SimulatedLatencies):
        def measure(self, chains, repeat=0):  # type: ignore[no-untyped-def]
            asked.append([chain.code for chain in chains])
            for one in super().measure(chains, repeat):
                slowed = repeat == 0 and one.chain == chains[-1]
                yield replace(one, cycles=1.3 * one.cycles) if slowed else one

    asked: list[list[bytes]] = []
    problem = LatencyProblem([PairChains(link, chains, isolated=True)], of_connectors())
    truth = dict.fromkeys(all_links(), 1.0) | {link: 3.0, way: 1.0}
    known = PairChains(way, (DependencyChain(b"\x91", (way,)),), isolated=True)
    (found,) = infer_latencies(replace(problem, connectors=[known]), Disturbed(truth.__getitem__)).pairs
    assert (found.least, found.most) == (3.0, 3.0)
    assert asked[1:] == [[b"\x91", *(chain.code for chain in chains)]]  # a connector alone has no other chain


def test_what_contradicts_for_good_is_measured_no_more_than_twice() -> None:
    truth = dict.fromkeys(all_links(), 1.0) | dict.fromkeys(connectors(), 3.0)
    asked: list[int] = []

    class Counting(SimulatedLatencies):
        def measure(self, chains, repeat=0):  # type: ignore[no-untyped-def]
            asked.append(len(chains))
            return super().measure(chains, repeat)

    measurer = Counting(truth.__getitem__, throughput=1.5)
    infer_latencies(LatencyProblem(pairs(), of_connectors()), measurer)
    assert len(asked) == 2
    assert 0 < asked[1] < asked[0] / 2

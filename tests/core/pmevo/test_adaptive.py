"""Measuring against representatives of classes, on simulated processors."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping
from inference.core.pmevo import plan
from inference.core.pmevo.adaptive import CongruenceClasses, adaptive
from inference.measuring.simulated import SimulatedProcessor
from tests.drawn import examples

Ask = Callable[[Sequence[Experiment]], list[float]]

KINDS = (
    ((0b00001, 1),),
    ((0b00011, 1),),
    ((0b00110, 1),),
    ((0b01100, 1),),
    ((0b01111, 1),),
    ((0b10000, 1),),
    ((0b00011, 1), (0b10000, 1)),
    ((0b01111, 2), (0b10000, 1)),
    ((0b00001, 3),),
)


def many(n: int) -> PortMapping:
    """n schemes that take turns at being one of nine kinds."""
    usage = {f"scheme {k:03}": KINDS[k % len(KINDS)] for k in range(n)}
    return PortMapping(tuple("01234"), usage)


def truth(mapping: PortMapping) -> set[tuple[str, ...]]:
    alike: dict[object, list[str]] = {}
    for scheme, uops in mapping.usage.items():
        alike.setdefault(uops, []).append(scheme)
    return {tuple(sorted(members)) for members in alike.values()}


def asking(mapping: PortMapping, noise: float = 0.0, seed: int = 1) -> Ask:
    processor = SimulatedProcessor(mapping, noise=noise, seed=seed)
    return lambda experiments: [
        np.nan if result.cycles is None else result.cycles for result in processor.measure(experiments)
    ]


def run(
    mapping: PortMapping, ask: Ask, most: int | None = None, domains: Mapping[str, str] | None = None
) -> tuple[CongruenceClasses, dict[Experiment, float]]:
    """The whole plan with everything that was measured, in order."""
    singletons = plan.singletons(sorted(mapping.usage))
    known = dict(zip(singletons, ask(singletons), strict=True))
    alone = {e.schemes[0]: cycles for e, cycles in known.items() if not np.isnan(cycles)}
    rounds = adaptive(alone, 0.05, max_questions=most, domains=domains or {})
    asked = next(rounds)
    while True:
        assert len(set(asked)) == len(asked) > 0, "no round is empty"
        assert not set(asked) & set(known), "nothing is asked twice"
        known |= dict(zip(asked, ask(asked), strict=True))
        try:
            asked = rounds.send([known[e] for e in asked])
        except StopIteration as end:
            return end.value, known


def sorted_classes(found: CongruenceClasses) -> set[tuple[str, ...]]:
    return {tuple(sorted(members)) for members in found.classes}


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_classes_are_found_with_a_fraction_of_the_experiments(noise: float) -> None:
    mapping = many(90)
    found, known = run(mapping, asking(mapping, noise))
    assert sorted_classes(found) == truth(mapping)
    alone = {e.schemes[0]: cycles for e, cycles in known.items() if e.is_singleton}
    assert len(known) < 0.4 * plan.exhaustive(alone, 0.05)


def test_schemes_of_different_domains_never_share_a_class() -> None:
    mapping = many(36)
    domains = dict.fromkeys(list(mapping.usage)[:18], "vector")
    found, _ = run(mapping, asking(mapping), domains=domains)
    wanted = {
        tuple(scheme for scheme in members if (scheme in domains) == vector)
        for members in truth(mapping)
        for vector in (True, False)
    }
    assert sorted_classes(found) == wanted


def test_all_pairs_of_representatives_are_measured_as_the_paper_s_plan_has_them() -> None:
    mapping = many(40)
    found, known = run(mapping, asking(mapping, 0.005))
    alone = {e.schemes[0]: cycles for e, cycles in known.items() if e.is_singleton}
    representatives = {members[0] for members in found.classes}
    wanted = [e for e in plan.pairs(alone, 0.05) if representatives.issuperset(e.schemes)]
    assert len(wanted) > 36
    assert known.keys() >= set(wanted)


@pytest.mark.parametrize("most", [1, 100, 1000, 2000])
def test_the_plan_ends_where_experiments_run_out_and_still_knows_every_scheme(most: int) -> None:
    mapping = many(90)
    found, known = run(mapping, asking(mapping, 0.01), most)
    assert len(known) <= len(mapping.usage) + most
    assert sorted(scheme for members in found.classes for scheme in members) == sorted(mapping.usage)
    whole, _ = run(mapping, asking(mapping, 0.01))
    assert len(found.classes) >= len(whole.classes)


def test_noise_of_one_per_cent_splits_no_class_because_odd_answers_are_asked_again() -> None:
    mapping = many(63)
    opinions = 0
    for seed in range(6):
        found, _ = run(mapping, asking(mapping, 0.012, seed))
        assert sorted_classes(found) == truth(mapping)
        opinions += found.second_opinions
    assert opinions > 0


def test_an_odd_answer_that_stays_odd_founds_a_class() -> None:
    mapping = many(40)
    exact = asking(mapping)

    def with_a_difference(experiments: Sequence[Experiment]) -> list[float]:
        return [
            cycles * (1.3 if "scheme 011" in e.schemes and len(e.schemes) == 2 else 1)
            for e, cycles in zip(experiments, exact(experiments), strict=True)
        ]

    found, _ = run(mapping, with_a_difference)
    assert ("scheme 011",) in found.classes


def test_a_difference_that_one_late_representative_shows_splits_the_class() -> None:
    # Both take one cycle alone and beside everything but the last kind, which has port 1 to itself or not.
    usage = {f"a{k}": ((0b0011, 2),) for k in range(6)} | {f"b{k}": ((0b0001, 1),) for k in range(6)}
    usage |= {f"x{k}": ((0b0100, 1),) for k in range(3)} | {"y": ((0b0010, 1),)}
    mapping = PortMapping(tuple("0123"), usage)
    found, _ = run(mapping, asking(mapping))
    assert sorted_classes(found) == truth(mapping)


def test_what_one_member_shows_is_measured_of_all_members_where_representatives_are_many() -> None:
    # Only `y` tells `p` from `q`, and it founds its class when all have been measured with many others.
    usage = {f"p{k:02}": ((0b001, 1), (0b010, 1)) for k in range(12)}
    usage |= {f"q{k:02}": ((0b001, 1),) for k in range(13)} | {"y": ((0b010, 1),)}
    usage |= {f"x{k:02}": ((0b100, k + 2),) for k in range(15)}
    mapping = PortMapping(tuple("012"), usage)
    found, _ = run(mapping, asking(mapping))
    assert sorted_classes(found) == truth(mapping)


@pytest.mark.parametrize("share", [0.01, 0.05])
def test_unusable_answers_neither_crash_nor_split(share: float) -> None:
    mapping = many(72)
    exact = asking(mapping)
    random = np.random.default_rng(3)

    def sometimes(experiments: Sequence[Experiment]) -> list[float]:
        answers = np.array(exact(experiments))
        pairs = np.array([len(e.schemes) == 2 for e in experiments])
        answers[pairs & (random.random(len(answers)) < share)] = np.nan
        return answers.tolist()

    found, _ = run(mapping, sometimes)
    assert sorted_classes(found) == truth(mapping)


def test_without_any_usable_pair_every_scheme_is_a_class_of_its_own() -> None:
    mapping = many(20)
    exact = asking(mapping)

    def alone_only(experiments: Sequence[Experiment]) -> list[float]:
        return [
            cycles if len(e.schemes) == 1 else np.nan
            for e, cycles in zip(experiments, exact(experiments), strict=True)
        ]

    found, known = run(mapping, alone_only)
    assert len(found.classes) == 20
    alone = {e.schemes[0]: cycles for e, cycles in known.items() if e.is_singleton}
    pairs = [e for e in known if len(e.schemes) == 2 and e.length == 2]
    assert len(pairs) <= len(list(itertools.combinations(alone, 2)))


def test_the_same_answers_make_the_same_plan() -> None:
    mapping = many(50)
    first, known = run(mapping, asking(mapping, 0.01))
    second, again = run(mapping, asking(mapping, 0.01))
    assert list(known.items()) == list(again.items())
    assert first == second


def test_why_a_scheme_is_in_its_class_is_told_of_all_but_the_representatives() -> None:
    mapping = many(45)
    found, _ = run(mapping, asking(mapping, 0.01))
    representatives = {members[0] for members in found.classes}
    assert found.likeness.keys() == set(mapping.usage) - representatives
    for likeness in found.likeness.values():
        assert likeness.compared >= 5
        assert likeness.different == 0
        assert 0 < likeness.largest < 0.05


def test_nothing_to_compare_is_nothing_to_ask() -> None:
    with pytest.raises(StopIteration) as end:
        next(adaptive({}, 0.05))
    assert end.value.value.classes == ()
    with pytest.raises(StopIteration) as end:
        next(adaptive({"only": 1.0}, 0.05))
    assert end.value.value.classes == (("only",),)


@examples(25)
@given(
    st.lists(st.sampled_from(KINDS), min_size=2, max_size=24), st.sampled_from([0.0, 0.01, 0.3]), st.data()
)
def test_whatever_is_measured_every_scheme_is_in_one_class(
    kinds: list[tuple[tuple[int, int], ...]], noise: float, data: st.DataObject
) -> None:
    mapping = PortMapping(tuple("01234"), {f"s{k:02}": uops for k, uops in enumerate(kinds)})
    found, known = run(mapping, asking(mapping, noise, data.draw(st.integers(0, 99))))
    assert sorted(itertools.chain(*found.classes)) == sorted(mapping.usage)
    representatives = [members[0] for members in found.classes]
    for a, b in itertools.combinations(representatives, 2):
        assert Experiment.of([a, b]) in known

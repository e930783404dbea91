"""Which word may be used of a result."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from inference.core.experiment import Experiment, Measured
from inference.core.judging.claims import NO_EVIDENCE, ClaimEvidence, StrongClaim, strongest_word
from inference.core.judging.contradictions import conflict_text, uops_conflicts
from inference.core.judging.held_out_checks import HeldOutCheck, HeldOutChecks, held_out_checks
from inference.core.judging.port_model import PortModelCheck
from inference.core.mapping import PortMapping, uops_of
from inference.core.metrics import Scores
from inference.core.model_check import MixSummary, OrderSummary

SOUND = ClaimEvidence(HeldOutCheck(200, 0, 0.8, 1.1), results=3)


@pytest.mark.parametrize("claim", list(StrongClaim))
def test_a_strong_word_needs_all_three_grounds(claim: StrongClaim) -> None:
    word = strongest_word(claim, SOUND)
    assert (word.text, word.is_strong) == (claim.value, True)
    assert "200 held-out experiments are off by 0.8 %" in word.explanation


@pytest.mark.parametrize(
    ("evidence", "text", "reason"),
    [
        (NO_EVIDENCE, "best of 1, 0 experiments unexplained, none held out", "no experiment was held out"),
        (
            replace(SOUND, held_out=HeldOutCheck(200, 12, 0.8, 1.1)),
            "best of 3, 12 experiments unexplained",
            "12 of 200 held-out experiments are off by more than its tolerance",
        ),
        (
            replace(SOUND, contradicted_by=("lab: ports",)),
            "best of 3, 0 experiments unexplained",
            "contradicted by lab: ports",
        ),
        (
            replace(SOUND, held_out=HeldOutCheck(200, 0, 4.0, 1.1)),
            "best of 3, 0 experiments unexplained",
            "held-out experiments are off by 4.0 %, of which repeated measurements explain 2.0 %",
        ),
        (
            replace(SOUND, unexplained=1),
            "best of 3, 1 experiment unexplained",
            "its search left 1 unexplained",
        ),
    ],
)
def test_without_one_of_them_it_is_the_best_of_so_many(
    evidence: ClaimEvidence, text: str, reason: str
) -> None:
    for claim in StrongClaim:
        word = strongest_word(claim, evidence)
        assert (word.text, word.is_strong) == (text, False)
        assert reason in word.reasons[0]
        assert claim.value not in word.explanation


def test_held_out_experiments_are_counted_for_all_and_for_each_scheme() -> None:
    first, second = Experiment.of(["a", "b"]), Experiment.of(["b", "c"])
    results = [Measured(first, 1.0, spread=0.01), Measured(second, 2.0, spread=0.1)]
    found = held_out_checks(results, np.array([1.01, 2.5]))
    assert (found.overall.n, found.overall.off) == (2, 1)
    assert found.overall.error == pytest.approx(13.0)
    assert found.overall.repeats == pytest.approx(3.0)
    assert {scheme: check.off for scheme, check in found.schemes.items()} == {"a": 0, "b": 1, "c": 1}
    assert held_out_checks(results, np.array([1.01, 2.5]), epsilon=0.3).overall.off == 0
    assert held_out_checks(results, np.array([np.nan, 2.5])).overall.n == 1
    read = HeldOutChecks.from_json(found.as_json())
    assert (read.overall.off, read.schemes["c"].n) == (1, 1)


def test_results_contradict_up_to_renaming_and_what_is_hidden() -> None:
    first = PortMapping(
        ("0", "1", "2"), {"a": ((1, 1),), "b": ((2, 1),), "c": ((7, 1),), "d": ((3, 1),)}, 3.0
    )
    renamed = PortMapping(
        ("x", "y", "z"), {"a": ((2, 1),), "b": ((1, 1),), "c": ((7, 1),), "d": ((3, 3),)}, 3.0
    )
    (conflict,), (opposite,) = uops_conflicts(first, renamed)
    assert (conflict.scheme, conflict.here, conflict.there) == ("d", "1×[0,1]", "3 µops")
    assert (opposite.scheme, opposite.here, opposite.there) == ("d", "3×[x,y]", "1 µop")
    words = conflict_text(conflict.here, "PMEvo", conflict.there, "explained")
    assert words == "PMEvo: 1×[0,1]; explained: 3 µops; not settled"
    without = replace(renamed, usage={**renamed.usage, "d": ((3, 1),), "c": ()})
    assert uops_conflicts(first, without) == (
        [],
        [],
    )  # `c` on as many ports as instructions are issued is hidden


def checked(slower: int = 0, apart: float = 0.01, mape: float = 3.0) -> PortModelCheck:
    """The check of a model in which mapping 7 is the reference."""
    scores = Scores(40, mape, 0.99, 0.9)
    mixes = [MixSummary(length, 20, 20, scores, slower, 0).as_json() for length in (2, 10)]
    orders = [OrderSummary(4, 10, 10, apart, 2 * apart, 0, ()), OrderSummary(6, 10, 0, None, None, 0, ())]
    return PortModelCheck.of("lab", 7, {"mixes": mixes, "orders": [each.as_json() for each in orders]})


@pytest.mark.parametrize(
    ("check", "reason"),
    [
        (checked(slower=2), "4 of 40 mixes took longer or less than any port mapping says"),
        (
            checked(apart=0.3),
            "changes 10 experiments by 0.30 cycles per instruction",
        ),
        (checked(mape=14.0), "finds it off by 14.0 % on mixes"),
    ],
)
def test_no_strong_word_is_used_where_the_check_fails(check: PortModelCheck, reason: str) -> None:
    (objection,) = check.objections(7)
    assert reason in objection
    assert "“lab”" in objection
    for claim in StrongClaim:
        word = strongest_word(claim, replace(SOUND, objections=(objection,)))
        assert (word.is_strong, word.reasons) == (False, (objection,))


def test_a_check_that_passes_or_measured_nothing_objects_to_nothing() -> None:
    assert not [*checked().objections(7), *checked(slower=1).objections(7), *checked(mape=14.0).objections(8)]
    assert not list(PortModelCheck.of("lab", None, {}).objections(7))


def random_mapping(dice: random.Random) -> PortMapping:
    ports = tuple("abcdefghi"[: dice.randint(5, 9)])
    usage = {
        f"s{number}": uops_of((dice.randrange(1, 1 << len(ports)), 1) for _ in range(dice.randint(1, 3)))
        for number in range(6)
    }
    return PortMapping(ports, usage, 4.0)


def test_both_results_contradict_on_the_same_schemes_whichever_is_compared_first() -> None:
    dice = random.Random(7)
    for _ in range(100):
        first, second = random_mapping(dice), random_mapping(dice)
        here, there = uops_conflicts(first, second)
        assert uops_conflicts(second, first) == (there, here)
        assert [conflict.scheme for conflict in here] == [conflict.scheme for conflict in there]

"""The measuring stage with both plans: what it asks, and that it goes on where it stopped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pytest

from inference.core.events import Log
from inference.core.experiment import Experiment, Measured
from inference.core.pacing import PacedReporter
from inference.core.pmevo import PMEvoProblem, PMEvoSettings, plan
from inference.core.pmevo.events import PlanSavings
from inference.core.pmevo.observer import Observations, Observer
from inference.measuring.simulated import SimulatedProcessor
from tests.core.pmevo.small import Listener
from tests.core.pmevo.test_adaptive import many

MAPPING = many(40)


class Watched(SimulatedProcessor):
    """Remembers what it was asked."""

    def __init__(self) -> None:
        super().__init__(MAPPING, noise=0.005, seed=2)
        self.asked: list[Experiment] = []

    def measure(self, experiments: Iterable[Experiment]) -> Iterator[Measured]:
        listed = list(experiments)
        self.asked += listed
        yield from super().measure(listed)


def observed(
    settings: PMEvoSettings, answered: int = 0, held_out: tuple[Measured, ...] = ()
) -> tuple[Observations, Observer, Watched, Listener]:
    """With the first answers known, as many as `answered` says."""
    problem = PMEvoProblem(tuple(MAPPING.usage), settings, held_out)
    known = np.empty(0)
    if answered:
        _, whole, _, _ = observed(settings, 0, held_out)
        known = whole.answers[:answered]
    processor, listener = Watched(), Listener()
    observer = Observer(processor, PacedReporter(listener), 7, known, {}, lambda: None)
    return observer.observe(problem), observer, processor, listener


ADAPTIVE = PMEvoSettings(ports=5, plan="adaptive", learnt_mixes=3.0, ceiling="none")


@pytest.mark.parametrize("plan_", ["adaptive", "exhaustive"])
@pytest.mark.parametrize("share", [0.1, 0.55, 0.99, 1.0])
def test_a_plan_goes_on_from_any_answer_without_asking_again(plan_: str, share: float) -> None:
    settings = PMEvoSettings(ports=5, plan=plan_, learnt_mixes=2.0)
    seen, observer, processor, _ = observed(settings)
    begin = int(share * len(observer.answers))
    again, resumed, asked_again, _ = observed(settings, begin)
    assert asked_again.asked == processor.asked[begin:]
    np.testing.assert_array_equal(resumed.answers, observer.answers)
    assert again == seen


def test_both_plans_tell_how_many_experiments_the_paper_has() -> None:
    exhaustive, _, processor, _ = observed(PMEvoSettings(ports=5, plan="exhaustive"))
    adaptive, _, fewer, listener = observed(PMEvoSettings(ports=5, plan="adaptive", ceiling="none"))
    assert exhaustive.exhaustive == adaptive.exhaustive == len(processor.asked)
    (saved,) = [event for event in listener.events if isinstance(event, PlanSavings)]
    assert saved.asked == len(fewer.asked) < saved.exhaustive == len(processor.asked)
    assert saved.classes == 9
    assert any("fewer than" in event.text for event in listener.events if isinstance(event, Log))


@pytest.mark.parametrize("plan_", ["adaptive", "exhaustive"])
def test_mixes_to_learn_from_are_of_representatives_and_come_last(plan_: str) -> None:
    seen, _, processor, _ = observed(PMEvoSettings(ports=5, plan=plan_, learnt_mixes=3.0, ceiling="none"))
    assert seen.classes is not None
    representatives = {members[0] for members in seen.classes}
    mixes = processor.asked[-3 * len(representatives) :]
    assert len(representatives) == 9
    assert all(representatives.issuperset(e.schemes) and 3 <= e.length <= 5 for e in mixes)
    assert not set(mixes) & set(processor.asked[: -len(mixes)])


def test_mixes_that_judge_are_not_learnt_from() -> None:
    _, _, processor, _ = observed(ADAPTIVE)
    judging = tuple(Measured(e, 1.0) for e in processor.asked[-27:])
    _, _, others, _ = observed(ADAPTIVE, held_out=judging)
    assert not {result.experiment for result in judging} & set(others.asked)
    assert len(others.asked) == len(processor.asked)


def test_a_scheme_without_a_time_alone_is_left_out_of_the_pairs() -> None:
    problem = PMEvoProblem((*MAPPING.usage, "unknown"), ADAPTIVE)
    processor = Watched()
    seen = Observer(processor, PacedReporter(Listener()), 1, np.empty(0), {}, lambda: None).observe(problem)
    assert [e for e in processor.asked if "unknown" in e.schemes] == plan.singletons(["unknown"])
    assert seen.classes is not None
    assert "unknown" not in {scheme for members in seen.classes for scheme in members}

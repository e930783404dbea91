"""Blocking experiments that are disturbed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from inference.core.experiment import Experiment
from inference.core.explain import ExplainProblem, ExplainSettings, WitnessOutcome
from inference.core.explain.context import ExplainContext
from inference.core.explain.flooding import Blocker, Floods
from inference.core.explain.sampling import MeasurementSampler
from inference.core.explain.surplus import flood_of
from inference.core.pacing import PacedReporter
from tests.core.explain.small import ZENLIKE, DisturbedProcessor
from tests.core.pmevo.small import Listener

LOADS = Blocker("load", 0b110000)
FLOOD = flood_of("load", 10)
TESTED = flood_of("load", 10, "add r, m")
AT_FIRST = 7
"""Samples that are disturbed, every second one of them."""


def explaining(disturbed: Experiment, *, forever: bool = False) -> ExplainContext:
    def is_disturbed(experiment: Experiment, repetition: int) -> bool:
        return experiment == disturbed and bool(repetition % 2) and (forever or repetition < AT_FIRST)

    pace: Any = PacedReporter(Listener())
    sampler = MeasurementSampler(DisturbedProcessor(ZENLIKE, is_disturbed), pace, 100)
    problem = ExplainProblem(tuple(ZENLIKE.usage), ExplainSettings(samples=AT_FIRST))
    context = ExplainContext(problem, sampler, SimpleNamespace(pace=pace))  # type: ignore[arg-type]
    alone = Experiment.of(["add r, m"])
    context.measure({alone: 1})
    context.alone["add r, m"] = sampler.reading(alone)
    return context


def seen(context: ExplainContext, *runs: int) -> list[WitnessOutcome]:
    floods = Floods(context, ZENLIKE.ports)
    test = floods.test("add r, m", LOADS)
    found = []
    for run in runs:
        floods.measure([test], run)
        found.append(floods.witness(test, {}, run).seen)
    return found


def test_a_flood_that_was_disturbed_is_measured_anew() -> None:
    assert seen(explaining(FLOOD), 1) == [WitnessOutcome.USES]
    assert seen(explaining(FLOOD, forever=True), 1) == [WitnessOutcome.UNSTABLE]


@pytest.mark.parametrize(
    ("forever", "later"), [(False, WitnessOutcome.USES), (True, WitnessOutcome.UNSTABLE)]
)
def test_a_test_that_was_disturbed_in_one_run_counts_anew_in_the_next(
    forever: bool, later: WitnessOutcome
) -> None:
    assert seen(explaining(TESTED, forever=forever), 1, 2) == [WitnessOutcome.UNSTABLE, later]

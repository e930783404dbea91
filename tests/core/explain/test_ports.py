"""Who stands for a class while the ports of the blocking instructions are looked for."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from inference.core.experiment import Experiment
from inference.core.explain import BlockingQuestion, ExplainSettings, algorithm
from inference.core.explain.blockers import Improper
from inference.core.explain.blocking_question import BlockingAnswer
from inference.core.explain.ports import PortSolver
from inference.core.explain.reporting import OutOfTimeError, QuietReporter
from inference.core.explain.soundness import FloodingMembers
from inference.core.identity import structural_agreement
from inference.core.mapping import PortMapping
from inference.core.pacing import PacedReporter
from tests.core.explain.small import ZENLIKE, DisturbedProcessor, explain
from tests.core.pmevo.small import Listener

COUNTS = {scheme: sum(count for _, count in uops) for scheme, uops in ZENLIKE.usage.items()}


def test_whoever_stands_for_a_class_instead_has_its_ports_and_is_not_improper(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[BlockingQuestion] = []

    def solver(question: BlockingQuestion, *_: Any) -> BlockingAnswer:
        asked.append(question)
        return BlockingAnswer(PortMapping(("0", "1"), {"b": ((0b11, 1),), "c": ((0b01, 1), (0b11, 1))}))

    def all_but_a(_: FloodingMembers, classes: list[list[str]]) -> list[list[str]]:
        return [[each for each in members if each != "a"] for members in classes]  # a restless one

    monkeypatch.setattr(FloodingMembers, "of", all_but_a)
    problem = SimpleNamespace(domains={}, hint=None, core=None)
    widths, reporter = {"a": 2, "b": 2}, SimpleNamespace(pace=PacedReporter(Listener()))
    context: Any = SimpleNamespace(
        settings=ExplainSettings(),
        sampler=SimpleNamespace(noise=0.0),
        problem=problem,
        widths=widths,
        reporter=reporter,
    )
    improper = [Improper("b", 1), Improper("c", 1)]
    kept, _ = PortSolver(context, solver, 1, None).solve([["a", "b"]], improper, {"a": 0b11})
    (question,) = asked
    assert kept == [["b"]]
    assert (question.schemes, question.improper, question.known) == (("b", "c"), ("c",), {"b": 0b11})


def test_a_busy_computer_finds_the_same_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = itertools.count()  # each look at the clock, a second has passed in which others computed
    paced = partial(PacedReporter, clock=lambda: float(next(seconds)))
    monkeypatch.setattr(algorithm, "PacedReporter", paced)
    result = explain(ZENLIKE, uops=COUNTS, seconds=20.0)
    assert set(result.mapping.usage) == set(ZENLIKE.usage)
    assert structural_agreement(ZENLIKE, result.mapping).share == 1.0


def test_a_question_has_its_limit_in_seconds_of_computing() -> None:
    quiet = QuietReporter(PacedReporter(Listener()), "looking", limit=0.05)
    quiet.pulse()
    ends = time.process_time() + 0.1
    while time.process_time() < ends:
        pass
    with pytest.raises(OutOfTimeError, match="0 seconds of computing"):
        quiet.pulse()


def load_alone(experiment: Experiment, repetition: int) -> bool:
    return repetition < 2 and experiment == Experiment.of(["load"] * 10)


def load_beside_shl(experiment: Experiment, repetition: int) -> bool:
    return repetition == 0 and experiment.schemes == ("load", "shl")


@pytest.mark.parametrize("is_disturbed", [load_alone, load_beside_shl])
def test_no_class_is_lost_to_what_passes(is_disturbed: Callable[[Experiment, int], bool]) -> None:
    result = explain(ZENLIKE, measurer=DisturbedProcessor(ZENLIKE, is_disturbed), uops=COUNTS)
    assert set(result.mapping.usage) == set(ZENLIKE.usage)
    assert structural_agreement(ZENLIKE, result.mapping).share == 1.0


@pytest.mark.parametrize("is_disturbed", [load_alone, load_beside_shl])
def test_what_does_not_pass_costs_one(is_disturbed: Callable[[Experiment, int], bool]) -> None:
    processor = DisturbedProcessor(ZENLIKE, lambda experiment, _: is_disturbed(experiment, 0))
    result = explain(ZENLIKE, measurer=processor, uops=COUNTS)
    assert len({"load", "shl"} & set(result.mapping.usage)) == 1

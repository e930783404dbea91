"""Drift checks: rarely, a few settled results are measured again, and contradicted ones twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, repeat

import pytest

from inference.agent.protocol import Settings
from inference.core.experiment import Experiment, Measured, MeasurementState
from inference.measuring.drift import (
    CHECK_INTERVAL,
    MAX_CHECKS,
    DriftCheck,
    DriftVerdict,
    DriftWatch,
    allowed_difference,
)

ALONE = [Experiment.of([f"s{number}"]) for number in range(1000)]


class Bench:
    """A measurer that takes a second per experiment; `answers` are the cycles of the next ones of one."""

    def __init__(self) -> None:
        self.now = 0.0
        self.asked: list[Experiment] = []
        self.answers: dict[Experiment, Iterator[float | None]] = {}
        self.told: list[DriftCheck] = []
        self.watch = DriftWatch(Settings(), self.told.append, clock=lambda: self.now)

    def measure(self, experiments: Iterable[Experiment]) -> Iterator[Measured]:
        for experiment in experiments:
            self.now += 1
            self.asked.append(experiment)
            cycles = next(self.answers.get(experiment, repeat(1.0)))
            state = MeasurementState.CONTENDED if cycles is None else MeasurementState.SETTLED
            yield Measured(experiment, cycles or 1.0, state)

    def run(self, experiments: Iterable[Experiment]) -> list[Measured]:
        return list(self.watch.over(self.measure, experiments))

    @property
    def again(self) -> list[Experiment]:
        return [each for number, each in enumerate(self.asked) if each in self.asked[:number]]

    def victim(self) -> Experiment:
        """One of those that the first round will choose, found by a bench that is alike."""
        twin = Bench()
        twin.run(ALONE[:500])
        return twin.again[0]

    def answer(self, experiment: Experiment, *cycles: float | None) -> None:
        self.answers[experiment] = chain(cycles, repeat(cycles[-1]))


def test_the_answers_are_those_asked_for_in_their_order() -> None:
    bench = Bench()
    assert [each.experiment for each in bench.run(ALONE)] == ALONE


def test_checks_come_every_few_minutes_and_take_a_small_share() -> None:
    bench = Bench()
    bench.run(ALONE)
    rounds = len(bench.told)
    assert rounds == len(ALONE) // (CHECK_INTERVAL + 1)
    assert 0 < len(bench.again) <= 0.02 * len(ALONE)
    assert all(len(each.compared) <= MAX_CHECKS for each in bench.told)
    assert {one.verdict for each in bench.told for one in each.compared} == {DriftVerdict.AGREES}


def test_a_short_run_has_none() -> None:
    bench = Bench()
    bench.run(ALONE[: int(CHECK_INTERVAL) - 1])
    assert (bench.again, bench.told) == ([], [])


@pytest.mark.parametrize(
    ("later", "verdict", "state"),
    [
        ((2.0, 2.01), DriftVerdict.REPLACED, MeasurementState.SETTLED),
        ((2.0, 3.0), DriftVerdict.UNSETTLED, MeasurementState.UNSETTLED),
    ],
)
def test_what_is_contradicted_twice_gives_way_and_keeps_its_history(
    later: tuple[float, float], verdict: DriftVerdict, state: MeasurementState
) -> None:
    bench = Bench()
    victim = bench.victim()
    bench.answer(victim, 1.0, *later)
    bench.run(ALONE[:500])
    of_it = [one for each in bench.told for one in each.compared if one.experiment == victim]
    assert [one.verdict for one in of_it[:2]] == [DriftVerdict.DOUBTED, verdict]
    assert (of_it[1].before, of_it[1].after) == (1.0, later)
    ((before, amended),) = [one for each in bench.told for one in each.amended]
    assert (before, amended.cycles, amended.state) == (1.0, later[1], state)
    assert amended.note.startswith("drift check: 1 cycles before, measured again as 2 and ")


def test_an_outlier_among_the_checks_changes_nothing() -> None:
    bench = Bench()
    victim = bench.victim()
    bench.answer(victim, 1.0, 2.0, 1.0)
    bench.run(ALONE[:500])
    verdicts = [one.verdict for each in bench.told for one in each.compared if one.experiment == victim]
    assert verdicts[:2] == [DriftVerdict.DOUBTED, DriftVerdict.WITHSTOOD]
    assert not any(each.amended for each in bench.told)


def test_a_disturbed_check_contradicts_nothing() -> None:
    bench = Bench()
    victim = bench.victim()
    bench.answer(victim, 1.0, None)
    bench.run(ALONE[:500])
    assert sum(each.unanswered for each in bench.told) >= 1
    assert not any(one.experiment == victim for each in bench.told for one in each.compared)


def test_a_contradiction_at_the_very_end_is_measured_a_second_time_all_the_same() -> None:
    bench = Bench()
    victim = bench.victim()
    bench.answer(victim, 1.0, 2.0)
    first = Bench()
    first.run(ALONE[:500])
    end = first.asked.index(victim, first.asked.index(victim) + 1) - len(first.again)
    bench.run(ALONE[: end + MAX_CHECKS])
    assert bench.asked.count(victim) == 3


def test_whoever_stops_listening_in_the_middle_of_a_round_is_checked_later() -> None:
    bench = Bench()
    answers = bench.watch.over(bench.measure, ALONE)
    for _ in range(int(CHECK_INTERVAL) + 2):
        next(answers)
    answers.close()
    bench.run(ALONE[400:900])
    assert bench.told


def test_slow_experiments_may_differ_by_a_share_of_their_cycles() -> None:
    assert allowed_difference(1.0, 1, 0.01) == 0.02
    assert allowed_difference(100.0, 1, 0.01) == 1.0

"""When a basic block is interesting, given the answers of one or two predictors (thesis §8.1.1)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from anica_app.core.domain.space import SampledBlock
from inference.core.errors import InvalidInputError
from inference.core.protocols import Json
from inference.core.tunables import AlgorithmSettings, check_choice, check_number, setting
from inference.predictors.protocol import Answer, Failure

RELATIVE, ABSOLUTE, FAILING = "relative", "absolute", "failure"
METRICS = (RELATIVE, ABSOLUTE, FAILING)

DIFFERENCE = "difference"
SAME = "same"


@dataclass(frozen=True, slots=True)
class BlockInterest:
    """Whether a block is interesting, how much, and in which way.

    `value` is the relative or absolute difference, `math.inf` for a failure that counts. `kind` is "" where
    it is not interesting, else `DIFFERENCE`, `SAME`, or the failure with the predictor, from 1: "crash of 2".
    `silent`: a predictor has no number, such as a disturbed measurement, so that the block is undecided.
    """

    interesting: bool
    value: float
    kind: str = ""
    silent: bool = False


@dataclass(frozen=True, slots=True)
class JudgedBlock:
    """A block with each predictor's answer, in their order, and the verdict."""

    block: SampledBlock
    code: bytes
    answers: tuple[Answer, ...]
    verdict: BlockInterest


class InterestJudge(Protocol):
    """Decides which blocks are interesting, by the answers alone: a resumed search decides again."""

    def verdict(self, answers: Sequence[Answer]) -> BlockInterest:
        """The verdict on one block; `answers` has one answer per predictor."""
        ...


@dataclass(frozen=True)
class InterestSettings(AlgorithmSettings):
    """When a block is interesting.

    Attributes:
        metric: "relative": the difference by the mean of both; "absolute": in cycles; "failure": only
            failures count.
        threshold: Blocks with a larger difference are interesting; no unit, or cycles.
        failures: Kinds of failures that make a block interesting, separated by commas; others make it
            uninteresting.

    Raises:
        InvalidInputError: For values out of range.
    """

    NAME = "interestingness"
    metric: str = setting(
        RELATIVE,
        "relative: |a − b| by the mean of both; absolute: |a − b| in cycles; failure: only failures count",
        paper=RELATIVE,
    )
    threshold: float = setting(
        0.5, "what the difference must exceed to be interesting; no unit, or cycles", paper=0.5
    )
    failures: str = setting(
        Failure.CRASH.value,
        "failures of a tool that make a block interesting, separated by commas: "
        + ", ".join(failure.value for failure in Failure)
        + "; others make it uninteresting and are counted; a block without a number stays undecided",
        paper="any",
    )

    def __post_init__(self) -> None:
        check_choice("metric", self.metric, METRICS)
        check_number("threshold", self.threshold, 0.0, 1e9)
        counted = self.counted
        if self.metric == FAILING and not counted:
            raise InvalidInputError("failures must name at least one where the metric is 'failure'")

    @property
    def counted(self) -> frozenset[Failure]:
        names = [name.strip() for name in self.failures.split(",") if name.strip()]
        for name in names:
            check_choice("failures", name, tuple(failure.value for failure in Failure))
        return frozenset(Failure(name) for name in names)


class Disagreement:
    """Interesting where two predictors differ, or where one fails in a way that counts.

    With a single predictor, or with the metric `FAILING`, only failures are interesting: a crash hunt.

    Args:
        settings: Metric, threshold, and the failures that count.
    """

    def __init__(self, settings: InterestSettings) -> None:
        self._threshold = settings.threshold
        self._metric = settings.metric
        self._counted = settings.counted

    def verdict(self, answers: Sequence[Answer]) -> BlockInterest:
        """The verdict on a block.

        A failure that counts ranks above every difference; any other failure makes the block
        uninteresting.
        """
        cycles = [answer.cycles for answer in answers if answer.cycles is not None]
        if len(cycles) < len(answers):
            return self._failure_verdict(answers)
        if len(cycles) < 2 or self._metric == FAILING:
            return BlockInterest(interesting=False, value=0.0)
        value = abs(cycles[0] - cycles[1])
        if self._metric == RELATIVE:
            value = relative_difference(cycles[0], cycles[1])
        if value > self._threshold:
            return BlockInterest(interesting=True, value=value, kind=DIFFERENCE)
        return BlockInterest(interesting=False, value=value)

    def _failure_verdict(self, answers: Sequence[Answer]) -> BlockInterest:
        counting = [
            f"{answer.failure} of {number}"
            for number, answer in enumerate(answers, start=1)
            if answer.failure in self._counted
        ]
        if not counting:
            failed = {answer.failure for answer in answers if answer.cycles is None}
            return BlockInterest(interesting=False, value=0.0, silent=failed == {Failure.NO_NUMBER})
        return BlockInterest(interesting=True, value=math.inf, kind=", ".join(counting))


class SamePrediction:
    """Interesting where a predictor's answer is (almost) equal to a target (§8.4.1).

    The constraints that remain of an abstract block then determine the prediction. `tolerance` is the largest
    relative difference; a failure equals a failure of the same sort only.
    """

    def __init__(self, target: Answer, tolerance: float) -> None:
        self._target = target
        self._tolerance = tolerance

    def verdict(self, answers: Sequence[Answer]) -> BlockInterest:
        """Verdict on the first answer alone; the value is its relative difference from the target."""
        answer, target = answers[0], self._target
        if answer.cycles is None or target.cycles is None:
            is_same = answer.failure == target.failure
            return BlockInterest(is_same, 0.0, SAME if is_same else "")
        value = relative_difference(answer.cycles, target.cycles)
        is_same = value <= self._tolerance
        return BlockInterest(is_same, value, SAME if is_same else "")


def relative_difference(a: float, b: float) -> float:
    """|a − b| by the mean of both, from 0 to 2; 0 where both are 0.

    >>> relative_difference(1.0, 3.0)
    1.0
    """
    return abs(a - b) * 2 / (a + b) if a + b > 0 else 0.0


def distance_words(interest: Json) -> str:
    """The threshold as text, e.g. "by more than 0.5 of their mean"."""
    unit = "cycles" if interest["metric"] == ABSOLUTE else "of their mean"
    return f"by more than {interest['threshold']:g} {unit}"

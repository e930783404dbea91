"""Why expansions were rejected: a block on which the tools agree, or disagree in another way, in one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from anica_app.core.search.judging import InterestJudge
from anica_app.features.discoveries.query import DiscoveryParts
from anica_app.models import Generalisation, GeneralisationStep
from inference.isa.blocks import BlockError
from inference.isa.blocks.listing import intel_of_bytes
from inference.predictors.protocol import Answer
from inference.predictors.samples import Sample, unpack

MOST = 500
"""Of a tree with more rejected steps, so many have theirs."""


@dataclass(frozen=True)
class StepCounterExample:
    """A block that speaks against an expansion, and what the campaign's tools say of it."""

    code: bytes
    answers: tuple[Answer, ...]

    @property
    def block(self) -> str:
        """Its instructions in one line; the digits where the bytes are no instructions."""
        try:
            return "; ".join(intel_of_bytes(self.code))
        except BlockError:
            return self.code.hex()

    @property
    def said(self) -> str:
        """`3.00 = 3.00`, `3.00 ≈ 3.10`, or with what failed `crash | 3.00`."""
        texts = [str(one.failure) if one.cycles is None else f"{one.cycles:.2f}" for one in self.answers]
        if any(one.cycles is None for one in self.answers):
            return " | ".join(texts)
        return (" = " if len(set(texts)) == 1 else " ≈ ").join(texts)

    def __str__(self) -> str:
        return f"{self.block}: {self.said}"


def counter_example_among(
    samples: Sequence[Sample], judge: InterestJudge | None, tools: int, kind: str
) -> StepCounterExample | None:
    """The shortest block that is not interesting, else one that is in another way than `kind`.

    None where nobody can tell what was interesting.
    """
    if judge is None:
        return None
    verdicts = [(one, judge.verdict(one.answers[:tools])) for one in samples]
    judged = [(one, verdict) for one, verdict in verdicts if not verdict.silent]
    against = [one for one, verdict in judged if not verdict.interesting]
    against = against or [one for one, verdict in judged if kind and verdict.kind != kind]
    best = min(against, key=lambda one: (len(one.code), one.code), default=None)
    return None if best is None else StepCounterExample(best.code, best.answers[:tools])


def counter_examples_of(found: DiscoveryParts, row: Generalisation) -> Mapping[int, StepCounterExample]:
    """Those of the rejected steps of a generalisation by their numbers (one query)."""
    steps = GeneralisationStep.objects.filter(generalisation=row, taken=False, n__gt=0).order_by("number")
    told = {}
    for number, packed in steps.values_list("number", "samples")[:MOST]:
        example = counter_example_among(
            unpack(bytes(packed)), found.judge, len(found.predictors), found.discovery.kind
        )
        if example is not None:
            told[number] = example
    return told

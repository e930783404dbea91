"""What the tools of an earlier campaign said of a block: asked where they are here, looked up elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

from anica_app.core.families.evidence import Answers
from anica_app.models import Campaign, GeneralisationStep
from inference.features.asking.predictors.opening import DatabaseAnswers, opened
from inference.models import Predictor
from inference.predictors import machine, nanobench
from inference.predictors.panel import Panel
from inference.predictors.protocol import Answer, Failure, PredictorError
from inference.predictors.samples import unpack
from inference.runs.kinds import Task
from inference.storage.instruction_sets import code_isa

NOT_KEPT = Answer(failure=Failure.NO_NUMBER, detail="not kept")
"""Stands for what a tool may once have said, and nobody knows any more."""

_MEASURING = (machine.KIND, nanobench.KIND)


class KeptAnswers:
    """What a campaign has kept of its tools' answers, gone through until all that is asked for is found."""

    def __init__(self, campaign: Campaign) -> None:
        self._campaign = campaign
        self._isa = code_isa(campaign.isa)
        self._tools = campaign.tools

    def ask(self, codes: Sequence[bytes]) -> list[Answers]:
        """The answers for each block, `NOT_KEPT` where nobody has kept one."""
        remembered = [DatabaseAnswers(row, self._isa).known(codes) for row in self._tools]
        lacking = {code for code in codes if any(code not in known for known in remembered)}
        sampled = self._sampled(lacking)
        nothing = tuple(NOT_KEPT for _ in self._tools)
        return [
            tuple(
                known.get(code, answer)
                for known, answer in zip(remembered, sampled.get(code, nothing), strict=True)
            )
            for code in codes
        ]

    def _sampled(self, missing: set[bytes]) -> Mapping[bytes, Answers]:
        found: dict[bytes, Answers] = {}
        if not missing:
            return found
        for samples in self._samples():
            for sample in unpack(samples):
                if sample.code in missing:
                    found[sample.code] = sample.answers[: len(self._tools)]
                    missing.discard(sample.code)
            if not missing:
                break
        return found

    def _samples(self) -> Any:
        steps = GeneralisationStep.objects.filter(generalisation__campaign=self._campaign)
        for rows in (self._campaign.batches.order_by("number"), steps.order_by("number", "pk")):
            for samples in rows.values_list("samples", flat=True).iterator(50):
                yield bytes(samples)


def answers_then(against: Campaign, codes: Sequence[bytes], task: Task | None) -> list[Answers]:
    """What each tool of an earlier campaign says of each block; `NOT_KEPT` where nobody can tell.

    A predictor's row stands for one version of its tool with its options: where that is here, what it says
    now is what it said then. Else, and of whatever measures, what is remembered counts.
    """
    isa = code_isa(against.isa)
    columns = [_asked(row, codes, isa, task) for row in against.tools]
    if all(column is not None for column in columns):
        return list(zip(*(column for column in columns if column is not None), strict=True))
    kept = KeptAnswers(against).ask(codes)
    return [
        tuple(kept[at][place] if column is None else column[at] for place, column in enumerate(columns))
        for at in range(len(codes))
    ]


def _asked(row: Predictor, codes: Sequence[bytes], isa: str, task: Task | None) -> list[Answer] | None:
    """The answers of a tool as it was; None where it is not here any more, or nobody wants to wait for it."""
    if row.kind in _MEASURING:
        return None
    pulse = (lambda: None) if task is None else task.reporter.pulse
    try:
        with closing(opened(row, task, isa=isa)) as tool, closing(Panel([tool], pulse)) as panel:
            return [one for (one,) in panel.ask(codes)()]
    except PredictorError:
        return None

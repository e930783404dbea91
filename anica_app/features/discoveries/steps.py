"""The blocks of one decision of a generalisation, with what predictors said of them later as well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.urls import reverse

from anica_app.features.discoveries.asking_again import asked_again
from anica_app.features.discoveries.generalisations import (
    BY_BLOCK,
    BY_INTEREST,
    BY_LENGTH,
    sample_page,
    samples_of_step,
)
from anica_app.features.discoveries.query import DiscoveryParts
from anica_app.models import Discovery, Generalisation
from inference.core.protocols import Json
from inference.features.asking.questions.query import QuestionAnswers, asked_about
from inference.formats.csv_cells import written
from inference.formats.provenance import head_of
from inference.models import Predictor, Run
from inference.predictors.protocol import Answer, Failure
from inference.predictors.samples import Sample
from inference.storage.instruction_sets import code_isa
from inference.web.origins import RunOrigin, number_about
from inference.web.paging import Page

NOT_ASKED = "not predicted for this block"
BEFORE, AFTER = ", before", ", after"
"""What columns of a tool that was asked again are called besides its name."""


@dataclass(frozen=True)
class StepBlocks:
    """The blocks as they were sampled, and with an answer more for each predictor that was asked later."""

    samples: Sequence[Sample]
    asked: QuestionAnswers

    @property
    def extended(self) -> list[Sample]:
        """The samples with all answers: the campaign's tools first, then whoever was asked later."""
        lacking = Answer(failure=Failure.NO_NUMBER, detail=NOT_ASKED)
        return [
            Sample(
                one.code,
                (*one.answers, *(said.answers.get(one.code, lacking) for said in self.asked.said)),
                one.seconds,
            )
            for one in self.samples
        ]

    def columns(self, found: DiscoveryParts) -> list[str]:
        """Whose answers these are, in their order; `found`: whose decision it is.

        Of a tool of the campaign that was asked again there are two: `… before` and `… after`.
        """
        again = asked_again(found, self.asked.said)
        places = set(again.values())
        return [
            *(f"{one.name}{BEFORE if at in places else ''}" for at, one in enumerate(found.predictors)),
            *(f"{said.name}{AFTER if said.predictor in again else ''}" for said in self.asked.said),
        ]

    def changed(self, found: DiscoveryParts) -> list[tuple[str, int]]:
        """Of each campaign tool that was asked again, for how many blocks it says something else."""
        again = asked_again(found, self.asked.said)
        return [
            (said.name, sum(_differ(one, again[said.predictor], said.answers) for one in self.samples))
            for said in self.asked.said
            if said.predictor in again and not said.error
        ]


def _differ(sample: Sample, place: int, answers: Mapping[bytes, Answer]) -> bool:
    before, after = sample.answers[place], answers.get(sample.code)
    if after is None or before.cycles is None or after.cycles is None:
        return after is not None and before.failure != after.failure
    return round(before.cycles, 2) != round(after.cycles, 2)


def about(row: Generalisation, number: int) -> dict[str, int]:
    """What runs that ask about the blocks of a decision say of them."""
    return {"generalisation": row.pk, "step": number}


def blocks_of_step(row: Generalisation, number: int) -> StepBlocks:
    """The blocks of a decision (three queries); none where it rests on none or they were pruned."""
    return StepBlocks(samples_of_step(row, number) or [], asked_about(about(row, number)))


def orders_of(columns: int) -> tuple[str, ...]:
    """What the blocks can be sorted by: as sampled, length, interest, a tool's place; a minus: descending."""
    sorts = (BY_BLOCK, BY_LENGTH, BY_INTEREST, *(str(place) for place in range(1, columns + 1)))
    return (*sorts, *(f"-{one}" for one in sorts))


def page_of_blocks(
    found: DiscoveryParts, seen: StepBlocks, sort: str, number: int, size: int
) -> Page[Sample]:
    """A page of the blocks with all answers, in one of `orders_of`."""
    extended = seen.extended
    values = {
        id(one.sample): one.verdict.value for one in found.examined(extended) if one.verdict is not None
    }
    return sample_page(
        extended,
        sort.removeprefix("-"),
        descending=sort.startswith("-"),
        value=lambda one: values.get(id(one), 0.0),
        number=number,
        size=size,
    )


def blocks_csv(found: DiscoveryParts, row: Generalisation, number: int) -> str:
    """All blocks of a decision in the form of a basic-block set: digits, and a column per tool."""
    seen = blocks_of_step(row, number)
    lines = [
        [one.code.hex(), *(-1.0 if answer.cycles is None else answer.cycles for answer in one.answers)]
        for one in seen.extended
    ]
    about = {"campaign": found.campaign.name, "discovery": str(found.discovery), "decision": f"step {number}"}
    head = head_of(**about, **{"instruction set": found.isa})
    return written(["bb", *seen.columns(found)], lines, head)


def question_about_step(
    row: Generalisation, number: int, predictors: Sequence[Predictor], *, anew: bool
) -> Json:
    """The description of a run of kind `ask` about the blocks of a decision."""
    return {
        "predictors": [one.pk for one in predictors],
        "isa": code_isa(row.campaign.isa),
        "blocks": [one.code.hex() for one in samples_of_step(row, number) or []],
        "anew": anew,
        "about": about(row, number),
    }


def name_of_question(discovery: Discovery, number: int) -> str:
    """What that run is called."""
    return f"{discovery.campaign.name[:100]}, {discovery}, step {number}, predicted again"


def questions_about_steps(runs: Sequence[Run]) -> dict[int, RunOrigin]:
    """The steps of discoveries about whose blocks these runs ask (one query)."""
    asked = {run.pk: number_about(run, "generalisation") for run in runs}
    wanted = {pk for pk in asked.values() if pk is not None}
    found = Generalisation.objects.filter(pk__in=wanted, discovery__isnull=False).select_related("discovery")
    rows = {row.pk: row for row in found} if wanted else {}
    return {
        run.pk: _step_of(rows[asked[run.pk] or 0], number_about(run, "step") or 0)
        for run in runs
        if asked[run.pk] in rows
    }


def _step_of(row: Generalisation, step: int) -> RunOrigin:
    url = f"{reverse('discovery', args=[row.discovery_id])}?g={row.number}&step={step}#step"
    return RunOrigin(f"{row.discovery}, step {step}", url)

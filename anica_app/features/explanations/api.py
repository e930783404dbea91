"""Explanations of a block over the API."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.http import HttpRequest
from django.urls import reverse
from ninja import Router, Schema, Status
from pydantic import Field

from anica_app.core.search.interestingness import InterestSettings
from anica_app.core.search.settings import SearchSettings
from anica_app.models import Campaign
from inference.features.asking.predictors.modes import AS_NAMED, QuestionMode
from inference.features.asking.predictors.offers import predictors_named
from inference.features.running.runs.runs_of_kind import submit_run
from inference.web.api.answers import MAX_CODE_LENGTH, Code
from inference.web.api.shapes import Ref, ref
from inference.web.code_reading import read_blocks

router = Router()
_CODE = "add qword ptr [rcx+16], rbx\nadd qword ptr [rcx+128], rbx"
_NAMES = ["llvm-mca 19 · haswell", "OSACA 0.7.1 · HSW"]


class NewExplanation(Code):
    """A block, and two predictors whose difference is explained, or one whose prediction is (§8.4.1)."""

    code: str = Field(min_length=1, max_length=MAX_CODE_LENGTH, examples=[_CODE])
    predictors: list[str] = Field(min_length=1, max_length=2, examples=[_NAMES])
    metric: str = Field("relative", description="Metric of differences: relative, absolute or failure.")
    threshold: float = Field(
        InterestSettings.threshold, description="Threshold: larger differences are interesting."
    )
    tolerance: float = Field(
        0.05, description="With one predictor: largest relative difference of equal predictions."
    )
    samples: int = Field(SearchSettings.samples, description="Blocks sampled for each expansion.")
    mode: QuestionMode = AS_NAMED


class ExplanationOut(Schema):
    """The run that generalises the block, and the campaign that will have its discovery."""

    run: Ref
    campaign: Ref
    page: str = Field(examples=["/campaigns/4/"])


@router.post("/explanations", response={201: ExplanationOut})
def explain_block(request: HttpRequest, data: NewExplanation) -> Any:
    """Generalise one block while two predictors keep differing, or while one keeps its prediction."""
    (block,) = read_blocks(data.code, 1, data.isa)
    settings = {"metric": data.metric, "threshold": data.threshold, "samples": data.samples}
    with transaction.atomic():  # no predictor is stored for a block that is refused
        rows = predictors_named(data.predictors)
        config = {
            "predictors": [row.pk for row in rows],
            "isa": block.isa,
            "block": block.body.hex(),
            "settings": settings,
            "tolerance": data.tolerance,
            "mode": data.mode,
        }
        run = submit_run(request, "generalise", config)
    campaign = Campaign.objects.get(run=run)
    return Status(
        201, {"run": ref(run), "campaign": ref(campaign), "page": reverse("campaign", args=[campaign.pk])}
    )

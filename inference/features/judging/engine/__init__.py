"""Comparisons of any sources of answers on the items of a set, in views."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inference.features.running.runs.kind_presentation import KindPresentation
from inference.runs.kinds import Job, Lane, RunKind
from inference.web.contributions import MenuEntry, MenuPlace, Publishable

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from inference.web.published_page import PublishedPage


def _judge_job() -> Job:
    from inference.features.judging.engine.judge_jobs import JudgeJob  # noqa: PLC0415  runs load it

    return JudgeJob()


def _comparison_job() -> Job:
    from inference.features.judging.engine.judge_jobs import ComparisonJob  # noqa: PLC0415  runs load it

    return ComparisonJob()


def _presentation() -> KindPresentation:
    from inference.features.judging.engine.addresses import comparisons_of  # noqa: PLC0415  pages load it

    return KindPresentation(outcomes=comparisons_of)


KINDS = (
    RunKind(
        "judge",
        label="Comparison",
        job=_judge_job,
        summary="Any sources of answers on the experiments or blocks of a set",
        example={"block_set": 6, "sources": ["core-model:2", "predictor:4"], "against": "column:17"},
        lane=Lane.INTERACTIVE,
    ),
    RunKind(
        "comparison",
        label="Predictor comparison",
        job=_comparison_job,
        summary="Predictors compared with the measurements of a set",
        example={"experiment_set": 3, "mappings": [7], "predictors": [2], "most": 20000, "seed": 1},
        lane=Lane.INTERACTIVE,
    ),
)

PRESENTATIONS = {"judge": _presentation, "comparison": _presentation}


def _rows() -> QuerySet[Any]:
    from inference.features.judging.engine.publishing import publishable  # noqa: PLC0415  pages load it

    return publishable()


def _page(pk: int) -> PublishedPage:
    from inference.features.judging.engine.publishing import published_page  # noqa: PLC0415  pages load it

    return published_page(pk)


PUBLISHED = (Publishable("comparison", "Comparisons", _rows, _page),)

MENUS = (
    MenuEntry(
        MenuPlace.SET,
        "Compare…",
        "comparison-new",
        icon="chart",
        listing="comparisons",
        listed="Comparisons",
    ),
)

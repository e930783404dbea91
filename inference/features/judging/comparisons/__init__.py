"""Predictors beside the measurements of an experiment set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inference.runs.kinds import Lane, RunKind
from inference.web.menus import MenuEntry, MenuPlace
from inference.web.publishable import Publishable

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from inference.web.published_page import PublishedPage

KINDS = (
    RunKind(
        "comparison",
        label="Predictor comparison",
        job="inference.features.judging.comparisons.job.ComparisonJob",
        summary="Predictors beside the measurements of a set",
        example={"experiment_set": 3, "mappings": [7], "predictors": [2], "most": 20000, "seed": 1},
        lane=Lane.ASKING,
        outcomes="inference.features.judging.comparisons.pages.comparisons_of",
    ),
)

OPERATIONS = (("/predictor-comparisons", "api"),)


def _rows() -> QuerySet[Any]:
    from inference.features.judging.comparisons.publishing import publishable  # noqa: PLC0415  pages load it

    return publishable()


def _page(pk: int) -> PublishedPage:
    from inference.features.judging.comparisons.publishing import published_page  # noqa: PLC0415  pages load it

    return published_page(pk)


PUBLISHED = (Publishable("comparison", "Predictor comparisons", _rows, _page),)

MENUS = (
    MenuEntry(
        MenuPlace.SET,
        "Compare predictors",
        "comparison-new",
        icon="chart",
        listing="comparisons",
        listed="Predictor comparisons",
    ),
)

"""Campaigns: searches for what tools disagree about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inference.runs.kinds import RunKind
from inference.web.publishable import Publishable

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from inference.web.dependents import Dependent
    from inference.web.finders import SearchHits
    from inference.web.published_page import PublishedPage

KINDS = (
    RunKind(
        "campaign",
        label="Campaign",
        job="anica_app.features.campaigns.job.CampaignJob",
        summary="Search for blocks on which predictors disagree",
        example={
            "predictors": [2, 5],
            "preset": "tools",
            "settings": {"samples": 50, "threshold": 0.5},
            "end": {"minutes": 10},
            "scheme_filter": "-ext:AVX512",
            "excluded": [31],
            "seed": 1,
        },
        outcomes="anica_app.features.campaigns.asked.campaigns_of",
    ),
)

OPERATIONS = (("/campaigns", "api"), ("/campaigns", "parts_api"), ("/campaign-comparisons", "comparison_api"))


def _rows() -> QuerySet[Any]:
    from anica_app.features.campaigns.publishing import publishable  # noqa: PLC0415  pages load it

    return publishable()


def _page(pk: int) -> PublishedPage:
    from anica_app.features.campaigns.publishing import published_page  # noqa: PLC0415  pages load it

    return published_page(pk)


def _search_hits(text: str, most: int) -> list[SearchHits]:
    from anica_app.features.campaigns.query import search_hits  # noqa: PLC0415  searches load it

    return search_hits(text, most)


def _dependents(row: Any) -> list[Dependent]:
    from anica_app.features.campaigns.query import of_campaign  # noqa: PLC0415  pages load it

    return of_campaign(row)


PUBLISHED = (Publishable("campaign", "Campaigns", _rows, _page),)

FINDERS = (_search_hits,)

DEPENDENTS = {"anica_app.Campaign": _dependents}

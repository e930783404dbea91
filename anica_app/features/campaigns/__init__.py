"""Campaigns: searches for what tools disagree about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

from inference.features.running.runs.kind_presentation import KindPresentation
from inference.runs.kinds import Job, RunKind
from inference.web.contributions import Context, PagePanel, PanelPlace, Publishable

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django.http import HttpRequest

    from inference.models import StoredCoreModel
    from inference.web.contributions import Dependent, SearchHits
    from inference.web.published_page import PublishedPage


def _job() -> Job:
    from anica_app.features.campaigns.job import CampaignJob  # noqa: PLC0415  runs load it

    return CampaignJob()


def _presentation() -> KindPresentation:
    from anica_app.features.campaigns.form import campaigns_of  # noqa: PLC0415  pages load it

    return KindPresentation(outcomes=campaigns_of)


KINDS = (
    RunKind(
        "campaign",
        label="Campaign",
        job=_job,
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
    ),
)

PRESENTATIONS = {"campaign": _presentation}


def _rows() -> QuerySet[Any]:
    from anica_app.features.campaigns.exports import publishable  # noqa: PLC0415  pages load it

    return publishable()


def _page(pk: int) -> PublishedPage:
    from anica_app.features.campaigns.exports import published_page  # noqa: PLC0415  pages load it

    return published_page(pk)


def _search_hits(text: str, limit: int) -> list[SearchHits]:
    from anica_app.features.campaigns.query import search_hits  # noqa: PLC0415  searches load it

    return search_hits(text, limit)


def _dependents(row: Any) -> list[Dependent]:
    from anica_app.features.campaigns.query import of_campaign  # noqa: PLC0415  pages load it

    return of_campaign(row)


PUBLISHED = (Publishable("campaign", "Campaigns", _rows, _page),)

FINDERS = (_search_hits,)

DEPENDENTS = {"anica_app.Campaign": _dependents}


def _about_cpu(request: HttpRequest, row: StoredCoreModel) -> Context | None:
    from anica_app.features.campaigns.query import campaigns_about  # noqa: PLC0415  pages load it

    rows = campaigns_about(row)
    return {"campaigns": rows, "core_model": row} if rows or row.machine_id else None


PANELS = (
    PagePanel(
        PanelPlace.CORE_MODEL, "mistakes", "Tools", "anica/campaigns/of_cpu.html", _about_cpu, order=10
    ),
)


def _write(name: str, file: BinaryIO) -> None:
    from anica_app.storage.campaigns import write_campaign_archive  # noqa: PLC0415  exports load it

    write_campaign_archive(name, file)


WRITERS = {"campaign": _write}

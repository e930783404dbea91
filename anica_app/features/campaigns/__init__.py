"""Campaigns: searches for what tools disagree about."""

from __future__ import annotations

from typing import BinaryIO

from inference.features.running.runs.kind_presentation import KindPresentation
from inference.runs.kinds import RunKind
from inference.runs.lazy import lazy
from inference.web.publishable import Publishable

KINDS = (
    RunKind(
        "campaign",
        label="Campaign",
        job=lazy(__name__, "job.CampaignJob"),
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

PRESENTATIONS = {"campaign": lambda: KindPresentation(outcomes=lazy(__name__, "asked.campaigns_of"))}

PUBLISHED = (
    Publishable(
        "campaign",
        "Campaigns",
        lazy(__name__, "publishing.publishable"),
        lazy(__name__, "publishing.published_page"),
    ),
)

FINDERS = (lazy(__name__, "query.search_hits"),)

DEPENDENTS = {"anica_app.Campaign": lazy(__name__, "query.of_campaign")}


def _write(name: str, file: BinaryIO) -> None:
    from anica_app.storage.campaigns import write_campaign_archive  # noqa: PLC0415  exports load it

    write_campaign_archive(name, file)


WRITERS = {"campaign": _write}

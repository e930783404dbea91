"""Campaigns side by side: their descriptions, and what of the one the others have found as well."""

from __future__ import annotations

import json
from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Query, Router, Schema
from pydantic import Field

from anica_app.features.campaigns.comparing import ComparedCampaigns, compared_campaigns, differing, flattened
from anica_app.features.coverage.query import MOST_CAMPAIGNS
from anica_app.features.discoveries.shapes import FoundOut, discovery_json
from anica_app.models import Discovery
from inference.web.api.errors import ProblemError
from inference.web.api.paging import PageOf, Paging, listed_in_memory
from inference.web.api.shapes import Ref
from inference.web.validation import Id

router = Router()
_ABSENT = "null"


class Campaigns(Schema):
    """Which of them, each once."""

    campaigns: Annotated[
        list[Id],
        Field(min_length=2, max_length=MOST_CAMPAIGNS, description="Their numbers.", examples=[[4, 5]]),
    ]


class DifferenceOut(Schema):
    """A part of the descriptions that is not the same in all; null where one has nothing of it."""

    name: str = Field(examples=["search.samples"])
    values: list[Any] = Field(examples=[[100, 50]])


class SideOut(Schema):
    """A campaign with what it alone has found; null until a run has looked."""

    campaign: Ref
    discoveries: int = Field(examples=[31])
    alone: int | None = Field(description="That no other one of these has.", examples=[9])
    covered: int | None = Field(
        description="Interesting blocks of all of them that it includes.", examples=[180]
    )


class CampaignComparisonOut(Schema):
    """Campaigns side by side. `shared[i][j]`: discoveries of campaign i that campaign j includes as well.

    `coverage` is the run that looked: null until `POST /coverages` with these campaigns has been done.
    """

    sides: list[SideOut]
    differing: list[DifferenceOut]
    coverage: Id | None
    blocks: int | None = Field(description="Interesting blocks of all of them.", examples=[212])
    covered: int | None = Field(examples=[190])
    shared: list[list[int | None]] = Field(examples=[[[None, 22], [20, None]]])


@router.get("/campaign-comparisons", response=CampaignComparisonOut)
def compare_campaigns(request: HttpRequest, chosen: Query[Campaigns]) -> Any:
    """Compare campaigns: where their descriptions differ, how much their discoveries have in common."""
    compared = _compared(chosen)
    told = [
        {
            "predictors": json.dumps([tool.name for tool in row.tools]),
            "kind": json.dumps(row.kind),
            **{
                name: json.dumps(value, sort_keys=True)
                for name, value in flattened(row.config)
                if name != "predictors"
            },
        }
        for row in compared.rows
    ]
    shared, one_sided = differing(told, _ABSENT)
    found = compared.found
    return {
        "sides": compared.sides,
        "differing": [
            {"name": name, "values": [json.loads(text) for text in values]}
            for name, values in (*shared, *one_sided)
        ],
        "coverage": None if compared.runs.shown is None else compared.runs.shown.pk,
        "blocks": found.get("blocks"),
        "covered": found.get("covered"),
        "shared": [[None if pair is None else pair.shared for pair in pairs] for _, pairs in compared.pairs],
    }


@router.get("/campaign-comparisons/alone", response=PageOf[FoundOut])
def list_found_alone(request: HttpRequest, chosen: Query[Campaigns], paging: Query[Paging]) -> Any:
    """The discoveries that only one of some campaigns has, campaign by campaign; none until a run looked."""
    compared = _compared(chosen)

    def told(pks: Any) -> list[dict[str, Any]]:
        rows = Discovery.listed().in_bulk(pks)
        return [
            {**discovery_json(rows[pk], compared.covered), "campaign": rows[pk].campaign}
            for pk in pks
            if pk in rows
        ]

    return listed_in_memory(compared.alone, paging, told)


def _compared(chosen: Campaigns) -> ComparedCampaigns:
    ids = sorted(set(chosen.campaigns))
    compared = compared_campaigns(ids)
    missing = set(ids) - {row.pk for row in compared.rows}
    if missing or len(ids) < 2:
        what = f"There is no campaign {min(missing)}" if missing else "One campaign alone cannot be compared"
        raise ProblemError(422, what, where="query campaigns", right="the numbers of at least two campaigns")
    return compared

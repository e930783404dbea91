"""Campaigns: the list, one with its counters and files, starting one, name and note, deletion, exports."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from ninja import Query, Schema
from pydantic import Field

from anica_app.features.campaigns.comparison_api import router as comparison_router
from anica_app.features.campaigns.parts_api import router as parts_router
from anica_app.features.campaigns.query import CAMPAIGN_ORDERS, campaigns
from anica_app.features.campaigns.standing import failures_in_words, lacking_of, standing_of
from anica_app.features.campaigns.starting_api import router
from anica_app.features.discoveries.query import discoveries_csv
from anica_app.models import Campaign, CampaignFile
from anica_app.web.campaign_files import archive_answer, kept_file_answer
from inference.models import Run
from inference.runs.request import OneOf
from inference.web.api import access
from inference.web.api.access import Deed
from inference.web.api.document import FILE
from inference.web.api.named_rows import NamedRows
from inference.web.api.paging import PageOf, Paging, listed, sorts
from inference.web.api.shapes import Name, Note, Ref, RowOut, Text, Time, fields_of, parameter, ref
from inference.web.file_answers import attachment
from inference.web.validation import Id

router.add_router("", parts_router)
router.add_router("", comparison_router)

CampaignSort = Annotated[str, sorts(CAMPAIGN_ORDERS)]
Kind = Annotated[str, OneOf(["", *Campaign.Kind.values])]


class CampaignOut(RowOut):
    """A search for blocks on which tools disagree. `discoveries` counts those not covered by another one."""

    id: Id
    name: Name = Field(examples=["llvm-mca 13 and llvm-mca 22"])
    created: Time
    kind: str = Field(description="campaign, generalisation or explanation.", examples=["campaign"])
    origin: str = Field(description="run or import.", examples=["run"])
    source: str = Field(description="The file of an import.", examples=[""])
    run: Ref | None
    state: str | None = Field(description="Of its run.", examples=["done"])
    predictors: list[Ref]
    rounds: int = Field(examples=[12])
    sampled: int = Field(description="Fresh random blocks.", examples=[6000])
    interesting: int = Field(description="Of them, interesting.", examples=[412])
    subsumed: int = Field(description="Of them, known through earlier discoveries.", examples=[380])
    seconds: float = Field(examples=[600.0])
    discoveries: int = Field(validation_alias="found", examples=[31])
    explained: float | None = Field(
        description="The share of fresh interesting blocks that the discoveries include.", examples=[0.94]
    )


class FailureOut(Schema):
    """How often a predictor failed in a way."""

    failure: str = Field(examples=["timeout"])
    predictor: str = Field(examples=["osaca 0.7.1"])
    count: int = Field(examples=[3])


class CampaignFileOut(Schema):
    """A file that came with an imported campaign, or that its run has kept."""

    id: Id
    path: str = Field(examples=["support.json"])
    size: int = Field(description="Bytes.", examples=[20_480])


class StandingOut(Schema):
    """How far a campaign is; while it runs, as it told last."""

    sampled: int = Field(examples=[6000])
    interesting: int = Field(examples=[412])
    subsumed: int = Field(examples=[380])
    rounds: int = Field(examples=[12])
    discoveries: int = Field(examples=[31])
    included: int = Field(description="Discoveries that another one includes.", examples=[4])
    generalisations: int | None = Field(examples=[35])
    judged: int | None = Field(description="Blocks that were judged in all.", examples=[91_000])
    generalising: int = Field(description="Blocks that are generalised now.", examples=[0])
    rate: float | None = Field(description="Blocks judged per second.", examples=[151.0])
    seconds: float = Field(examples=[600.0])
    ratio: float | None = Field(description="Share of the fresh blocks that is interesting.", examples=[0.07])
    failures: list[FailureOut]


class CampaignInFull(CampaignOut):
    """A campaign with its counters and its whole description, by which it can be started again."""

    note: Note
    isa: Ref | None
    format: str = Field(
        description="In whose words it is described: ours, or anica for the published tool's.",
        examples=["ours"],
    )
    config: dict[str, Any] = Field(
        examples=[{"predictors": [2, 5], "preset": "tools", "end": {"minutes": 10.0}, "seed": 1}]
    )
    standing: StandingOut
    facts: dict[str, Any] = Field(
        description="What else is known: schemes, times, what the discoveries explain.",
        examples=[{"schemes": 3100, "unsupported": 54, "judged": 91_000}],
    )
    files: list[CampaignFileOut]


class LackingOut(RowOut):
    """Schemes that were left out because a tool does not support them."""

    predictor: str = Field(validation_alias="tool", examples=["osaca 0.7.1"])
    reason: str = Field(examples=["unsupported"])
    count: int = Field(examples=[54])
    schemes: list[str] = Field(description="The first 200.", examples=[["lar GPR[16]:W, GPR[16]:R"]])


CAMPAIGNS = NamedRows(
    router,
    "/campaigns",
    "campaign",
    lambda: campaigns().defer(None).select_related("isa", "run"),
    CampaignOut,
    lambda rows: [_campaign(row) for row in rows],
)
CAMPAIGNS.add_changes(
    "Delete a campaign with its discoveries and all that it has sampled, unless it goes on."
)


@router.get("/campaigns", response=PageOf[CampaignOut])
def list_campaigns(
    request: HttpRequest,
    paging: Query[Paging],
    q: Text = "",
    kind: Kind = "",
    predictor: int | None = parameter(
        None, ge=0, le=2**63 - 1, description="Number of one that it has asked.", examples=[2]
    ),
    sort: CampaignSort = "-newest",
) -> Any:
    """All campaigns, those with the text `q` in name or note, of a kind, with a predictor.

    Generalisations of single blocks and explanations of single predictions are among them.
    """
    return listed(campaigns(q.strip(), kind, predictor), CAMPAIGN_ORDERS, sort, paging, CAMPAIGNS.values)


@router.get("/campaigns/{campaign_id}", response=CampaignInFull)
def get_campaign(request: HttpRequest, campaign_id: Id) -> Any:
    """One campaign, with what it was asked, how far it is, and its files."""
    row = CAMPAIGNS.row(campaign_id)
    run: Run | None = row.run if row.origin == Campaign.Origin.RUN else None
    standing = standing_of(row, run)
    names = [tool.name for tool in row.tools]
    failures = [
        {"failure": what, "predictor": whose, "count": count}
        for what, whose, count in failures_in_words(standing.failures, names)
    ]
    files = row.files.defer("content").values("id", "path", "size")
    return {
        **CAMPAIGNS.answer(row),
        **{name: getattr(row, name) for name in ("note", "format", "config", "facts")},
        "isa": ref(row.isa),
        "standing": {**vars(standing), "ratio": standing.ratio, "failures": failures},
        "files": list(files),
    }


@router.get("/campaigns/{campaign_id}/unsupported", response=list[LackingOut])
def list_unsupported(request: HttpRequest, campaign_id: Id) -> Any:
    """The schemes that a campaign had to leave out, by the tool that lacks them."""
    row = CAMPAIGNS.row(campaign_id)
    return lacking_of(row, [tool.name for tool in row.tools])


@router.get("/campaigns/{campaign_id}/exports/csv", response=str, openapi_extra={FILE: "text/csv"})
def export_discoveries(request: HttpRequest, campaign_id: Id) -> HttpResponse:
    """The discoveries of a campaign as CSV, in words and as documents."""
    row = get_object_or_404(Campaign, pk=campaign_id)
    access.note(request, Deed.EXPORTED, row)
    return attachment(discoveries_csv(row), "text/csv; charset=utf-8", f"{row.name} discoveries", "csv")


@router.get("/campaigns/{campaign_id}/exports/zip", response=bytes, openapi_extra={FILE: "application/zip"})
def export_campaign(request: HttpRequest, campaign_id: Id) -> HttpResponseBase:
    """A campaign with all that it has sampled, as an archive that another installation imports."""
    row = get_object_or_404(Campaign, pk=campaign_id)
    access.note(request, Deed.EXPORTED, row)
    return archive_answer(row)


@router.get(
    "/campaigns/{campaign_id}/files/{file_id}",
    response=bytes,
    openapi_extra={FILE: "application/octet-stream"},
)
def get_campaign_file(request: HttpRequest, campaign_id: Id, file_id: Id) -> HttpResponseBase:
    """A file of a campaign, as it was."""
    row = get_object_or_404(CampaignFile.objects.select_related("campaign"), pk=file_id, campaign=campaign_id)
    access.note(request, Deed.EXPORTED, row.campaign)
    return kept_file_answer(row)


def _campaign(row: Any) -> dict[str, Any]:
    """A row of `campaigns`, with its seats at hand."""
    return fields_of(
        row,
        CampaignOut,
        state=None if row.run is None else row.run.state,
        predictors=row.tools,
    )

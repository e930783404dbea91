"""Campaigns over the API: list, start, status and files, name and note, deletion, exports."""

from __future__ import annotations

from typing import Annotated, Any

from django.db import transaction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema, Status
from pydantic import Field

from anica_app.features.campaigns.exports import archive_answer
from anica_app.features.campaigns.parts_api import router as parts_router
from anica_app.features.campaigns.progress import campaign_status, plan_of
from anica_app.features.campaigns.query import (
    CAMPAIGN_ORDERS,
    campaigns,
    failures_in_words,
)
from anica_app.features.campaigns.request import MAX_PREDICTORS, PRESETS, read_config
from anica_app.models import Campaign
from anica_app.storage.descriptions import GROUPS, FreshBlocks
from inference.core.protocols import Json
from inference.features.asking.predictors.modes import QuestionMode
from inference.features.asking.predictors.offers import predictors_named
from inference.features.running.runs.runs_of_kind import submit_run
from inference.runs.request import AllowedTexts, Seed
from inference.storage.names import NAME_LIMIT, NOTE_LIMIT
from inference.web.api import access
from inference.web.api.access import AuditAction
from inference.web.api.document import FILE
from inference.web.api.errors import ProblemError
from inference.web.api.named_rows import NamedRows
from inference.web.api.paging import PageOf, Paging, allowed_sorts, list_answer
from inference.web.api.shapes import (
    Input,
    Name,
    Note,
    Ref,
    RowOut,
    RunOut,
    Text,
    Time,
    fields_of,
    parameter,
    ref,
    run_json,
)
from inference.web.validation import Id

router = Router()
"""Operations on campaigns; those with a campaign's number come after these, so that `/campaigns/settings`
matches first.
"""

KIND = "campaign"
Preset = Annotated[str, AllowedTexts(PRESETS)]


class CampaignRequest(Input):
    """The description of a campaign. Absent parts have their defaults, or those of the campaign in `like`."""

    like: Id | None = Field(
        None,
        description="Id of a campaign whose predictors and settings are the defaults.",
        examples=[None],
    )
    predictors: list[str] | None = Field(
        None,
        min_length=1,
        max_length=MAX_PREDICTORS,
        description="Names of predictors. With a single one, the campaign searches for blocks on "
        "which it fails.",
        examples=[["llvm-mca 13 · haswell", "llvm-mca 22 · haswell"]],
    )
    processor: str = Field(
        "",
        description="Processor for tools that support several; by default that of the site's computer.",
        examples=[""],
    )
    preset: Preset | None = Field(
        None, description="Name of a preset of settings; by default `tools`.", examples=["tools"]
    )
    settings: dict[str, Any] = Field(
        default_factory=dict,
        description="{name: value}; `GET /campaigns/settings` lists the names.",
        examples=[{"samples": 50, "threshold": 0.5}],
    )
    end: dict[str, int | float | None] | None = Field(
        None,
        description="Limits: minutes, discoveries, barren (rounds without a discovery), blocks; the "
        "first one reached ends the campaign.",
        examples=[{"minutes": 10}],
    )
    scheme_filter: str | None = Field(
        None,
        max_length=500,
        description="A search for schemes, in the syntax of the scheme table.",
        examples=["-ext:AVX512"],
    )
    uops: Id | None = Field(
        None, description="Id of a port mapping that gives the schemes' numbers of µops.", examples=[None]
    )
    excluded: list[Id] = Field(
        default_factory=list,
        max_length=1000,
        description="Ids of discoveries to exclude, beside those that `like` excludes.",
        examples=[[31]],
    )
    evaluate: FreshBlocks | None = Field(
        None, description="Number of random blocks evaluated at the end.", examples=[0]
    )
    mode: QuestionMode | None = None
    seed: Seed | None = Field(
        None,
        description="Seed of all random choices. Campaigns with equal seeds find the same, unless a "
        "time limit ends them.",
        examples=[1],
    )


class NewCampaign(CampaignRequest):
    """A campaign to be started."""

    name: str = Field(
        "",
        max_length=NAME_LIMIT,
        description="Name of the run and the campaign; by default the names of the predictors.",
    )
    note: str = Field("", max_length=NOTE_LIMIT)


class StartedCampaignOut(Schema):
    """The run that searches, and its campaign, which holds results from the beginning."""

    run: RunOut
    campaign: Ref


class PlanOut(Schema):
    """A complete description, as `POST /runs` takes it, and an estimate of its size."""

    config: dict[str, Any] = Field(
        examples=[{"predictors": [2, 5], "preset": "tools", "end": {"minutes": 10.0}}]
    )
    schemes: int = Field(description="Schemes that the filter selects.", examples=[3154])
    left: int | None = Field(
        description="Number of these that all tools supported in an earlier campaign.", examples=[3100]
    )
    rate: float | None = Field(description="Blocks per second in that campaign.", examples=[151.0])
    blocks: int | None = Field(
        description="Estimated number of blocks evaluated by the end.", examples=[90_600]
    )


class SettingOut(Schema):
    """A setting of campaigns; `paper`: the value of the published experiments, where they have one."""

    name: str = Field(examples=["samples"])
    group: str = Field(description="interest, search, domain or space.", examples=["search"])
    default: Any = Field(examples=[100])
    paper: Any = Field(examples=[100])
    help: str = Field(examples=["blocks sampled of an abstract block to check it"])


class PresetOut(Schema):
    """Settings that belong together for a purpose."""

    preset: str = Field(examples=["hardware"])
    title: str = Field(examples=["A tool and a machine"])
    help: str = Field(examples=["At least 2 cycles of difference, half the samples …"])
    settings: dict[str, Any] = Field(examples=[{"metric": "absolute", "threshold": 2.0, "samples": 50}])
    scheme_filter: str = Field(examples=["-memory:RW"])


class CampaignSettingsOut(Schema):
    """All settings and presets of campaigns."""

    settings: list[SettingOut]
    presets: list[PresetOut]


@router.get("/campaigns/settings", response=CampaignSettingsOut)
def list_campaign_settings(request: HttpRequest) -> Any:
    """The settings of campaigns with their defaults, and the presets."""
    settings = [
        {
            "name": entry.name,
            "group": group,
            "default": entry.default,
            **{key: entry.metadata[key] for key in ("paper", "help")},
        }
        for group, cls in GROUPS.items()
        for entry in cls.__dataclass_fields__.values()
    ]
    presets = [
        fields_of(preset, PresetOut, preset=key, scheme_filter=preset.filter)
        for key, preset in PRESETS.items()
    ]
    return {"settings": settings, "presets": presets}


@router.post("/campaigns", response={201: StartedCampaignOut})
def start_campaign(request: HttpRequest, data: NewCampaign) -> Any:
    """Start to search for blocks on which predictors disagree.

    To continue a campaign that has ended without finding a discovery again, name the campaign in `like` and
    the discovery in `excluded`.
    """
    with transaction.atomic():  # no predictor is stored for a description that is refused
        config = read_config(_run_description(data)).as_json()
        run = submit_run(request, KIND, config, data.name, note=data.note)
    return Status(201, {"run": run_json(run), "campaign": ref(Campaign.objects.get(run=run))})


@router.post("/campaigns/check", response=PlanOut)
def check_campaign(request: HttpRequest, data: CampaignRequest) -> Any:
    """Complete the description of a campaign and estimate its duration, without starting it.

    Predictors that are named for the first time are stored: the description has their numbers.
    """
    with transaction.atomic():
        plan = plan_of(read_config(_run_description(data)).as_json())
    rate = None if plan.pace is None else plan.pace.rate
    return fields_of(plan, PlanOut, rate=rate)


def _run_description(data: CampaignRequest) -> Json:
    """The unchecked description of the run."""
    stated = data.dict(exclude={"like", "predictors", "processor", "excluded", "settings", "name", "note"})
    config: Json = {name: value for name, value in stated.items() if value is not None}
    settings, excluded = dict(data.settings), list[Any](data.excluded)
    if data.like is not None:
        row = get_object_or_404(Campaign, pk=data.like)
        config["predictors"] = list(row.seats.order_by("position").values_list("predictor", flat=True))
        if row.format == Campaign.Format.OURS:
            before = row.config
            inherited = ("preset", "end", "scheme_filter", "uops", "evaluate", "seed", "mode")
            config = {**{name: before[name] for name in inherited if name in before}, **config}
            for group in GROUPS:  # no two of their settings have the same name
                settings = {**before.get(group, {}), **settings}
            excluded = [*before.get("excluded", []), *excluded]
    if data.predictors is not None:
        config["predictors"] = [row.pk for row in predictors_named(data.predictors, data.processor)]
    if "predictors" not in config:
        raise ProblemError(
            422, "Nobody is named to be asked", where="body predictors", right="names, or `like` a campaign"
        )
    return {**config, "settings": settings, "excluded": excluded}


router.add_router("", parts_router)

CampaignSort = Annotated[str, allowed_sorts(CAMPAIGN_ORDERS)]
Kind = Annotated[str, AllowedTexts(["", *Campaign.Kind.values])]


class CampaignOut(RowOut):
    """A search for blocks on which tools disagree. `discoveries` excludes those that another one covers."""

    id: Id
    name: Name = Field(examples=["llvm-mca 13 and llvm-mca 22"])
    created: Time
    kind: str = Field(description="campaign, generalisation or explanation.", examples=["campaign"])
    origin: str = Field(description="run or import.", examples=["run"])
    source: str = Field(description="Name of the imported file.", examples=[""])
    run: Ref | None
    state: str | None = Field(description="State of its run.", examples=["done"])
    predictors: list[Ref]
    rounds: int = Field(examples=[12])
    sampled: int = Field(description="Random blocks evaluated at the end.", examples=[6000])
    interesting: int = Field(description="Interesting ones among these.", examples=[412])
    subsumed: int = Field(description="Interesting ones that earlier discoveries include.", examples=[380])
    seconds: float = Field(examples=[600.0])
    discoveries: int = Field(validation_alias="discovery_count", examples=[31])
    explained: float | None = Field(
        description="Share of the interesting random blocks that the discoveries include, 0 to 1.",
        examples=[0.94],
    )


class FailureOut(Schema):
    """How often a predictor failed in a way."""

    failure: str = Field(examples=["timeout"])
    predictor: str = Field(examples=["osaca 0.7.1"])
    count: int = Field(examples=[3])


class CampaignFileOut(Schema):
    """A file of an imported campaign, or one that its run has stored."""

    id: Id
    path: str = Field(examples=["support.json"])
    size: int = Field(description="Size in bytes.", examples=[20_480])


class CampaignStatusOut(Schema):
    """The progress of a campaign; while it runs, as of its last event."""

    sampled: int = Field(examples=[6000])
    interesting: int = Field(examples=[412])
    subsumed: int = Field(examples=[380])
    rounds: int = Field(examples=[12])
    discoveries: int = Field(examples=[31])
    included: int = Field(description="Discoveries that another discovery includes.", examples=[4])
    generalisations: int | None = Field(examples=[35])
    judged: int | None = Field(description="Number of blocks evaluated.", examples=[91_000])
    generalising: int = Field(description="Blocks that are being generalised.", examples=[0])
    rate: float | None = Field(description="Blocks evaluated per second.", examples=[151.0])
    seconds: float = Field(examples=[600.0])
    ratio: float | None = Field(
        description="Share of interesting ones among the random blocks, 0 to 1.", examples=[0.07]
    )
    failures: list[FailureOut]


class CampaignInFull(CampaignOut):
    """A campaign with its status and its complete description, which starts it again."""

    note: Note
    isa: Ref | None
    format: str = Field(
        description="Vocabulary of the abstract blocks: ours, or anica for that of the published tool.",
        examples=["ours"],
    )
    config: dict[str, Any] = Field(
        examples=[{"predictors": [2, 5], "preset": "tools", "end": {"minutes": 10.0}, "seed": 1}]
    )
    standing: CampaignStatusOut
    facts: dict[str, Any] = Field(
        description="Further numbers: schemes, times, explained blocks.",
        examples=[{"schemes": 3100, "unsupported": 54, "judged": 91_000}],
    )
    files: list[CampaignFileOut]


CAMPAIGNS = NamedRows(
    router,
    "/campaigns",
    "campaign",
    lambda: campaigns().defer(None).select_related("isa", "run"),
    CampaignOut,
    lambda rows: [_campaign(row) for row in rows],
)
CAMPAIGNS.add_changes("Delete a campaign with its discoveries and sampled blocks, unless it is running.")


@router.get("/campaigns", response=PageOf[CampaignOut])
def list_campaigns(
    request: HttpRequest,
    paging: Query[Paging],
    q: Text = "",
    kind: Kind = "",
    predictor: int | None = parameter(
        None, ge=0, le=2**63 - 1, description="Id of a predictor that the campaign ran.", examples=[2]
    ),
    sort: CampaignSort = "-newest",
) -> Any:
    """All campaigns, filtered by a text `q` in name or note, by kind, and by predictor.

    The list includes generalisations of single blocks and explanations of single predictions.
    """
    return list_answer(campaigns(q.strip(), kind, predictor), CAMPAIGN_ORDERS, sort, paging, CAMPAIGNS.values)


@router.get("/campaigns/{campaign_id}", response=CampaignInFull)
def get_campaign(request: HttpRequest, campaign_id: Id) -> Any:
    """One campaign with its configuration, status and files."""
    row = CAMPAIGNS.row(campaign_id)
    status = campaign_status(row, row.run if row.origin == Campaign.Origin.RUN else None)
    words = failures_in_words(status.failures, [tool.name for tool in row.tools])
    failures = [{"failure": name, "predictor": tool, "count": count} for name, tool, count in words]
    return {
        **CAMPAIGNS.answer(row),
        **{name: getattr(row, name) for name in ("note", "format", "config", "facts")},
        "isa": ref(row.isa),
        "standing": {**vars(status), "ratio": status.ratio, "failures": failures},
        "files": list(row.files.values("id", "path", "size")),
    }


@router.get("/campaigns/{campaign_id}/exports/zip", response=bytes, openapi_extra={FILE: "application/zip"})
def export_campaign(request: HttpRequest, campaign_id: Id) -> HttpResponseBase:
    """A campaign with all that it has sampled, as an archive that another installation imports."""
    row = get_object_or_404(Campaign, pk=campaign_id)
    access.log_action(request, AuditAction.EXPORTED, row)
    return archive_answer(row)


def _campaign(row: Any) -> dict[str, Any]:
    """A row of `campaigns`, whose seats are prefetched."""
    state = None if row.run is None else row.run.state
    return fields_of(row, CampaignOut, state=state, predictors=row.tools)

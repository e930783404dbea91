"""Starting a campaign: described by names, or as one that there is with something else about it."""

from __future__ import annotations

from typing import Annotated, Any

from django.db import transaction
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Router, Schema, Status
from pydantic import Field

from anica_app.features.campaigns.presets import PRESETS
from anica_app.features.campaigns.query import plan_of
from anica_app.features.campaigns.request import MOST_PREDICTORS, read_config
from anica_app.models import Campaign
from anica_app.storage.descriptions import GROUPS, FreshBlocks
from inference.core.protocols import Json
from inference.features.asking.predictors.modes import QuestionMode
from inference.features.asking.predictors.offers import predictors_named
from inference.features.running.runs.runs_of_kind import submitted
from inference.runs.request import OneOf, Seed
from inference.storage.names import NAME_LIMIT, NOTE_LIMIT
from inference.web.api.errors import ProblemError
from inference.web.api.shapes import Input, Ref, RunOut, fields_of, ref, run_json
from inference.web.validation import Id

router = Router()
"""Of all operations on campaigns themselves; those that name one by its number come behind these."""

KIND = "campaign"
Preset = Annotated[str, OneOf(PRESETS)]


class WantedCampaign(Input):
    """What is searched for. What is absent is as usual, or as the campaign in `like` has it."""

    like: Id | None = Field(
        None, description="A campaign whose predictors and settings are taken over.", examples=[None]
    )
    predictors: list[str] | None = Field(
        None,
        min_length=1,
        max_length=MOST_PREDICTORS,
        description="Names; with one alone, blocks are searched on which it fails.",
        examples=[["llvm-mca 13 · haswell", "llvm-mca 22 · haswell"]],
    )
    processor: str = Field(
        "",
        description="For which the tools named here predict that know several; that of the site's computer "
        "without.",
        examples=[""],
    )
    preset: Preset | None = Field(
        None, description="Settings for a purpose; tools without.", examples=["tools"]
    )
    settings: dict[str, Any] = Field(
        default_factory=dict,
        description="By their names, as `GET /campaigns/settings` lists them.",
        examples=[{"samples": 50, "threshold": 0.5}],
    )
    end: dict[str, int | float | None] | None = Field(
        None,
        description="minutes, discoveries, barren, blocks: whichever is reached first.",
        examples=[{"minutes": 10}],
    )
    scheme_filter: str | None = Field(
        None, max_length=500, description="A search of the scheme table.", examples=["-ext:AVX512"]
    )
    uops: Id | None = Field(
        None, description="A port mapping that gives the numbers of µops.", examples=[None]
    )
    excluded: list[Id] = Field(
        default_factory=list,
        max_length=1000,
        description="Discoveries not to be found again, beside those that `like` excludes.",
        examples=[[31]],
    )
    evaluate: FreshBlocks | None = Field(None, description="Fresh blocks judged at the end.", examples=[0])
    mode: QuestionMode | None = None
    seed: Seed | None = Field(None, description="The same finds the same, unless time ends it.", examples=[1])


class NewCampaign(WantedCampaign):
    """A campaign to be started."""

    name: str = Field(
        "", max_length=NAME_LIMIT, description="Of run and campaign; if empty, one is generated."
    )
    note: str = Field("", max_length=NOTE_LIMIT)


class StartedCampaignOut(Schema):
    """The run that searches, and the campaign that holds what it finds from the beginning on."""

    run: RunOut
    campaign: Ref


class PlanOut(Schema):
    """A complete description, as `POST /runs` takes it too, and what is known of how long it takes."""

    config: dict[str, Any] = Field(
        examples=[{"predictors": [2, 5], "preset": "tools", "end": {"minutes": 10.0}}]
    )
    schemes: int = Field(description="That the filter finds.", examples=[3154])
    left: int | None = Field(
        description="Of them, so many all tools supported in an earlier campaign.", examples=[3100]
    )
    rate: float | None = Field(description="Blocks per second, in that campaign.", examples=[151.0])
    blocks: int | None = Field(description="Blocks that will be judged by the end.", examples=[90_600])


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
    """What can be set of a campaign, and the presets."""
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

    To go on where a campaign has ended, without finding something again, name the campaign in `like` and the
    discovery in `excluded`.
    """
    with transaction.atomic():  # no predictor is stored for a description that is refused
        config = read_config(_described(data)).as_json()
        run = submitted(request, KIND, config, "Campaign through the API", data.name, note=data.note)
    return Status(201, {"run": run_json(run), "campaign": ref(Campaign.objects.get(run=run))})


@router.post("/campaigns/check", response=PlanOut)
def check_campaign(request: HttpRequest, data: WantedCampaign) -> Any:
    """Make the description of a campaign complete, and estimate it. Nothing is started.

    Predictors that are named for the first time are stored: their numbers stand in the description.
    """
    with transaction.atomic():
        plan = plan_of(read_config(_described(data)).as_json())
    rate = None if plan.pace is None else plan.pace.rate
    return fields_of(plan, PlanOut, rate=rate)


def _described(data: WantedCampaign) -> Json:
    """The description of the run, not yet checked."""
    given = data.dict(exclude={"like", "predictors", "processor", "excluded", "settings", "name", "note"})
    config: Json = {name: value for name, value in given.items() if value is not None}
    settings, excluded = dict(data.settings), list[Any](data.excluded)
    if data.like is not None:
        row = get_object_or_404(Campaign, pk=data.like)
        config["predictors"] = list(row.seats.order_by("position").values_list("predictor", flat=True))
        if row.format == Campaign.Format.OURS:
            before = row.config
            kept = ("preset", "end", "scheme_filter", "uops", "evaluate", "seed", "mode")
            config = {**{name: before[name] for name in kept if name in before}, **config}
            settings = {**_settings_of(before), **settings}
            excluded = [*before.get("excluded", []), *excluded]
    if data.predictors is not None:
        config["predictors"] = [row.pk for row in predictors_named(data.predictors, data.processor)]
    if "predictors" not in config:
        raise ProblemError(
            422, "Nobody is named to be asked", where="body predictors", right="names, or `like` a campaign"
        )
    return {**config, "settings": settings, "excluded": excluded}


def _settings_of(config: Json) -> Json:
    """Those of all groups, by name: no two have the same."""
    return {name: value for group in GROUPS for name, value in config.get(group, {}).items()}

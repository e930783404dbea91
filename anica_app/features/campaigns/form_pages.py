"""The page with the form for a new campaign; presets, estimate and start are buttons of the form."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path

from anica_app.features.campaigns.form import SETTING, CampaignForm, WordsField, initial_settings
from anica_app.features.campaigns.query import CampaignPlan, plan_of
from anica_app.features.campaigns.request import PRESETS, CampaignConfig, read_config
from anica_app.models import Campaign, Discovery
from anica_app.storage.descriptions import GROUPS
from inference.core.protocols import Json
from inference.features.asking.predictors.query import PredictorListing, predictor_listings
from inference.models import Predictor
from inference.runs.errors import ConfigError
from inference.web.request_fields import start_run
from inference.web.validation import choice_parameter, number_parameter, row_id_or_none, row_ids

_INHERITED_FIELDS = ("scheme_filter", "evaluate", "seed", "uops", "preset", "mode")
"""Fields, beside the settings, that a campaign run again inherits."""
_OPTIONAL_FIELDS = ("uops",)
"""Fields that the form omits from the description where they are empty."""


def campaign_new(request: HttpRequest) -> HttpResponse:
    """Show the form, apply a preset, estimate, or start the campaign."""
    usable = [predictor for predictor in predictor_listings() if predictor.usable]
    if request.method != "POST":
        initial, excluded = _initial(request)
        return _page(request, CampaignForm(usable, initial=initial, excluded=excluded), usable)
    press = request.POST.get("press", "estimate")
    if press.startswith("preset:"):
        return _page(request, CampaignForm(usable, _with_preset(request.POST, press[7:])), usable)
    form = CampaignForm(usable, request.POST)
    plan = _plan(form, row_id_or_none(request.POST.get("from", "")))
    if press == "start" and plan is not None:
        run = start_run(request, "campaign", plan.config, form=form)
        if run is not None:
            campaign = Campaign.objects.filter(run=run).first()
            return redirect("run", run.pk) if campaign is None else redirect("campaign", campaign.pk)
    return _page(request, form, usable, plan, status=400 if press == "start" else 200)


def _plan(form: CampaignForm, again: int | None) -> CampaignPlan | None:
    if not form.is_valid():
        return None
    described = form.config()
    try:
        read_config(described)
        config = read_config(_with_inherited(described, again)).as_json()
    except ConfigError as error:
        form.blame(str(error))
        return None
    plan = plan_of(config)
    if not plan.schemes:
        form.add_error("scheme_filter", "No scheme is found by this.")
        return None
    return plan


def _with_inherited(described: Json, again: int | None) -> Json:
    """The description with values of the campaign run again that no field shows, where they are still
    valid.
    """
    row = None if again is None else Campaign.objects.filter(pk=again, format=Campaign.Format.OURS).first()
    if row is None:
        return described
    deleted = [exclusion for exclusion in row.config.get("excluded", ()) if not _is_there(exclusion)]
    completed = {**described, "excluded": [*described["excluded"], *deleted]}
    stated = (*described, *GROUPS, *_OPTIONAL_FIELDS)
    for field, value in CampaignConfig.carried_over(row.config, stated).items():
        with suppress(ConfigError):  # a campaign that was deleted, a judge that is now one of the two
            read_config({**completed, field: value})
            completed[field] = value
    return completed


def _is_there(excluded: Any) -> bool:
    """Whether an excluded discovery still exists and so has a check box."""
    pk = excluded.get("discovery") if isinstance(excluded, dict) else excluded
    return isinstance(pk, int) and Discovery.objects.filter(pk=pk, abstract__isnull=False).exists()


def _initial(request: HttpRequest) -> tuple[dict[str, Any], list[int]]:
    """Initial values from the address: `from` a campaign, `predictor` ids, a `preset`; and the excluded
    discoveries, those that it names and those of `from`.
    """
    initial: dict[str, Any] = {}
    excluded = row_ids(request.GET.getlist("exclude"))
    preset = choice_parameter(request, "preset", tuple(PRESETS))
    again = number_parameter(request, "from")
    if again is not None:
        row = get_object_or_404(Campaign, pk=again)
        if row.format == Campaign.Format.OURS:
            initial = initial_settings(row.config)
            initial |= {name: row.config[name] for name in _INHERITED_FIELDS if name in row.config}
        names = [tool.name for tool in row.tools]
        initial |= dict(zip(("first", "second"), names, strict=False))
        before = row.config.get("excluded", [])
        excluded += [row["discovery"] for row in before if isinstance(row, dict) and row.get("discovery")]
    ids = row_ids(request.GET.getlist("predictor"))[:2]
    names_by_id = dict(Predictor.objects.filter(pk__in=ids).values_list("pk", "name"))
    named = [names_by_id[pk] for pk in ids if pk in names_by_id]
    initial |= dict(zip(("first", "second"), named, strict=False))
    if preset:
        initial |= {"preset": preset, "scheme_filter": PRESETS[preset].filter, "mode": PRESETS[preset].mode}
        initial |= {SETTING + name: value for name, value in PRESETS[preset].settings.items()}
    return initial, excluded


def _with_preset(data: QueryDict, name: str) -> QueryDict:
    """The form's data with default settings, overridden by those of the preset."""
    filled = data.copy()
    if name not in PRESETS:
        return filled
    preset = PRESETS[name]
    filled["preset"], filled["scheme_filter"], filled["mode"] = name, preset.filter, preset.mode
    blank = CampaignForm([])
    for field in (field for group in GROUPS for field in blank.groups[group]):
        value = preset.settings.get(field.name.removeprefix(SETTING), field.field.initial)
        if isinstance(field.field, WordsField):
            filled.setlist(field.name, field.field.prepare_value(value))
        elif isinstance(value, bool):
            filled.setlist(field.name, ["on"] if value else [])
        else:
            filled[field.name] = str(value)
    return filled


def _page(
    request: HttpRequest,
    form: CampaignForm,
    usable: list[PredictorListing],
    plan: CampaignPlan | None = None,
    status: int = 200,
) -> HttpResponse:
    chosen_preset = str(form["preset"].value() or "tools")
    context = {
        "form": form,
        "usable": usable,
        "presets": [(key, preset, key == chosen_preset) for key, preset in PRESETS.items()],
        "estimate": plan,
        "estimate_error": _first_complaint(form) if form.is_bound and plan is None else "",
        "refused": status == 400,
        "again": number_parameter(request, "from") or row_id_or_none(request.POST.get("from", "")),
        "excludes": bool(form.fields["excluded"].queryset),  # type: ignore[attr-defined]
    }
    return render(request, "anica/campaigns/new.html", context, status=status)


def _first_complaint(form: CampaignForm) -> str:
    if not form.data.get("first"):
        return ""  # nothing is wrong yet
    field, complaints = next(iter(form.errors.items()), ("", [""]))
    return f"{form[field].label}: {complaints[0]}" if field in form.fields else str(complaints[0])


urlpatterns = [path("campaigns/new/", campaign_new, name="campaign-new")]

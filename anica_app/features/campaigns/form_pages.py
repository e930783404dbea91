"""The page with the form for a new campaign; presets, estimate and start are buttons of the form."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path

from anica_app.features.campaigns.form import END, SETTING, CampaignForm, WordsField, initial_settings
from anica_app.features.campaigns.progress import CampaignPlan, plan_of
from anica_app.features.campaigns.request import PRESETS, CampaignConfig, read_config
from anica_app.features.discoveries.tool_commands import LLVM_MCA
from anica_app.formats.anica_alone import settings_in
from anica_app.models import Campaign, Discovery
from anica_app.storage.descriptions import GROUPS
from inference.core.protocols import Json
from inference.features.asking.predictors.modes import MEASURING
from inference.features.asking.predictors.query import PredictorListing, predictor_listings
from inference.models import Machine, Predictor, StoredCoreModel
from inference.predictors import core_model, mapping
from inference.predictors.processor_names import processor_option, processors_named
from inference.runs.errors import ConfigError
from inference.storage.instruction_sets import core_name
from inference.web.request_fields import start_run
from inference.web.validation import choice_parameter, number_parameter, row_id_or_none, row_ids

_INHERITED_FIELDS = ("scheme_filter", "evaluate", "seed", "uops", "preset", "mode")
"""Fields, beside the settings, that a campaign run again inherits."""
_OPTIONAL_FIELDS = ("uops",)
"""Fields that the form omits from the description where they are empty."""
AUTOMATIC = "automatic"
"""The button that a script presses when the pair of predictors has changed: the preset of the pair."""
_CPU_MINUTES = 3.0
"""The time limit offered for the mistakes of a tool about a CPU."""


def campaign_new(request: HttpRequest) -> HttpResponse:
    """Show the form, apply a preset, estimate, or start the campaign."""
    usable = [predictor for predictor in predictor_listings() if predictor.usable]
    if request.method != "POST":
        initial, excluded = _initial(request, usable)
        return _page(request, CampaignForm(usable, initial=initial, excluded=excluded), usable)
    press = request.POST.get("press", "estimate")
    if press.startswith("preset:"):
        is_automatic = press[7:] == AUTOMATIC
        fields = request.POST
        data = _with_pair_preset(fields, usable) if is_automatic else _with_preset(fields, press[7:])
        return _page(request, CampaignForm(usable, data), usable)
    form = CampaignForm(usable, request.POST)
    plan = _plan(form, row_id_or_none(request.POST.get("from", "")))
    if press == "start" and plan is not None:
        run = start_run(request, "campaign", plan.config, form=form)
        if run is not None:
            campaign = Campaign.objects.filter(run=run).first()
            return redirect("run", run.pk) if campaign is None else redirect("campaign", campaign.pk)
    return _page(request, form, usable, plan, status=400 if press == "start" else 200)


def _plan(form: CampaignForm, source_run: int | None) -> CampaignPlan | None:
    if not form.is_valid():
        return None
    described = form.config()
    try:
        read_config(described)
        config = read_config(_with_inherited(described, source_run)).as_json()
    except ConfigError as error:
        form.blame(str(error))
        return None
    plan = plan_of(config)
    if not plan.schemes:
        form.add_error("scheme_filter", "No scheme is found by this.")
        return None
    return plan


def _with_inherited(described: Json, source_run: int | None) -> Json:
    """The description with values of the campaign run again that no field shows, where they are still
    valid.
    """
    row = (
        None
        if source_run is None
        else Campaign.objects.filter(pk=source_run, format=Campaign.Format.OURS).first()
    )
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


def pair_preset(pair: Sequence[PredictorListing]) -> str:
    """The preset that fits two predictors; that of two tools while one is missing.

    Two machines are two ways of measuring if they are one machine; releases differ in nothing but the version
    and the program.
    """
    measuring = [row for row in pair if row.kind.name in MEASURING]
    if len(pair) < 2:
        return "tools"
    first, second = pair
    if len(measuring) == 2:
        return "harness" if first.options.get("machine") == second.options.get("machine") else "hardware"
    if measuring:
        return "hardware"
    if {row.kind.name for row in pair} == {mapping.KIND}:
        return "mappings"
    same_options = _without_release(first) == _without_release(second)
    return "regression" if same_options and first.version != second.version else "tools"


def _without_release(row: PredictorListing) -> Json:
    return {"kind": row.kind.name} | {
        name: value for name, value in row.options.items() if name not in ("release", "program")
    }


def tool_for_core(core: str, usable: Sequence[PredictorListing]) -> PredictorListing | None:
    """The newest tool with a model of a core, llvm-mca before others."""
    tools = [row for row in usable if core and core in _cores_of(row)]
    return max(tools, key=lambda row: (row.kind.name == LLVM_MCA, _version_key(row)), default=None)


def pair_for_machine(machine: Machine, usable: Sequence[PredictorListing]) -> list[PredictorListing]:
    """The tool for a machine's core, and what it is held against: the machine, or one of its core models
    while it cannot measure. [] where either is missing.
    """
    tool = tool_for_core(core_name(machine), usable)
    models = set(StoredCoreModel.objects.filter(machine=machine).values_list("name", flat=True))
    truths = [row for row in usable if row.options.get("machine") == machine.name]
    models_here = (row for row in usable if row.kind.name == core_model.KIND)
    truths += [row for row in models_here if row.options.get("model") in models]
    return [tool, truths[0]] if tool is not None and truths else []


def _cores_of(row: PredictorListing) -> Sequence[str]:
    """The cores that a listed tool predicts for; () for other kinds of predictors."""
    option = processor_option(row.kind.name)
    usual = getattr(row.kind.settings(), option) if option else ""
    return processors_named(row.kind.name, str(row.options.get(option) or usual)) if option else ()


def _version_key(row: PredictorListing) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", row.version)]


def _initial(request: HttpRequest, usable: Sequence[PredictorListing]) -> tuple[dict[str, Any], list[int]]:
    """Initial values from the address: `from` a campaign, `predictor` ids, a `machine` that a tool is held
    against, a `preset`, else that of the pair; and the excluded discoveries, those that it names and those of
    `from`.
    """
    initial: dict[str, Any] = {}
    excluded = row_ids(request.GET.getlist("exclude"))
    preset = choice_parameter(request, "preset", tuple(PRESETS))
    source_run = number_parameter(request, "from")
    if source_run is not None:
        row = get_object_or_404(Campaign, pk=source_run)
        if row.format == Campaign.Format.OURS:
            initial = initial_settings(row.config)
            initial |= {name: row.config[name] for name in _INHERITED_FIELDS if name in row.config}
        else:
            initial = initial_settings(settings_in(row.config))
        names = [tool.name for tool in row.tools]
        initial |= dict(zip(("first", "second"), names, strict=False))
        before = row.config.get("excluded", [])
        excluded += [row["discovery"] for row in before if isinstance(row, dict) and row.get("discovery")]
    ids = row_ids(request.GET.getlist("predictor"))[:2]
    names_by_id = dict(Predictor.objects.filter(pk__in=ids).values_list("pk", "name"))
    named = [names_by_id[pk] for pk in ids if pk in names_by_id]
    cpu = number_parameter(request, "machine")
    if cpu is not None:
        machine = get_object_or_404(Machine.objects.select_related("isa"), pk=cpu)
        named = [row.name for row in pair_for_machine(machine, usable)]
        initial[END + "minutes"] = _CPU_MINUTES
    if named and not preset and source_run is None:
        preset = pair_preset(_listings(named, usable))
    initial |= dict(zip(("first", "second"), named, strict=False))
    if preset:
        initial |= {"preset": preset, "scheme_filter": PRESETS[preset].filter, "mode": PRESETS[preset].mode}
        initial |= {SETTING + name: value for name, value in PRESETS[preset].settings.items()}
    return initial, excluded


def _listings(names: Sequence[str], usable: Sequence[PredictorListing]) -> list[PredictorListing]:
    by_name = {row.name: row for row in usable}
    return [by_name[name] for name in names if name in by_name]


def _with_pair_preset(data: QueryDict, usable: Sequence[PredictorListing]) -> QueryDict:
    """The form's data with the settings of the preset that fits its pair; unchanged if it has this preset."""
    names = [data.get(place, "") for place in ("first", "second")]
    preset = pair_preset(_listings(names, usable))
    return data if preset == data.get("preset") else _with_preset(data, preset)


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
    pair = _listings([str(form[place].value() or "") for place in ("first", "second")], usable)
    fitting = pair_preset(pair)
    cpu = number_parameter(request, "machine")
    machine = None if cpu is None else Machine.objects.filter(pk=cpu).select_related("isa").first()
    core = "" if machine is None else core_name(machine)
    context = {
        "form": form,
        "usable": usable,
        "presets": [(key, preset, key == chosen_preset) for key, preset in PRESETS.items()],
        "fitting": PRESETS[fitting] if pair and fitting != chosen_preset else None,
        "chose_preset": "preset" in request.GET or _is_preset_pressed(request.POST.get("press", "")),
        "machine": machine,
        "core": core,
        "has_tool": tool_for_core(core, usable) is not None,
        "is_paired": bool(pair),
        "estimate": plan,
        "estimate_error": _first_complaint(form) if form.is_bound and plan is None else "",
        "refused": status == 400,
        "again": number_parameter(request, "from") or row_id_or_none(request.POST.get("from", "")),
        "excludes": bool(form.fields["excluded"].queryset),  # type: ignore[attr-defined]
    }
    return render(request, "anica/campaigns/new.html", context, status=status)


def _is_preset_pressed(press: str) -> bool:
    return press.startswith("preset:") and press[7:] != AUTOMATIC


def _first_complaint(form: CampaignForm) -> str:
    if not form.data.get("first"):
        return ""  # nothing is wrong yet
    field, complaints = next(iter(form.errors.items()), ("", [""]))
    return f"{form[field].label}: {complaints[0]}" if field in form.fields else str(complaints[0])


urlpatterns = [path("campaigns/new/", campaign_new, name="campaign-new")]

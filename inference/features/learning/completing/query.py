"""What can be completed in a core model, how long that takes, and what earlier completions said."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from inference.features.learning.completing.request import KIND, MAX_SCHEMES, obstacle_to_completing
from inference.features.library.instruction.query import InstructionCard
from inference.features.running.runs.kind_presentation import (
    DescriptionItem,
    KindPresentation,
    RunOutcome,
    links,
)
from inference.isa.microarchitecture import flags_of
from inference.isa.targets import code_target
from inference.models import InstructionScheme, Machine, Run, StoredCoreModel
from inference.runs.estimates import estimate
from inference.runs.machines.facts import estimated_seconds, obstacle_to_measuring
from inference.storage.core_models import core_model_of
from inference.storage.rows import ids_of_schemes
from inference.web.contributions import Context, PagePanel, PanelPlace
from inference.web.request_fields import start_run

_MAX_RUNS = 50
_CHAINS_PER_SCHEME, _FLOODS_PER_SCHEME, _FLOODS = 12, 40, 250
"""Estimates for machines without a history: those of 20 completions on a Zen 4."""


def description(run: Run) -> Iterator[DescriptionItem]:
    """The description of a completion, item by item."""
    config = run.config
    yield DescriptionItem("Core model", links=links(StoredCoreModel, "core-model", [config["core_model"]]))
    yield DescriptionItem("Machine", links=links(Machine, "machine", [config["machine"]]))
    schemes = InstructionScheme.objects.filter(pk__in=config["schemes"]).order_by("text")
    yield DescriptionItem("Schemes", "; ".join(schemes.values_list("text", flat=True)))


def outcomes(runs: Sequence[Run]) -> dict[int, RunOutcome]:
    """{run id: the core model that got what was missing} (one query)."""
    models = {run.pk: run.config["core_model"] for run in runs if run.state == Run.State.DONE}
    names = dict(StoredCoreModel.objects.filter(pk__in=models.values()).values_list("pk", "name"))
    return {
        run: RunOutcome(names[model], reverse("core-model", args=[model]))
        for run, model in models.items()
        if model in names
    }


def completing_runs(row: StoredCoreModel) -> list[Run]:
    """The last completions of a core model, newest first."""
    return list(Run.objects.filter(kind=KIND, config__core_model=row.pk).order_by("-pk")[:_MAX_RUNS])


def unmeasured(runs: Iterable[Run]) -> dict[str, dict[str, str]]:
    """{scheme: {"latency" or "ports": why the newest completion could not measure that}}."""
    reasons: dict[str, dict[str, str]] = {}
    for run in runs:
        result = run.result or {}
        for scheme, by_part in result.get("unmeasured", {}).items():
            reasons.setdefault(scheme, by_part)
    return reasons


def obstacle(row: StoredCoreModel) -> str:
    """Why nothing can be measured for a core model now, "" where it can."""
    if reason := obstacle_to_completing(row):
        return reason
    machine = row.machine
    assert machine is not None, "there is one where nothing prevents completions"
    if reason := obstacle_to_measuring(machine):
        return reason
    is_here = machine.kind == Machine.Kind.SIMULATED or machine.is_online()
    return "" if is_here else f"{machine.name} is offline: start its agent"


def missing_features(machine: Machine, schemes: Iterable[str]) -> Mapping[str, str]:
    """{scheme: the feature that the machine's CPU lacks for it}; the others are left out."""
    flags = flags_of(machine.facts)
    catalogue = code_target(machine.isa.name).schemes
    if flags is None:
        return {}
    scheme_by_text = {text: catalogue.scheme_of(text) for text in schemes}
    reasons = {
        text: catalogue.missing_feature(scheme, flags)
        for text, scheme in scheme_by_text.items()
        if scheme is not None
    }
    return {text: reason for text, reason in reasons.items() if reason}


def expected_seconds(row: StoredCoreModel, schemes: Sequence[int]) -> float:
    """Seconds of a completion of a measured core model, by the last ones on its machine, else by its pace."""
    assert row.machine is not None, "it is measured"
    config = {"core_model": row.pk, "machine": row.machine_id, "isa": row.isa.name, "schemes": [*schemes]}
    time = estimate(KIND, config).time
    if time.runs and time.total is not None:
        return time.total.likely
    experiments = (_CHAINS_PER_SCHEME + _FLOODS_PER_SCHEME) * len(schemes) + _FLOODS
    return estimated_seconds(experiments, row.machine)


def card_context(card: InstructionCard) -> Context | None:
    """What this computer's core model lacks of the forms on a card, and whether that can be measured.

    None where this computer is not measured at all, or lacks nothing.
    """
    machine = Machine.objects.filter(local=True, isa=card.isa).first()
    if machine is None:
        return None
    row = machine.core_models.select_related("machine", "mapping", "latencies", "isa").order_by("-pk").first()
    if row is None:
        return {"unprofiled": machine}
    runs = completing_runs(row)
    lacking = _lacking_forms(row, card)
    if pending := next((run for run in runs if run.state not in Run.FINAL), None):
        return {"pending": pending, "machine": machine}
    if not lacking:
        return None
    reasons: dict[str, str] = dict(missing_features(machine, lacking))
    for text, by_part in unmeasured(runs).items():
        if text in lacking:
            reasons.setdefault(text, "; ".join(dict.fromkeys(by_part.values())))
    measurable = [text for text in lacking if text not in reasons][:MAX_SCHEMES]
    ids = ids_of_schemes(row.isa_id, measurable)
    return {
        "machine": machine,
        "core_model": row,
        "lacking": lacking,
        "reasons": [(text, reason) for text, reason in reasons.items() if text in lacking],
        "measurable": measurable,
        "ids": sorted(ids.values()),
        "obstacle": obstacle(row) if measurable else "",
        "seconds": max(1, math.ceil(expected_seconds(row, [*ids.values()]))),
        "failure": runs[0].error.partition("\n")[0] if runs and runs[0].state == Run.State.FAILED else "",
    }


def _lacking_forms(row: StoredCoreModel, card: InstructionCard) -> list[str]:
    """The forms on the card of which the core model knows no ports or no latencies, in the card's order."""
    texts = [*(form.scheme.text for form in card.forms), *(scheme.text for scheme in card.silent)]
    model = core_model_of(row, texts)
    usage = {} if model.mapping is None else model.mapping.usage
    return [text for text in texts if text not in usage or text not in model.latencies]


def start_for_card(request: HttpRequest, card: InstructionCard) -> HttpResponse:
    """Start measuring what this computer's core model lacks of the forms on a card."""
    context = card_context(card) or {}
    if context.get("measurable"):
        row = context["core_model"]
        config = {"core_model": row.pk, "schemes": context["ids"]}
        start_run(request, KIND, config, f"{row.name}: {card.mnemonic}")
    return redirect(request.get_full_path())


PRESENTATIONS = {"complete": KindPresentation(words=description, outcomes=outcomes)}
PANELS = (
    PagePanel(
        PanelPlace.INSTRUCTION,
        "measure-here",
        "Measure here",
        "inference/completing/of_card.html",
        lambda _request, card: card_context(card),
        start_for_card,
        scripts=("polling",),
    ),
)

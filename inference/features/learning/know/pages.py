"""Pages of profiles: the form that starts one, and the parts on the run's page."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import path

from inference.core.protocols import Json
from inference.features.learning.know.query import part_outcomes
from inference.features.learning.know.request import MAX_INFERRED, KnowConfig
from inference.features.learning.latencies.query import CHAINS_PER_SCHEME, IDIOMS_PER_SCHEME
from inference.features.machines.measure.form import (
    SELECTION_WORDS,
    MeasuringForm,
    MeasuringPlan,
    chosen_schemes,
    measuring_page,
    schemes_config,
    selection_field,
)
from inference.features.machines.measure.request import Effort, estimate_effort
from inference.features.running.runs.record import RunRecord
from inference.isa.scheme import NOT_IN_A_BODY
from inference.models import Machine, Run, StoredCoreModel
from inference.runs.machines.facts import estimated_seconds, seconds_per_unit
from inference.web.request_fields import RequestField

EXPLAINED_PER_SCHEME = 12
"""Approximate number of experiments that explain a scheme."""
_EVOLUTION_SECONDS = 60.0
_ESTIMATE_NOTE = "Estimated from earlier runs on this computer."


_DEFAULT_FIRST = {
    "default": "the default set",
    **SELECTION_WORDS,
    "starter": "the starter set: quick",
}


class KnowForm(MeasuringForm):
    """The form: schemes, a name, and a time limit."""

    request = KnowConfig
    selection = selection_field(
        "default",
        _DEFAULT_FIRST,
        "The starter set has the instructions that compilers emit most, and some for each kind of unit.",
    )
    not_in_a_body = NOT_IN_A_BODY
    minutes = RequestField(
        help_text="Approximate limit. Explaining µops ends early, with a partial result, for other parts."
    )


def know(request: HttpRequest, pk: int) -> HttpResponse:
    return measuring_page(request, pk, "know", "inference/know/form.html", KnowForm, _plan)


def parts(_request: HttpRequest, run: Run, _record: RunRecord) -> dict[str, Any]:
    model = StoredCoreModel.objects.filter(run=run).select_related("mapping").first()
    return {"parts": part_outcomes(run), "ended": run.state in Run.FINAL, "core_model": model}


def _plan(machine: Machine, form: KnowForm) -> MeasuringPlan | None:
    """The plan of a valid form, else None; a search without matches becomes an error of its field."""
    if not form.is_valid():
        return None
    texts = chosen_schemes(form, machine)
    if not texts:
        return None
    minutes = form.cleaned_data["minutes"] or KnowConfig.default_of("minutes")
    config: Json = {"machine": machine.pk, "minutes": minutes, **schemes_config(form, texts)}
    inferred = min(len(texts), MAX_INFERRED)
    pairs = estimate_effort(machine, inferred, "pairs").experiments
    explained = EXPLAINED_PER_SCHEME * len(texts)
    chained = len(chosen_schemes(form, machine, chained=True))
    chains = round((CHAINS_PER_SCHEME + IDIOMS_PER_SCHEME) * chained)
    # By the rate of earlier runs of each part, else by its number of experiments.
    rate = seconds_per_unit(machine, "infer", "schemes", algorithm="pmevo")
    explain_rate = seconds_per_unit(machine, "infer", "schemes", algorithm="explain")
    latency_rate = seconds_per_unit(machine, "latencies", "schemes")
    seconds = (
        (estimated_seconds(pairs, machine) + _EVOLUTION_SECONDS if rate is None else rate * inferred)
        + (estimated_seconds(explained, machine) if explain_rate is None else explain_rate * len(texts))
        + (estimated_seconds(chains, machine) if latency_rate is None else latency_rate * chained)
    )
    needed = min(seconds, 60.0 * minutes)
    plan = MeasuringPlan.of(machine, config, texts, Effort(pairs + explained + chains, needed))
    from_history = any(share is not None for share in (rate, explain_rate, latency_rate))
    return replace(plan, note=_ESTIMATE_NOTE) if from_history else plan


urlpatterns = [path("machines/<int:pk>/know/", know, name="know")]

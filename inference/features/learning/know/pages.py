"""Know this CPU: the form that starts it, and the parts on the run's page."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import path

from inference.core.protocols import Json
from inference.features.learning.know.query import part_outcomes
from inference.features.learning.know.request import MOST_INFERRED, KnowConfig
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
from inference.features.machines.measure.request import Effort, effort
from inference.features.running.runs.record import RunRecord
from inference.isa.exclusions import NOT_IN_A_BODY
from inference.models import Machine, Run, StoredCoreModel
from inference.runs.machines.facts import past_share, seconds_for
from inference.web.request_fields import RequestField

EXPLAINED_PER_SCHEME = 12
"""Experiments that explain a scheme, about."""
_EVOLUTION_SECONDS = 60.0
_LEARNT = "As these parts went on this computer before."


_DEFAULT_FIRST = {
    "default": "the default set",
    **SELECTION_WORDS,
    "starter": "the starter set: quick",
}


class KnowForm(MeasuringForm):
    """Schemes, a name, and how long it may take."""

    request = KnowConfig
    selection = selection_field(
        "default",
        _DEFAULT_FIRST,
        "The starter set has what compilers emit most, and something of each kind of unit.",
    )
    not_in_a_body = NOT_IN_A_BODY
    minutes = RequestField(
        help_text="At most, about: explaining µops ends with what it has, in time for the other parts."
    )


def know(request: HttpRequest, pk: int) -> HttpResponse:
    """Choose the schemes, and start."""
    return measuring_page(request, pk, "know", "inference/know/form.html", KnowForm, _plan, _usual_name)


def parts(_request: HttpRequest, run: Run, _record: RunRecord) -> dict[str, Any]:
    """What the run's page shows beside what every run's page does."""
    model = StoredCoreModel.objects.filter(run=run).select_related("mapping").first()
    return {"parts": part_outcomes(run), "ended": run.state in Run.FINAL, "core_model": model}


def _usual_name(machine: Machine, _form: KnowForm) -> str:
    return machine.name


def _plan(machine: Machine, form: KnowForm) -> MeasuringPlan | None:
    """What a valid form asks for; a search that finds nothing becomes an error of its field."""
    if not form.is_valid():
        return None
    texts = chosen_schemes(form, machine)
    if not texts:
        return None
    minutes = form.cleaned_data["minutes"] or KnowConfig.usual("minutes")
    config: Json = {"machine": machine.pk, "minutes": minutes, **schemes_config(form, texts)}
    inferred = min(len(texts), MOST_INFERRED)
    pairs = effort(machine, inferred, "pairs").experiments
    explained = EXPLAINED_PER_SCHEME * len(texts)
    chained = len(chosen_schemes(form, machine, chained=True))
    chains = round((CHAINS_PER_SCHEME + IDIOMS_PER_SCHEME) * chained)
    # Each part as it went the last times, else by the number of its experiments.
    ports = past_share(machine, "infer", "schemes", algorithm="pmevo")
    proofs = past_share(machine, "infer", "schemes", algorithm="explain")
    latencies = past_share(machine, "latencies", "schemes")
    seconds = (
        (seconds_for(pairs, machine) + _EVOLUTION_SECONDS if ports is None else ports * inferred)
        + (seconds_for(explained, machine) if proofs is None else proofs * len(texts))
        + (seconds_for(chains, machine) if latencies is None else latencies * chained)
    )
    needed = min(seconds, 60.0 * minutes)
    plan = MeasuringPlan.of(machine, config, texts, Effort(pairs + explained + chains, needed))
    learnt = any(share is not None for share in (ports, proofs, latencies))
    return replace(plan, note=_LEARNT) if learnt else plan


urlpatterns = [path("machines/<int:pk>/know/", know, name="know")]

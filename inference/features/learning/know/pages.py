"""Pages of profiles: the form that starts one, and the parts on the run's page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import path

from inference.core.protocols import Json
from inference.features.learning.core_model.query import outcomes
from inference.features.learning.know.query import part_outcomes
from inference.features.learning.know.request import MAX_INFERRED, KnowConfig
from inference.features.learning.know.reusing import MAX_AGE_DAYS, reusable_runs
from inference.features.learning.latencies.query import CHAINS_PER_SCHEME, IDIOMS_PER_SCHEME
from inference.features.machines.measure.form import (
    EXAMPLES,
    SELECTION_WORDS,
    MeasuringForm,
    MeasuringPlan,
    chosen_schemes,
    measuring_page,
    schemes_config,
    selection_field,
)
from inference.features.machines.measure.request import Effort, estimate_effort
from inference.features.running.runs.kind_presentation import (
    DescriptionItem,
    KindPresentation,
    links,
    schemes_text,
)
from inference.features.running.runs.record import RunRecord
from inference.isa.scheme import NOT_IN_A_BODY
from inference.models import Machine, Run, StoredCoreModel
from inference.runs.estimates import estimate
from inference.web.contributions import PanelPlace, rendered_panels
from inference.web.request_fields import RequestField

EXPLAINED_PER_SCHEME = 12
"""Approximate number of experiments that explain a scheme."""


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
    measure_again = RequestField(
        label="Measure everything again",
        help_text=f"Otherwise, results of the last {MAX_AGE_DAYS} days are reused where schemes, microcode, "
        "program, agent and level of noise are the same.",
    )


def know(request: HttpRequest, pk: int) -> HttpResponse:
    return measuring_page(request, pk, "know", "inference/know/form.html", KnowForm, _plan)


def parts(request: HttpRequest, run: Run, _record: RunRecord) -> dict[str, Any]:
    model = StoredCoreModel.objects.filter(run=run).select_related("mapping", "isa", "machine__isa").first()
    outcomes = part_outcomes(run)
    context = {
        "parts": outcomes,
        "part_results": [outcome for outcome in outcomes if outcome.result_name or outcome.error],
        "core_model": model,
    }
    if model is None or run.state != Run.State.DONE:
        return context
    verdicts = [
        panel
        for panel in rendered_panels(request, PanelPlace.CORE_MODEL, model)
        if panel.panel.name == "verdict"
    ]
    return {**context, "verdicts": verdicts}


def config_lines(run: Run) -> Iterator[DescriptionItem]:
    """The description of a profile, item by item."""
    config = KnowConfig.from_stored(run.config)
    yield DescriptionItem("Machine", links=links(Machine, "machine", [config.machine]))
    yield DescriptionItem("Instruction set", config.isa)
    yield DescriptionItem("Schemes", schemes_text(run.config))
    yield DescriptionItem("Time limit", f"{config.minutes} min")
    yield DescriptionItem("Reused", links=links(Run, "run", [*config.reused.values()]))
    if config.measure_again:
        yield DescriptionItem("Earlier results", "measured again", changed=True)


def _plan(machine: Machine, form: KnowForm, texts: list[tuple[int, str]]) -> MeasuringPlan:
    config: Json = {"machine": machine.pk, **form.stated(), **schemes_config(form, texts)}
    config |= {"reused": reusable_runs(machine, KnowConfig.read(config))}
    cost = estimate("know", config)
    pairs = estimate_effort(machine, min(len(texts), MAX_INFERRED), "pairs").experiments
    chained = len(chosen_schemes(form, machine, chained=True))
    chains = round((CHAINS_PER_SCHEME + IDIOMS_PER_SCHEME) * chained)
    seconds = 0.0 if cost.time.total is None else cost.time.total.likely
    effort = Effort(pairs + EXPLAINED_PER_SCHEME * len(texts) + chains, seconds)
    examples = tuple(text for _, text in texts[:EXAMPLES])
    return MeasuringPlan(config, len(texts), examples, effort, cost.reason, cost)


urlpatterns = [path("machines/<int:pk>/know/", know, name="know")]

PRESENTATIONS = {"know": KindPresentation(words=config_lines, outcomes=outcomes, page=parts)}

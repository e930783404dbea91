"""The page of a measured experiment, and the page for typing one in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import BadRequest
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse
from django.utils.http import urlencode

from inference.core.experiment import Experiment
from inference.core.experiment import Experiment as ExperimentValue
from inference.features.library.experiments.picture import Picture, picture
from inference.features.library.experiments.query import (
    Gap,
    MappingPrediction,
    SettledTimes,
    exegesis_snippet,
    gap_of,
    measured_row,
    measurements_with_machines,
    predictions_for,
)
from inference.features.library.resources.query import resource_predictions
from inference.formats.problems import ExchangeError
from inference.isa.bodies import body_maker
from inference.isa.machine_bodies import COSTS, CannotMeasureError, LoopBody
from inference.isa.targets import target_of
from inference.models import ISA, Machine, Measurement, PortMapping, ResourceMapping
from inference.models import Experiment as ExperimentRow
from inference.storage.instruction_sets import TypedExperiment, read_experiment
from inference.storage.judging import grounds_of
from inference.storage.rows import experiment_of, texts_in
from inference.web.file_answers import file_answer
from inference.web.validation import number_parameter, row_parameter


@dataclass(frozen=True)
class Pinned:
    prediction: MappingPrediction
    picture: Picture
    uops: Sequence[tuple[str, str, int, Any, Sequence[str]]]
    """(letter, scheme text, multiplicity, µops, conflicting results) of every scheme."""
    gap: Gap | None


def experiment(request: HttpRequest, pk: int) -> HttpResponse:
    stored = get_object_or_404(ExperimentRow.objects.select_related("isa"), pk=pk)
    value = experiment_of(stored.key, texts_in([stored.key]))
    measurements = list(measurements_with_machines(stored).order_by("experiment_set_id", "repeat"))
    times = SettledTimes(measurements)
    context = _context(request, value, stored.isa, times)
    tools = sorted({tool for row in measurements for tool in row.annotations})
    context |= {
        "experiment": stored,
        "measurements": [
            (row, [(tool, row.annotations.get(tool)) for tool in tools]) for row in measurements
        ],
        "tools": tools,
        **code_of(value, stored.isa),
        "was_measured": any(_by_agent(row) for row in measurements),
        "try_url": _try_url(value, stored.isa, context["pinned"]),
        "snippet_url": _snippet_url(value, stored.isa),
    }
    return render(request, "inference/experiments/experiment.html", context)


def _by_agent(row: Measurement) -> bool:
    machine = row.experiment_set.machine
    return machine is not None and machine.kind == Machine.Kind.AGENT


def _try_url(value: ExperimentValue, isa: ISA, pinned: Pinned | None) -> str:
    """The address of the page that edits the experiment, with the selected mapping."""
    address: dict[str, Any] = {"e": str(value), "isa": isa.pk}
    if pinned is not None:
        address["mapping"] = pinned.prediction.mapping.pk
    return f"{reverse('experiments')}?{urlencode(address)}"


def _snippet_url(value: ExperimentValue, isa: ISA) -> str:
    """The address of the llvm-exegesis file; "" if the instruction set has none."""
    query = urlencode({"e": str(value)})
    return (
        f"{reverse('experiment-snippet', args=[isa.pk])}?{query}"
        if target_of(isa.name).snippets is not None
        else ""
    )


def experiments(request: HttpRequest) -> HttpResponse:
    """Predictions for a typed experiment; redirects to its own page if it was measured."""
    text = request.GET.get("e", "").strip()
    isa_id = number_parameter(request, "isa")
    isas = _isas_with_mappings(isa_id)
    isa = get_object_or_404(isas, pk=isa_id) if isa_id else isas.first()
    context: dict[str, Any] = {"text": text, "isas": isas, "isa": isa, "typed": TypedExperiment()}
    context["wanted"] = _selected_mapping(request)
    if text and isa is not None:
        typed = read_experiment(text, isa)
        if typed.experiment is not None:
            row = measured_row(typed.experiment, isa)
            if row is not None and request.GET.get("stay") != "1":
                query = request.GET.copy()
                parameters: dict[str, Any] = {"mapping": query["mapping"]} if query.get("mapping") else {}
                return redirect(f"{reverse('experiment', args=[row.pk])}?{urlencode(parameters)}".rstrip("?"))
            context |= _context(request, typed.experiment, isa, SettledTimes())
        context["typed"] = typed
    return render(
        request, "inference/experiments/typed.html", context, status=400 if context["typed"].problems else 200
    )


def experiment_snippet(request: HttpRequest, pk: int) -> HttpResponse:
    """The experiment `e` of the address as a file for llvm-exegesis; `pk` is the instruction set."""
    isa = get_object_or_404(ISA, pk=pk)
    typed = read_experiment(request.GET.get("e", "").strip(), isa)
    if typed.experiment is None:
        raise BadRequest(f"e must be an experiment of {isa.name}: {'; '.join(typed.problems)}")
    try:
        text = exegesis_snippet(typed.experiment, isa)
    except ExchangeError as error:
        raise BadRequest(str(error)) from None
    return file_answer(text, "text/plain", str(typed.experiment)[:60], "s")


def _isas_with_mappings(selected: int | None) -> QuerySet[ISA]:
    """Instruction sets with mappings, and the one that the address names."""
    by_ports = Exists(PortMapping.objects.filter(isa=OuterRef("pk")))
    by_resources = Exists(ResourceMapping.objects.filter(isa=OuterRef("pk")))
    return ISA.objects.filter(by_ports | by_resources | Q(pk=selected)).order_by("name")


def _context(request: HttpRequest, value: ExperimentValue, isa: ISA, times: SettledTimes) -> dict[str, Any]:
    predictions = predictions_for(value, isa, times)
    selected = _selected_mapping(request)
    pinned = next((p for p in predictions if p.mapping == selected), predictions[0] if predictions else None)
    measured, machine = times.of(selected or (None if pinned is None else pinned.mapping))
    return {
        "value": value,
        "isa": isa,
        "measured": measured,
        "measured_on": machine,
        "predictions": predictions,
        "resource_predictions": resource_predictions(value, isa, measured),
        "pinned": None if pinned is None else _pin(pinned, value),
        "missing": selected is not None and (pinned is None or pinned.mapping != selected),
        "wanted": selected,
    }


def _selected_mapping(request: HttpRequest) -> PortMapping | None:
    """The mapping that the address names, None if it does not exist."""
    return row_parameter(request, "mapping", PortMapping.objects.select_related("machine"))


def _pin(prediction: MappingPrediction, value: ExperimentValue) -> Pinned:
    figure = picture(prediction.schedule, value.terms, prediction.measured)
    grounds = grounds_of(prediction.mapping, value.schemes)
    uops = [
        (letter, text, count, prediction.usage[text], grounds.conflict_words(text))
        for letter, text, count in figure.schemes
    ]
    return Pinned(prediction, figure, uops, gap_of(prediction, value))


MAX_INSTRUCTIONS = 400
"""Maximum number of instructions in a listing: longer ones would make up most of the page."""


def code_of(experiment: Experiment, isa: ISA) -> dict[str, Any]:
    """The loop body by which an agent measures an experiment, for its page.

    Returns {"code": {"listing", "copies", "half_copies", "bytes", …}}, {"no_code": reason}, or {} for long
    experiments and instruction sets without code. `breakers`: costs of dependency-breaking instructions, if
    it cannot be measured without.
    """
    if target_of(isa.name).bodies is None or experiment.length > MAX_INSTRUCTIONS:
        return {}
    try:
        loop = _loop(experiment, isa.name)
    except CannotMeasureError as error:
        return {"no_code": error.reason}
    code: dict[str, Any] = {
        "listing": loop.listing,
        "copies": loop.copies,
        "half_copies": loop.half_copies,
        "bytes": len(loop.code),
        "chains": loop.chains,
        "breakers": [COSTS[kind] for kind in loop.breakers],
    }
    return {"code": code}


def _loop(experiment: Experiment, isa: str) -> LoopBody:
    """The usual loop body; with dependency-breaking instructions only if there is none without."""
    bodies = body_maker(isa)
    try:
        return bodies.unroll(experiment.terms)
    except CannotMeasureError as error:
        try:
            return bodies.unroll(experiment.terms, breaking=True)
        except CannotMeasureError:
            raise error from None


urlpatterns = [
    path("isas/<int:pk>/snippet/", experiment_snippet, name="experiment-snippet"),
    path("experiments/", experiments, name="experiments"),
    path("experiments/<int:pk>/", experiment, name="experiment"),
]

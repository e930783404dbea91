"""The page of a measured experiment, and the page where one is typed in."""

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
    exegesis_snippet,
    gap_of,
    measured_row,
    predictions_for,
    settled_cycles,
)
from inference.features.library.resources.query import resource_predictions
from inference.formats.errors import ExchangeError
from inference.formats.typed import Typed
from inference.isa.bodies import body_maker
from inference.isa.breakers import COSTS
from inference.isa.machine_bodies import LoopBody
from inference.isa.targets import target_of
from inference.isa.unrolling import CannotMeasureError
from inference.models import ISA, Machine, Measurement, PortMapping, ResourceMapping
from inference.models import Experiment as ExperimentRow
from inference.storage.instruction_sets import read_experiment
from inference.storage.judging import grounds_of
from inference.storage.rows import experiment_of, texts_in
from inference.web.file_answers import file_answer
from inference.web.validation import row_named, whole_number


@dataclass(frozen=True)
class Pinned:
    """The prediction whose bucket picture is shown."""

    prediction: MappingPrediction
    picture: Picture
    uops: Sequence[tuple[str, str, int, Any, Sequence[str]]]
    """(letter, scheme text, multiplicity, µops, what other results say instead) of every scheme"""
    gap: Gap | None


def experiment(request: HttpRequest, pk: int) -> HttpResponse:
    """An experiment that was measured."""
    found = get_object_or_404(ExperimentRow.objects.select_related("isa"), pk=pk)
    value = experiment_of(found.key, texts_in([found.key]))
    measurements = list(
        found.measurements.select_related("experiment_set__machine").order_by("experiment_set_id", "repeat")
    )
    measured, machine = _measured(measurements, _wanted(request))
    context = _context(request, value, found.isa, measured)
    tools = sorted({tool for row in measurements for tool in row.annotations})
    context |= {
        "experiment": found,
        "measured_on": machine,
        "measurements": [
            (row, [(tool, row.annotations.get(tool)) for tool in tools]) for row in measurements
        ],
        "tools": tools,
        **code_of(value, found.isa),
        "was_measured": any(_by_agent(row) for row in measurements),
        "try_url": _try_url(value, found.isa, context["pinned"]),
        "snippet_url": _snippet_url(value, found.isa),
    }
    return render(request, "inference/experiments/experiment.html", context)


def _measured(rows: Sequence[Measurement], wanted: PortMapping | None) -> tuple[float | None, Machine | None]:
    """Cycles on the machine of the mapping that is looked at, and that machine, if it has measured this;
    otherwise on all machines.
    """
    machine = None if wanted is None else wanted.machine
    own = [row for row in rows if machine is not None and row.experiment_set.machine_id == machine.pk]
    there = settled_cycles(own)
    return (settled_cycles(rows), None) if there is None else (there, machine)


def _by_agent(row: Measurement) -> bool:
    machine = row.experiment_set.machine
    return machine is not None and machine.kind == Machine.Kind.AGENT


def _try_url(value: ExperimentValue, isa: ISA, pinned: Pinned | None) -> str:
    """The page where the experiment can be changed, with the mapping that is shown now."""
    address: dict[str, Any] = {"e": str(value), "isa": isa.pk}
    if pinned is not None:
        address["mapping"] = pinned.prediction.mapping.pk
    return f"{reverse('experiments')}?{urlencode(address)}"


def _snippet_url(value: ExperimentValue, isa: ISA) -> str:
    """Where the experiment is to be had for llvm-exegesis; "" where there is no code for it."""
    asked = urlencode({"e": str(value)})
    return (
        f"{reverse('experiment-snippet', args=[isa.pk])}?{asked}"
        if target_of(isa.name).snippets is not None
        else ""
    )


def experiments(request: HttpRequest) -> HttpResponse:
    """Ask what mappings predict for any experiment; leads on to its own page where it was measured."""
    text = request.GET.get("e", "").strip()
    chosen = whole_number(request, "isa")
    isas = _isas_with_mappings(chosen)
    isa = get_object_or_404(isas, pk=chosen) if chosen else isas.first()
    context: dict[str, Any] = {"text": text, "isas": isas, "isa": isa, "typed": Typed()}
    context["wanted"] = _wanted(request)
    if text and isa is not None:
        typed = read_experiment(text, isa)
        if typed.experiment is not None:
            known = measured_row(typed.experiment, isa)
            if known is not None and request.GET.get("stay") != "1":
                query = request.GET.copy()
                kept: dict[str, Any] = {"mapping": query["mapping"]} if query.get("mapping") else {}
                return redirect(f"{reverse('experiment', args=[known.pk])}?{urlencode(kept)}".rstrip("?"))
            context |= _context(request, typed.experiment, isa, None)
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


def _isas_with_mappings(chosen: int | None) -> QuerySet[ISA]:
    """Instruction sets for which something can be predicted, and the one that the address names."""
    by_ports = Exists(PortMapping.objects.filter(isa=OuterRef("pk")))
    by_resources = Exists(ResourceMapping.objects.filter(isa=OuterRef("pk")))
    return ISA.objects.filter(by_ports | by_resources | Q(pk=chosen)).order_by("name")


def _context(
    request: HttpRequest, value: ExperimentValue, isa: ISA, measured: float | None
) -> dict[str, Any]:
    found = predictions_for(value, isa, measured)
    wanted = _wanted(request)
    pinned = next((each for each in found if each.mapping == wanted), found[0] if found else None)
    return {
        "value": value,
        "isa": isa,
        "measured": measured,
        "predictions": found,
        "resource_predictions": resource_predictions(value, isa, measured),
        "pinned": None if pinned is None else _pin(pinned, value),
        "missing": wanted is not None and (pinned is None or pinned.mapping != wanted),
        "wanted": wanted,
    }


def _wanted(request: HttpRequest) -> PortMapping | None:
    """The mapping that the address names, as far as it exists."""
    return row_named(request, "mapping", PortMapping.objects.select_related("machine"))


def _pin(prediction: MappingPrediction, value: ExperimentValue) -> Pinned:
    drawn = picture(prediction.schedule, value.terms, prediction.measured)
    grounds = grounds_of(prediction.mapping, value.schemes)
    uops = [
        (letter, text, count, prediction.usage[text], grounds.conflict_words(text))
        for letter, text, count in drawn.schemes
    ]
    return Pinned(prediction, drawn, uops, gap_of(prediction, value))


MOST_INSTRUCTIONS = 400
"""A longer experiment is not listed: nobody reads it, and it is a page of its own to load."""


def code_of(experiment: Experiment, isa: ISA) -> dict[str, Any]:
    """The loop body with which an agent measures an experiment, as its page lists it.

    {"code": {"listing", "copies", "half_copies", "bytes", …}}, or {"no_code": why there is none}.

    Where it cannot be measured otherwise, `breakers` tells what breaks its dependencies, and what that costs.
    """
    if target_of(isa.name).bodies is None or experiment.length > MOST_INSTRUCTIONS:
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
    """As it is measured usually, with breakers only where that is impossible."""
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

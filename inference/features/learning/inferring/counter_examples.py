"""A search by counter-examples: its part of a run's page, and the same search again after a clash."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import path, reverse
from django.utils.http import urlencode

from inference.core.experiment import Experiment
from inference.features.learning.inferring.clash import SCHEME, config_without, drop_choices, name_without
from inference.features.learning.inferring.reference import (
    ReferenceBeside,
    beside,
    references,
    usual_reference,
)
from inference.features.learning.inferring.search_record import CounterExample, SearchRecord, search_of
from inference.features.running.runs.query import inferred_by
from inference.figures.matrix import Matrix, alone, side_by_side
from inference.models import ISA, PortMapping, Run
from inference.storage.evidence import Evidence, UndeterminedScheme
from inference.storage.judging import grounds_of, search_verdict
from inference.storage.mappings import load_mapping
from inference.web.requests import whole_number
from inference.web.run_forms import NOTHING_STARTED, start_or_tell

SURVIVORS = {
    "first": "the first stays",
    "second": "the second stays",
    "neither": "neither explains it",
    "open": "no usable measurement",
    "": "being measured",
}


@dataclass(frozen=True)
class CounterExampleRow:
    """A row of the log of counter-examples; `url` leads to the experiment's page."""

    example: CounterExample
    survivor: str
    url: str


@dataclass(frozen=True)
class CounterExampleView:
    """The counter-example that is looked at, with both candidates as they stood then."""

    line: CounterExampleRow
    first: Matrix
    second: Matrix
    earlier: int | None
    later: int | None
    newest: bool


def explained(request: HttpRequest, run: Run, search: SearchRecord) -> dict[str, Any]:
    """What the template needs; the address may name a counter-example and a reference mapping."""
    row = inferred_by(run).select_related("isa", "machine").first()
    isa = ISA.objects.filter(name=run.config["isa"]).first()
    lines = [_line(example, isa, row) for example in search.examples.values()]
    wanted = whole_number(request, "example")
    return {
        "search": search,
        "lines": lines,
        "shown": _shown(lines, wanted, always=run.state not in Run.FINAL),
        "choices": drop_choices(search) if run.state == Run.State.FAILED else [],
        **({} if row is None else found_mapping(request, row)),
    }


def found_mapping(request: HttpRequest, row: PortMapping) -> dict[str, Any]:
    """The verdict on a mapping, its doubts, and a reference beside it; {} for one found in another way."""
    evidence = Evidence.of(row.report)
    if evidence is None:
        return {}
    value = load_mapping(row)
    candidates = list(references(row))
    reference = _reference(request, row, candidates)
    compared = None if reference is None else beside(value, evidence, reference)
    doubts: list[UndeterminedScheme] = evidence.doubts(value)
    matrices = (alone(value), None) if compared is None else side_by_side(value, compared.mapping)
    return {
        "found": row,
        "value": value,
        "evidence": evidence,
        "verdict": search_verdict(row, evidence),
        "doubts": doubts,
        "conflicts": [
            (scheme, [each.words for each in texts]) for scheme, texts in grounds_of(row).conflicts.items()
        ],
        "doubtful": {doubt.scheme for doubt in doubts},
        "references": candidates,
        "beside": compared,
        "differing": [] if compared is None else _differing(compared, row),
        "matrices": matrices,
        "unexplained": [
            (each, experiment_url(each.experiment, row.isa, row)) for each in evidence.unexplained
        ],
        "asked_experiments": [
            (each, experiment_url(each.experiment, row.isa, row)) for each in evidence.asked
        ],
    }


def _differing(compared: ReferenceBeside, row: PortMapping) -> list[tuple[str, Any, str]]:
    """(scheme, what contradicts the reference or None, the address of that experiment)."""
    return [
        (scheme, objection, "" if objection is None else experiment_url(objection.experiment, row.isa, row))
        for scheme, objection in compared.differing.items()
    ]


def _reference(request: HttpRequest, row: PortMapping, candidates: list[PortMapping]) -> PortMapping | None:
    """The one that the address names, 0 for none; the usual one where it names none."""
    wanted = whole_number(request, "with")
    if wanted is None:
        return usual_reference(row, candidates)
    if wanted == 0:
        return None
    return get_object_or_404(references(row), pk=wanted)


def experiment_url(experiment: Experiment, isa: ISA | None, row: PortMapping | None) -> str:
    """The page of an experiment, or where it can be tried."""
    asked = {"e": str(experiment)}
    if isa is not None:
        asked["isa"] = str(isa.pk)
    if row is not None:
        asked["mapping"] = str(row.pk)
    return f"{reverse('experiments')}?{urlencode(asked)}"


def _line(example: CounterExample, isa: ISA | None, row: PortMapping | None) -> CounterExampleRow:
    return CounterExampleRow(
        example, SURVIVORS[example.survivor], experiment_url(example.experiment, isa, row)
    )


def _shown(
    lines: Sequence[CounterExampleRow], wanted: int | None, *, always: bool
) -> CounterExampleView | None:
    """The counter-example with that number; without one the newest, where there shall be one always."""
    numbers = [line.example.number for line in lines]
    if wanted not in numbers:
        if not always or not numbers:
            return None
        wanted = numbers[-1]
    place = numbers.index(wanted)
    line = lines[place]
    first, second = side_by_side(line.example.first, line.example.second, line.example.experiment)
    return CounterExampleView(
        line,
        first,
        second,
        numbers[place - 1] if place else None,
        numbers[place + 1] if place + 1 < len(numbers) else None,
        place + 1 == len(numbers),
    )


def run_without(request: HttpRequest, pk: int) -> HttpResponse:
    """Start the new run and show it."""
    run = get_object_or_404(Run, pk=pk, kind="infer")
    search = search_of(run)
    what, scheme = request.POST.get("what", SCHEME), request.POST.get("scheme", "")
    if run.state != Run.State.FAILED or scheme not in {choice.scheme for choice in drop_choices(search)}:
        messages.error(request, "Nothing was started: that scheme is not among those that clash.")
        return redirect("run", pk=pk)
    config = config_without(run, search, what, scheme)
    name = name_without(run, what, scheme)
    made = start_or_tell(request, "infer", config, name, forked_from=run, lead=NOTHING_STARTED)
    return redirect("run", pk=pk if made is None else made.pk)


urlpatterns = [path("runs/<int:pk>/without/", run_without, name="run-without")]

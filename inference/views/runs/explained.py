"""The part of a run's page that explains a search by counter-examples, while it runs and for ever after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.http import urlencode

from inference.core.experiment import Experiment
from inference.exchange.evidence import Doubt, Evidence, verdict_in_words
from inference.exchange.stored import load_mapping
from inference.figures.matrix import Matrix, alone, side_by_side
from inference.models import ISA, PortMapping, Run
from inference.queries.going_on import drop_choices
from inference.queries.reference import Beside, beside, references, usual_reference
from inference.queries.runs import inferred_by
from inference.queries.search_records import Example, SearchRecord
from inference.views.address import whole_number

SURVIVORS = {
    "first": "the first stays",
    "second": "the second stays",
    "neither": "neither explains it",
    "open": "no usable measurement",
    "": "being measured",
}


@dataclass(frozen=True)
class Line:
    """A row of the log of counter-examples; `url` leads to the experiment's page."""

    example: Example
    survivor: str
    url: str


@dataclass(frozen=True)
class Shown:
    """The counter-example that is looked at, with both candidates as they stood then."""

    line: Line
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
    doubts: list[Doubt] = evidence.doubts(value)
    matrices = (alone(value), None) if compared is None else side_by_side(value, compared.mapping)
    return {
        "found": row,
        "value": value,
        "evidence": evidence,
        "verdict": verdict_in_words(evidence),
        "doubts": doubts,
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


def _differing(compared: Beside, row: PortMapping) -> list[tuple[str, Any, str]]:
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


def _line(example: Example, isa: ISA | None, row: PortMapping | None) -> Line:
    return Line(example, SURVIVORS[example.survivor], experiment_url(example.experiment, isa, row))


def _shown(lines: Sequence[Line], wanted: int | None, *, always: bool) -> Shown | None:
    """The counter-example with that number; without one the newest, where there shall be one always."""
    numbers = [line.example.number for line in lines]
    if wanted not in numbers:
        if not always or not numbers:
            return None
        wanted = numbers[-1]
    place = numbers.index(wanted)
    line = lines[place]
    first, second = side_by_side(line.example.first, line.example.second, line.example.experiment)
    return Shown(
        line,
        first,
        second,
        numbers[place - 1] if place else None,
        numbers[place + 1] if place + 1 < len(numbers) else None,
        place + 1 == len(numbers),
    )

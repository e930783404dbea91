"""The part of a run's page that explains a search by counter-examples, its classes and clashes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import path, reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_POST

from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping as Mapping
from inference.core.mapping import Uops
from inference.core.protocols import Json
from inference.features.learning.inferring.query import (
    SCHEME,
    CounterExample,
    SearchRecord,
    config_without,
    drop_choices,
    name_without,
    search_of,
)
from inference.features.learning.inferring.reference import (
    ReferenceBeside,
    beside,
    references,
    usual_reference,
)
from inference.features.running.runs.query import inferred_by
from inference.figures.matrix import Matrix, alone, side_by_side
from inference.isa.search import SearchError
from inference.models import ISA, PortMapping, Run
from inference.models.scheme_search import texts_found
from inference.storage.evidence import Evidence, UndeterminedScheme
from inference.storage.judging import grounds_of, search_verdict
from inference.storage.rows import ids_of_schemes, load_mapping
from inference.web.paging import PAGE_SIZE, Order, page_in_memory
from inference.web.requests import whole_number
from inference.web.run_forms import NOTHING_STARTED, start_or_tell

# The part of a run's page that explains a search by counter-examples, while it runs and for ever after.


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


# The congruence classes of a search: schemes that behave alike, found by any of their members.


Members = Sequence[str]
FEW_COMPARED = 5
"""Experiments of a scheme and its representative below which it is said how few were compared."""
COLUMNS: dict[str, Callable[[Members], Any]] = {
    "size": len,
    "text": lambda members: members[0],
}


@dataclass(frozen=True)
class Member:
    """A scheme of a class with its row id, None for one that the instruction set has lost since.

    How it compares with the representative, where that was told: `compared` experiments of both, of which
    `different` differ by the congruence ε or more all the same, and the `largest` difference in per cent.
    """

    text: str
    pk: int | None
    compared: int = 0
    different: int = 0
    largest: float = 0.0
    told: bool = False

    @property
    def few(self) -> bool:
        """Whether so few experiments were compared that others could still tell the two apart."""
        return self.told and self.compared < FEW_COMPARED


@dataclass(frozen=True)
class ClassLine:
    """A class. `uops`: what the mapping gives to all of it; None without one, or where they differ."""

    representative: Member
    others: tuple[Member, ...]
    uops: Uops | None

    @property
    def size(self) -> int:
        """How many schemes behave alike."""
        return 1 + len(self.others)

    @property
    def few(self) -> int:
        """How many of the others hardly anything was compared for."""
        return sum(other.few for other in self.others)


def classes_told(told: Json) -> list[Members]:
    """The classes in a mapping's report or a `congruence` event, each with its representative first."""
    return [members for members in told.get("congruence_classes") or told.get("members") or () if members]


def classes_context(
    request: HttpRequest,
    classes: Sequence[Members],
    isa: ISA | None,
    value: Mapping | None,
    size: int = PAGE_SIZE,
    likeness: Json | None = None,
) -> dict[str, Any]:
    """A page of the classes that a search finds, the largest first unless the address says otherwise."""
    q = request.GET.get("q", "").strip()
    order = Order.read(request.GET.get("sort", ""), {key: key for key in COLUMNS}, "-size")
    context: dict[str, Any] = {"q": q, "sort": str(order), "class_count": len(classes)}
    try:
        found = _found(classes, q, isa)
    except SearchError as error:
        return {**context, "classes_error": str(error)}
    found.sort(key=COLUMNS["text"])  # the order of equally large ones
    found.sort(key=COLUMNS[order.column], reverse=order.descending)
    page = page_in_memory(found, whole_number(request, "page", 0) or 0, size)
    return {**context, "page": page, "class_lines": _lines(page.rows, isa, value, likeness or {})}


def _found(classes: Sequence[Members], q: str, isa: ISA | None) -> list[Members]:
    if not q or isa is None:
        return list(classes)
    texts = texts_found(isa.pk, q)
    return [members for members in classes if not texts.isdisjoint(members)]


def _lines(
    shown: Sequence[Members], isa: ISA | None, value: Mapping | None, likeness: Json
) -> list[ClassLine]:
    texts = [scheme for members in shown for scheme in members]
    ids = {} if isa is None else ids_of_schemes(isa.pk, texts)
    usage = {} if value is None else value.usage
    lines = []
    for members in shown:
        named = [_member(scheme, ids.get(scheme), likeness.get(scheme)) for scheme in members]
        used = {usage.get(scheme) for scheme in members}
        lines.append(ClassLine(named[0], tuple(named[1:]), used.pop() if len(used) == 1 else None))
    return lines


def _member(scheme: str, pk: int | None, like: Sequence[float] | None) -> Member:
    if like is None:
        return Member(scheme, pk)
    return Member(scheme, pk, int(like[0]), int(like[1]), 100 * like[2], told=True)


# Going on after a clash: the same inference as a new run, without the schemes that contradict.


@require_POST
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

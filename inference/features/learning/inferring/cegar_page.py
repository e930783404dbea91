"""The run page of a search by counter-examples, folded from its journal; restarting a search after a
clash.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import path, reverse
from django.utils.http import urlencode

from inference.core.cegar.clashes import mnemonic
from inference.core.cegar.events import (
    Candidates,
    CandidatesDecided,
    ClashEvent,
    Ports,
    SearchProgress,
    Seeded,
    Undecided,
)
from inference.core.events import Event
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping as Mapping
from inference.core.protocols import Json
from inference.features.learning.inferring.reference import compare_with, default_reference, references
from inference.features.running.runs.query import inferred_by
from inference.features.running.runs.record import RunRecord
from inference.figures.matrix import Matrix, alone, side_by_side
from inference.formats import journal_events
from inference.models import ISA, PortMapping, Run, RunEvent
from inference.runs.events import RecordPart
from inference.storage.evidence import Evidence, UndeterminedScheme
from inference.storage.judging import grounds_of, search_verdict
from inference.storage.mappings import load_mapping
from inference.storage.names import result_name
from inference.web.request_fields import NOT_STARTED, start_run
from inference.web.validation import number_parameter

SURVIVORS = {
    "first": "the first stays",
    "second": "the second stays",
    "neither": "neither explains it",
    "open": "no usable measurement",
    "": "being measured",
}


_EVENTS = [
    event.kind
    for event in (Seeded, Ports, Candidates, CandidatesDecided, SearchProgress, ClashEvent, Undecided)
]
SCHEME, MNEMONIC, ALWAYS = "scheme", "mnemonic", "always"
"""What to leave out: the scheme, all with its mnemonic, or every scheme that clashes from now on."""


@dataclass
class CounterExample:
    """A counter-example: two mappings, and the experiment that decides between them. Times are in cycles.

    `first` was the candidate until then, `second` another that fits. `survivor` is "first", "second",
    "neither", "open" (no usable measurement), or "" before the measurement.
    """

    number: int
    experiment: Experiment
    first_cycles: float
    second_cycles: float
    first: Mapping
    second: Mapping
    measured: float | None = None
    survivor: str = ""


@dataclass
class SearchRecord(RecordPart):
    """The search so far. `alone`: {experiment: cycles} measured before the first counter-example."""

    alone: dict[str, float | None] = field(default_factory=dict)
    schemes: dict[str, None] = field(default_factory=dict)
    examples: dict[int, CounterExample] = field(default_factory=dict)
    ports: int | None = None
    reason: str = ""
    standing: SearchProgress | None = None
    clashes: list[ClashEvent] = field(default_factory=list)
    undecided: list[Undecided] = field(default_factory=list)

    @property
    def newest(self) -> CounterExample | None:
        """The current or last counter-example."""
        return self.examples[max(self.examples)] if self.examples else None

    @property
    def last_clash(self) -> str:
        """The newest contradiction as text; "" without one."""
        return self.clashes[-1].text if self.clashes else ""

    def take(self, event: Event) -> None:
        """Folds in an event; repeated events of a resumed run change nothing."""
        match event:
            case Seeded():
                self.alone[str(event.experiment)] = event.cycles
                self.schemes |= dict.fromkeys(event.experiment.schemes)
            case Ports():
                self.ports, self.reason = event.ports, event.reason
            case Candidates(number=number):
                cycles, mappings = (event.first_cycles, event.second_cycles), (event.first, event.second)
                self.examples[number] = CounterExample(number, event.experiment, *cycles, *mappings)
            case CandidatesDecided(number=number) if number in self.examples:
                example = self.examples[number]
                example.measured, example.survivor = event.cycles, event.survivor
            case SearchProgress():
                self.standing = event
            case ClashEvent() if event not in self.clashes:
                self.clashes.append(event)
            case Undecided(number=number):
                del self.undecided[number - 1 :]  # a resumed search reports the list again from its start
                self.undecided.append(event)


def search_of(run: Run) -> SearchRecord:
    """The record of a run's search (one query)."""
    record = SearchRecord()
    events = RunEvent.objects.filter(run=run, kind__in=_EVENTS).order_by("seq")
    for kind, payload in events.values_list("kind", "payload"):
        if event := journal_events.read(kind, payload):
            record.take(event)
    return record


@dataclass(frozen=True)
class CounterExampleRow:
    """A row of the list of counter-examples; `url` leads to the experiment's page."""

    example: CounterExample
    survivor: str
    url: str


@dataclass(frozen=True)
class CounterExampleView:
    """The selected counter-example, with both candidates of that time."""

    line: CounterExampleRow
    first: Matrix
    second: Matrix
    earlier: int | None
    later: int | None
    newest: bool


def search_context(request: HttpRequest, run: Run, record: RunRecord) -> dict[str, Any]:
    """Context of the template; the address may select a counter-example and a reference mapping."""
    search = record.parts["search"]
    assert isinstance(search, SearchRecord)
    row = inferred_by(run).select_related("isa", "machine").first()
    isa = ISA.objects.filter(name=run.config["isa"]).first()
    lines = [
        CounterExampleRow(example, SURVIVORS[example.survivor], experiment_url(example.experiment, isa, row))
        for example in search.examples.values()
    ]
    number = number_parameter(request, "example")
    return {
        "search": search,
        "lines": lines,
        "shown": _selected_example(lines, number, always=run.state not in Run.FINAL),
        "choices": drop_choices(search) if run.state == Run.State.FAILED else [],
        **({} if row is None else evidence_context(request, row)),
    }


def evidence_context(request: HttpRequest, row: PortMapping) -> dict[str, Any]:
    """Evidence of a mapping: verdict, doubts, comparison with a reference; {} if CEGAR did not infer it."""
    evidence = Evidence.of(row.report)
    if evidence is None:
        return {}
    value = load_mapping(row)
    candidates = list(references(row))
    reference = _reference(request, row, candidates)
    compared = None if reference is None else compare_with(value, evidence, reference)
    doubts: list[UndeterminedScheme] = evidence.doubts(value)
    matrices = (alone(value), None) if compared is None else side_by_side(value, compared.mapping)
    return {
        "found": row,
        "value": value,
        "evidence": evidence,
        "verdict": search_verdict(row, evidence),
        "doubts": doubts,
        "conflicts": [
            (scheme, [c.words for c in texts]) for scheme, texts in grounds_of(row).conflicts.items()
        ],
        "doubtful": {doubt.scheme for doubt in doubts},
        "references": candidates,
        "beside": compared,
        "differing": []
        if compared is None
        else [
            (scheme, times, "" if times is None else experiment_url(times.experiment, row.isa, row))
            for scheme, times in compared.differing.items()
        ],
        "matrices": matrices,
        "unexplained": [(d, experiment_url(d.experiment, row.isa, row)) for d in evidence.unexplained],
        "asked_experiments": [
            (measured, experiment_url(measured.experiment, row.isa, row)) for measured in evidence.experiments
        ],
    }


def _reference(request: HttpRequest, row: PortMapping, candidates: list[PortMapping]) -> PortMapping | None:
    """The reference that the address names, None for 0, the default one if it names none."""
    pk = number_parameter(request, "with")
    if pk is None:
        return default_reference(row, candidates)
    if pk == 0:
        return None
    return get_object_or_404(references(row), pk=pk)


def experiment_url(experiment: Experiment, isa: ISA | None, row: PortMapping | None) -> str:
    parameters = {"e": str(experiment)}
    if isa is not None:
        parameters["isa"] = str(isa.pk)
    if row is not None:
        parameters["mapping"] = str(row.pk)
    return f"{reverse('experiments')}?{urlencode(parameters)}"


def _selected_example(
    lines: Sequence[CounterExampleRow], number: int | None, *, always: bool
) -> CounterExampleView | None:
    """The counter-example with this number, else the newest if `always`, else None."""
    numbers = [line.example.number for line in lines]
    if number not in numbers:
        if not always or not numbers:
            return None
        number = numbers[-1]
    index = numbers.index(number)
    line = lines[index]
    first, second = side_by_side(line.example.first, line.example.second, line.example.experiment)
    return CounterExampleView(
        line,
        first,
        second,
        numbers[index - 1] if index else None,
        numbers[index + 1] if index + 1 < len(numbers) else None,
        index + 1 == len(numbers),
    )


@dataclass(frozen=True)
class DropChoice:
    """A scheme of a clash; `alike`: number of schemes with its mnemonic."""

    scheme: str
    mnemonic: str
    alike: int


def drop_choices(search: SearchRecord) -> list[DropChoice]:
    """The schemes of the last clash, those in most of its experiments first."""
    if not search.clashes:
        return []
    clash = search.clashes[-1]
    dropped = {scheme for clash in search.clashes for scheme in clash.dropped}
    remaining = [scheme for scheme in search.schemes if scheme not in dropped]
    occurrences = {
        alone.scheme: sum(_mentions(clashing.experiment, alone.scheme) for clashing in clash.experiments)
        for alone in clash.alone
        if alone.scheme in remaining
    }
    ordered = sorted(occurrences, key=lambda scheme: (-occurrences[scheme], scheme))
    return [
        DropChoice(scheme, mnemonic(scheme), sum(mnemonic(other) == mnemonic(scheme) for other in remaining))
        for scheme in ordered
        if len(remaining) > 1
    ]


def _mentions(experiment: str, scheme: str) -> bool:
    return any(term.partition("*")[2] == scheme or term == scheme for term in experiment.split("; "))


def config_without(run: Run, search: SearchRecord, what: str, scheme: str) -> Json:
    """The run's configuration without the schemes to leave out."""
    config: Json = run.config
    if what == ALWAYS:
        return config | {"settings": config["settings"] | {"on_clash": "drop-scheme"}}
    dropped = {scheme}
    if what == MNEMONIC:
        dropped = {other for other in search.schemes if mnemonic(other) == mnemonic(scheme)}
    remaining = [other for other in search.schemes if other not in dropped]
    rows = ISA.objects.get(name=config["isa"]).schemes.filter(text__in=remaining)
    known_facts = {
        name: [other for other in facts if other not in dropped]
        if isinstance(facts, list)
        else {other: value for other, value in facts.items() if other not in dropped}
        for name, facts in run.config.get("known", {}).items()
    }
    return config | {
        "schemes": list(rows.order_by("id").values_list("pk", flat=True)),
        "scheme_filter": "",
        "known": known_facts,
    }


def name_without(run: Run, what: str, scheme: str) -> str:
    return run.name if what == ALWAYS else result_name(run.name, f"without {mnemonic(scheme)}")


def run_without(request: HttpRequest, pk: int) -> HttpResponse:
    run = get_object_or_404(Run, pk=pk, kind="infer")
    search = search_of(run)
    what, scheme = request.POST.get("what", SCHEME), request.POST.get("scheme", "")
    if run.state != Run.State.FAILED or scheme not in {choice.scheme for choice in drop_choices(search)}:
        messages.error(request, "The run was not started: that scheme is not part of the contradiction.")
        return redirect("run", pk=pk)
    config = config_without(run, search, what, scheme)
    name = name_without(run, what, scheme)
    new_run = start_run(request, "infer", config, name, forked_from=run, lead=NOT_STARTED)
    return redirect("run", pk=pk if new_run is None else new_run.pk)


urlpatterns = [path("runs/<int:pk>/without/", run_without, name="run-without")]

"""A search by counter-examples: its part of a run's page, and the same search again after a clash."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import path, reverse
from django.utils.http import urlencode

from inference.core.cegar.clashing import mnemonic
from inference.core.cegar.events import (
    Candidates,
    CandidatesDecided,
    ClashFound,
    Ports,
    SearchStanding,
    Seeded,
    Undecided,
)
from inference.core.events import Event
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping as Mapping
from inference.core.protocols import Json
from inference.features.learning.inferring.reference import (
    beside,
    references,
    usual_reference,
)
from inference.features.running.runs.query import inferred_by
from inference.features.running.runs.record import RunRecord
from inference.figures.matrix import Matrix, alone, side_by_side
from inference.formats import journal_events
from inference.models import ISA, PortMapping, Run, RunEvent
from inference.runs.events import RecordPart
from inference.storage.evidence import Evidence, UndeterminedScheme
from inference.storage.judging import grounds_of, search_verdict
from inference.storage.rows import load_mapping
from inference.web.request_fields import NOTHING_STARTED, start_run
from inference.web.validation import whole_number

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


def search_context(request: HttpRequest, run: Run, record: RunRecord) -> dict[str, Any]:
    """What the template needs; the address may name a counter-example and a reference mapping."""
    search = record.parts["search"]
    assert isinstance(search, SearchRecord)
    row = inferred_by(run).select_related("isa", "machine").first()
    isa = ISA.objects.filter(name=run.config["isa"]).first()
    lines = [
        CounterExampleRow(example, SURVIVORS[example.survivor], experiment_url(example.experiment, isa, row))
        for example in search.examples.values()
    ]
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
        "differing": []
        if compared is None
        else [
            (scheme, each, "" if each is None else experiment_url(each.experiment, row.isa, row))
            for scheme, each in compared.differing.items()
        ],
        "matrices": matrices,
        "unexplained": [
            (each, experiment_url(each.experiment, row.isa, row)) for each in evidence.unexplained
        ],
        "asked_experiments": [
            (each, experiment_url(each.experiment, row.isa, row)) for each in evidence.asked
        ],
    }


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
    made = start_run(request, "infer", config, name, forked_from=run, lead=NOTHING_STARTED)
    return redirect("run", pk=pk if made is None else made.pk)


urlpatterns = [path("runs/<int:pk>/without/", run_without, name="run-without")]

_EVENTS = [
    event.kind
    for event in (Seeded, Ports, Candidates, CandidatesDecided, SearchStanding, ClashFound, Undecided)
]


@dataclass
class CounterExample:
    """A counter-example: two mappings, the experiment that decides, and what measuring it said.

    `first` was held for right until then, `second` was found beside it. `survivor` is "first", "second",
    "neither", "open", or "" before there was an answer. Cycles throughout.
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
    """Everything told of the search; `alone` are {experiment: cycles} measured before the first question."""

    alone: dict[str, float | None] = field(default_factory=dict)
    schemes: dict[str, None] = field(default_factory=dict)
    examples: dict[int, CounterExample] = field(default_factory=dict)
    ports: int | None = None
    reason: str = ""
    standing: SearchStanding | None = None
    clashes: list[ClashFound] = field(default_factory=list)
    undecided: list[Undecided] = field(default_factory=list)

    @property
    def newest(self) -> CounterExample | None:
        """The question at hand, or the last one."""
        return self.examples[max(self.examples)] if self.examples else None

    @property
    def last_clash(self) -> str:
        """The newest contradiction in words; "" for none."""
        return self.clashes[-1].text if self.clashes else ""

    def take(self, event: Event) -> None:
        """Fold one event in; what an attempt tells again changes nothing."""
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
            case SearchStanding():
                self.standing = event
            case ClashFound() if event not in self.clashes:
                self.clashes.append(event)
            case Undecided(number=number):
                del self.undecided[number - 1 :]  # a list begins anew when the search goes on
                self.undecided.append(event)


def search_of(run: Run) -> SearchRecord:
    """What a search has told so far (one query)."""
    record = SearchRecord()
    events = RunEvent.objects.filter(run=run, kind__in=_EVENTS).order_by("seq")
    for kind, payload in events.values_list("kind", "payload"):
        if event := journal_events.read(kind, payload):
            record.take(event)
    return record


SCHEME, MNEMONIC, ALWAYS = "scheme", "mnemonic", "always"
"""What to leave out: the scheme, all with its mnemonic, or whatever clashes from now on."""


@dataclass(frozen=True)
class LeaveOutChoice:
    """A scheme that could be left out because of a clash, and how many schemes share its mnemonic."""

    scheme: str
    mnemonic: str
    alike: int


def drop_choices(search: SearchRecord) -> list[LeaveOutChoice]:
    """The schemes of the last clash, those first that most of its experiments have in common."""
    if not search.clashes:
        return []
    clash = search.clashes[-1]
    dropped = {scheme for clash in search.clashes for scheme in clash.dropped}
    left = [scheme for scheme in search.schemes if scheme not in dropped]
    counted = {
        alone.scheme: sum(_mentions(clashing.experiment, alone.scheme) for clashing in clash.experiments)
        for alone in clash.alone
        if alone.scheme in left
    }
    ordered = sorted(counted, key=lambda scheme: (-counted[scheme], scheme))
    return [
        LeaveOutChoice(scheme, mnemonic(scheme), sum(mnemonic(other) == mnemonic(scheme) for other in left))
        for scheme in ordered
        if len(left) > 1
    ]


def _mentions(experiment: str, scheme: str) -> bool:
    return any(term.partition("*")[2] == scheme or term == scheme for term in experiment.split("; "))


def config_without(run: Run, search: SearchRecord, what: str, scheme: str) -> Json:
    """The run's description with what shall be left out taken out."""
    config: Json = run.config
    if what == ALWAYS:
        return config | {"settings": config["settings"] | {"on_clash": "drop-scheme"}}
    dropped = {scheme}
    if what == MNEMONIC:
        dropped = {other for other in search.schemes if mnemonic(other) == mnemonic(scheme)}
    kept = [other for other in search.schemes if other not in dropped]
    rows = ISA.objects.get(name=config["isa"]).schemes.filter(text__in=kept)
    known = {
        name: [each for each in facts if each not in dropped]
        if isinstance(facts, list)
        else {each: value for each, value in facts.items() if each not in dropped}
        for name, facts in run.config.get("known", {}).items()
    }
    return config | {
        "schemes": list(rows.order_by("id").values_list("pk", flat=True)),
        "scheme_filter": "",
        "known": known,
    }


def name_without(run: Run, what: str, scheme: str) -> str:
    """What the new run is called, unless that name is taken."""
    return run.name if what == ALWAYS else f"{run.name} without {mnemonic(scheme)}"[:190]

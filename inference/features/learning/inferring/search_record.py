"""What a search by counter-examples has told so far, folded from a run's journal; live or years later."""

from __future__ import annotations

from dataclasses import dataclass, field

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
from inference.core.mapping import PortMapping
from inference.formats import journal_events
from inference.models import Run, RunEvent
from inference.runs.record_parts import RecordPart

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
    first: PortMapping
    second: PortMapping
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

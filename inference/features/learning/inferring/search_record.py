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
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping
from inference.core.protocols import Json
from inference.models import Run, RunEvent
from inference.runs.record_parts import RecordPart

_EVENTS = [
    event.kind
    for event in (Seeded, Ports, Candidates, CandidatesDecided, SearchStanding, ClashFound, Undecided)
]


@dataclass
class CounterExample:
    """A counter-example: two mappings, the experiment that decides, and what measuring it said.

    `survivor` is "first", "second", "neither", "open", or "" before there was an answer. Cycles throughout.
    """

    number: int
    experiment: Experiment
    first_cycles: float
    second_cycles: float
    candidates: tuple[Json, Json]
    measured: float | None = None
    survivor: str = ""

    @property
    def first(self) -> PortMapping:
        """The mapping that was held for right until then."""
        return mapping_of(self.candidates[0])

    @property
    def second(self) -> PortMapping:
        """The one that was found beside it."""
        return mapping_of(self.candidates[1])


@dataclass
class SearchRecord(RecordPart):
    """Everything told of the search; `alone` are {experiment: cycles} measured before the first question."""

    alone: dict[str, float | None] = field(default_factory=dict)
    schemes: dict[str, None] = field(default_factory=dict)
    examples: dict[int, CounterExample] = field(default_factory=dict)
    ports: int | None = None
    reason: str = ""
    standing: Json = field(default_factory=dict)
    clashes: list[Json] = field(default_factory=list)
    undecided: list[Json] = field(default_factory=list)

    @property
    def newest(self) -> CounterExample | None:
        """The question at hand, or the last one."""
        return self.examples[max(self.examples)] if self.examples else None

    @property
    def last_clash(self) -> str:
        """The newest contradiction in words; "" for none."""
        return self.clashes[-1]["text"] if self.clashes else ""

    def take(self, kind: str, payload: Json) -> None:
        """Fold one event in; what an attempt tells again changes nothing."""
        if kind == Seeded.kind:
            self.alone[payload["experiment"]["text"]] = payload["cycles"]
            self.schemes |= dict.fromkeys(scheme for scheme, _ in payload["experiment"]["terms"])
        elif kind == Ports.kind:
            self.ports, self.reason = payload["ports"], payload["reason"]
        elif kind == Candidates.kind:
            self.examples[payload["number"]] = CounterExample(
                payload["number"],
                Experiment.of(dict(payload["experiment"]["terms"])),
                payload["first_cycles"],
                payload["second_cycles"],
                (payload["first"], payload["second"]),
            )
        elif kind == CandidatesDecided.kind and payload["number"] in self.examples:
            example = self.examples[payload["number"]]
            example.measured, example.survivor = payload["cycles"], payload["survivor"]
        elif kind == SearchStanding.kind:
            self.standing = payload
        elif kind == ClashFound.kind and payload not in self.clashes:
            self.clashes.append(payload)
        elif kind == Undecided.kind:
            del self.undecided[payload["number"] - 1 :]  # a list begins anew when the search goes on
            self.undecided.append(payload)


def mapping_of(told: Json) -> PortMapping:
    """A mapping as the events have it."""
    usage = {scheme: tuple((mask, count) for mask, count in uops) for scheme, uops in told["usage"].items()}
    return PortMapping(tuple(told["ports"]), usage)


def search_of(run: Run) -> SearchRecord:
    """What a search has told so far (one query)."""
    record = SearchRecord()
    events = RunEvent.objects.filter(run=run, kind__in=_EVENTS).order_by("seq")
    for kind, payload in events.values_list("kind", "payload"):
        record.take(kind, payload)
    return record

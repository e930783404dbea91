"""The Pareto front of an inference, found from any mapping on it or from its run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

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
from inference.core.errors import InvalidInputError
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping
from inference.core.protocols import Json
from inference.models import ISA, FrontPoint, Run, RunEvent
from inference.models import PortMapping as PortMappingRow
from inference.runs.record_parts import RecordPart
from inference.storage.errors import UnknownNameError
from inference.storage.names import nearest_names


@dataclass(frozen=True)
class StoredFront:
    """The points of a front, the most accurate first, and the mapping of the run that found it.

    `here` is the point that is looked at: the one that the mapping asked about is, if any.
    """

    owner: PortMappingRow
    points: Sequence[FrontPoint]
    here: FrontPoint | None = None

    @property
    def judged(self) -> bool:
        """Whether there was something to judge the points by that they were not made from."""
        return any(point.mape is not None for point in self.points)


def front_of(row: PortMappingRow) -> StoredFront | None:
    """The front that a mapping was found with or picked from; None where there is none."""
    own = FrontPoint.objects.filter(picked=row).select_related("mapping").defer("content", "judged").first()
    owner = row if own is None else own.mapping
    rows = owner.front.select_related("picked").defer("content", "judged", "picked__report")
    points = list(rows.order_by("place"))
    return StoredFront(owner, points, own) if points else None


def front_named(name: str) -> StoredFront:
    """By the name of a mapping or of a run.

    Raises `UnknownNameError`, and `InvalidInputError` where that has no front.
    """
    row = PortMappingRow.objects.filter(name=name).first()
    front = None if row is None else front_of(row)
    if front is not None:
        return front
    run = Run.objects.filter(name=name).first()
    made = None if run is None else PortMappingRow.objects.filter(run=run).first()
    front = None if made is None else front_of(made)
    if front is not None:
        return front
    if row is None and run is None:
        near = [*nearest_names(PortMappingRow, name), *nearest_names(Run, name)]
        raise UnknownNameError("port mapping or run", name, list(dict.fromkeys(near))[:3])
    raise InvalidInputError(
        f"{name!r} has no front: runs of PMEvo have one where they re-fit (--set search=refit or both)"
    )


def point_with(front: StoredFront, kinds: int, volume: int | None = None) -> FrontPoint:
    """The most accurate point with so many distinct µops, and that volume where one is given.

    Raises `InvalidInputError` that tells which there are.
    """
    fitting = [point for point in front.points if point.kinds == kinds]
    found = [point for point in fitting if volume is None or point.volume == volume]
    if found:
        return found[0]
    if fitting:
        volumes = ", ".join(str(point.volume) for point in fitting)
        raise InvalidInputError(
            f"no point has {kinds} kinds and volume {volume}; with {kinds} kinds: {volumes}"
        )
    there = ", ".join(map(str, sorted({point.kinds for point in front.points})))
    raise InvalidInputError(f"no point of the front has {kinds} distinct µops; there are {there}")


# Going on after a clash: what can be left out, and the same inference without it.


SCHEME, MNEMONIC, ALWAYS = "scheme", "mnemonic", "always"
"""What to leave out: the scheme, all with its mnemonic, or whatever clashes from now on."""


@dataclass(frozen=True)
class LeaveOutChoice:
    """A scheme that could be left out because of a clash, and how many schemes share its mnemonic."""

    scheme: str
    mnemonic: str
    alike: int


def search_of(run: Run) -> SearchRecord:
    """What a search has told so far (one query)."""
    record = SearchRecord()
    events = RunEvent.objects.filter(run=run, kind__in=_EVENTS).order_by("seq")
    for kind, payload in events.values_list("kind", "payload"):
        record.take(kind, payload)
    return record


def drop_choices(search: SearchRecord) -> list[LeaveOutChoice]:
    """The schemes of the last clash, those first that most of its experiments have in common."""
    if not search.clashes:
        return []
    clash = search.clashes[-1]
    left = [scheme for scheme in search.schemes if not _was_dropped(scheme, search.clashes)]
    counted = {
        each["scheme"]: sum(_mentions(one["experiment"], each["scheme"]) for one in clash["experiments"])
        for each in clash["alone"]
        if each["scheme"] in left
    }
    ordered = sorted(counted, key=lambda scheme: (-counted[scheme], scheme))
    return [
        LeaveOutChoice(scheme, mnemonic(scheme), sum(mnemonic(other) == mnemonic(scheme) for other in left))
        for scheme in ordered
        if len(left) > 1
    ]


def _was_dropped(scheme: str, clashes: Sequence[Json]) -> bool:
    return any(scheme in clash["dropped"] for clash in clashes)


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


# What a search by counter-examples has told so far, folded from a run's journal; live or years later.


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

"""What a search by counter-examples has told so far, folded from a run's journal; live or years later."""

from __future__ import annotations

from dataclasses import dataclass, field

from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping
from inference.core.protocols import Json

KINDS = ("seeded", "ports", "candidates", "decision", "standing", "contradiction", "undecided")
"""The events that this takes in; see `inference.core.cegar.events`."""


@dataclass
class Example:
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
class SearchRecord:
    """Everything told of the search; `alone` are {experiment: cycles} measured before the first question."""

    alone: dict[str, float | None] = field(default_factory=dict)
    schemes: dict[str, None] = field(default_factory=dict)
    examples: dict[int, Example] = field(default_factory=dict)
    ports: int | None = None
    reason: str = ""
    standing: Json = field(default_factory=dict)
    clashes: list[Json] = field(default_factory=list)
    undecided: list[Json] = field(default_factory=list)

    @property
    def newest(self) -> Example | None:
        """The question at hand, or the last one."""
        return self.examples[max(self.examples)] if self.examples else None

    @property
    def last_clash(self) -> str:
        """The newest contradiction in words; "" for none."""
        return self.clashes[-1]["text"] if self.clashes else ""

    def take(self, kind: str, payload: Json) -> None:
        """Fold one event in; what an attempt tells again changes nothing."""
        if kind == "seeded":
            self.alone[payload["experiment"]["text"]] = payload["cycles"]
            self.schemes |= dict.fromkeys(scheme for scheme, _ in payload["experiment"]["terms"])
        elif kind == "ports":
            self.ports, self.reason = payload["ports"], payload["reason"]
        elif kind == "candidates":
            self.examples[payload["number"]] = Example(
                payload["number"],
                Experiment.of(dict(payload["experiment"]["terms"])),
                payload["first_cycles"],
                payload["second_cycles"],
                (payload["first"], payload["second"]),
            )
        elif kind == "decision" and payload["number"] in self.examples:
            example = self.examples[payload["number"]]
            example.measured, example.survivor = payload["cycles"], payload["survivor"]
        elif kind == "standing":
            self.standing = payload
        elif kind == "contradiction" and payload not in self.clashes:
            self.clashes.append(payload)
        elif kind == "undecided":
            del self.undecided[payload["number"] - 1 :]  # a list begins anew when the search goes on
            self.undecided.append(payload)


def mapping_of(told: Json) -> PortMapping:
    """A mapping as the events have it."""
    usage = {scheme: tuple((mask, count) for mask, count in uops) for scheme, uops in told["usage"].items()}
    return PortMapping(tuple(told["ports"]), usage)

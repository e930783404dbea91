"""What counter-example-guided inference tells while it runs; the log of these explains the result."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import ClassVar

from inference.core.cegar.problem import Alternative, Clash
from inference.core.experiment import Experiment, Measured
from inference.core.mapping import PortMapping
from inference.core.protocols import Json


def mapping_json(mapping: PortMapping) -> Json:
    """Ports, and for every scheme its µops as [port mask, count]."""
    usage = {scheme: [list(uop) for uop in uops] for scheme, uops in mapping.usage.items()}
    return {"ports": list(mapping.ports), "usage": usage}


def experiment_json(experiment: Experiment) -> Json:
    """As text and as [scheme, multiplicity]."""
    return {"text": str(experiment), "terms": [list(term) for term in experiment.terms]}


@dataclass(frozen=True)
class Seeded:
    """A scheme was measured alone, before the first question."""

    kind: ClassVar[str] = "seeded"
    measured: Measured

    def payload(self) -> Json:
        """The event as plain JSON data."""
        return {
            "experiment": experiment_json(self.measured.experiment),
            "cycles": self.measured.cycles,
            "state": self.measured.state.value,
        }


@dataclass(frozen=True)
class Ports:
    """The search goes on with this number of ports; `reason` says why."""

    kind: ClassVar[str] = "ports"
    ports: int
    reason: str

    def payload(self) -> Json:
        """The event as plain JSON data."""
        return asdict(self)


@dataclass(frozen=True)
class Candidates:
    """Two mappings that explain everything so far, and the experiment that decides between them.

    `number` counts the counter-examples from 1. Predictions are in cycles, R_max applied.
    """

    kind: ClassVar[str] = "candidates"
    number: int
    first: PortMapping
    second: PortMapping
    experiment: Experiment
    first_cycles: float
    second_cycles: float

    def payload(self) -> Json:
        """The event as plain JSON data."""
        return {
            "number": self.number,
            "first": mapping_json(self.first),
            "second": mapping_json(self.second),
            "experiment": experiment_json(self.experiment),
            "first_cycles": self.first_cycles,
            "second_cycles": self.second_cycles,
        }


@dataclass(frozen=True)
class CandidatesDecided:
    """What measuring said about the last candidates.

    `survivor`: "first", "second", "neither", or "open" where there was no usable measurement.
    """

    kind: ClassVar[str] = "decision"
    number: int
    measured: Measured
    survivor: str

    def payload(self) -> Json:
        """The event as plain JSON data."""
        return {
            "number": self.number,
            "experiment": experiment_json(self.measured.experiment),
            "cycles": self.measured.cycles,
            "state": self.measured.state.value,
            "survivor": self.survivor,
        }


@dataclass(frozen=True)
class SearchStanding:
    """Counts and times so far; `searching_share` of the seconds went into looking for other mappings."""

    kind: ClassVar[str] = "standing"
    experiments: int
    counter_examples: int
    ports: int
    seconds: float
    searching_share: float

    def payload(self) -> Json:
        """The event as plain JSON data."""
        return asdict(self)


@dataclass(frozen=True)
class ClashFound:
    """No mapping explains these measurements together; what was dropped because of it."""

    kind: ClassVar[str] = "contradiction"
    clash: Clash

    def payload(self) -> Json:
        """The event as plain JSON data."""
        return self.clash.as_json()


@dataclass(frozen=True)
class Undecided:
    """Another mapping that no admissible experiment tells from the result."""

    kind: ClassVar[str] = "undecided"
    number: int
    alternative: Alternative

    def payload(self) -> Json:
        """The event as plain JSON data."""
        return {
            "number": self.number,
            "mapping": mapping_json(self.alternative.mapping),
            "differing": list(self.alternative.differing),
            "hidden": self.alternative.hidden.value,
        }

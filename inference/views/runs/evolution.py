"""What an evolution and its re-fit have told so far, folded from a run's journal; live or years later."""

from __future__ import annotations

from dataclasses import dataclass, field

from inference.core.protocols import Json

KINDS = ("generation", "cloud", "sweep", "front", "congruence")
"""The events that this takes in; see `inference.core.pmevo.events`."""


@dataclass
class EvolutionRecord:
    """Generations, populations, the sweeps of the re-fit, the front so far, and what filtering found."""

    generations: list[Json] = field(default_factory=list)
    clouds: list[Json] = field(default_factory=list)
    sweeps: list[Json] = field(default_factory=list)
    front: list[Json] = field(default_factory=list)
    congruence: Json = field(default_factory=dict)

    @property
    def best_sweep(self) -> Json | None:
        """The newest sweep of the independent re-fit that is best off so far."""
        newest = {each["start"]: each for each in self.sweeps}
        return min(newest.values(), key=lambda each: each["error"], default=None)

    def take(self, kind: str, payload: Json) -> None:
        """Fold one event in."""
        if kind == "generation":
            _add(self.generations, payload, kind)
        elif kind == "cloud":
            _add(self.clouds, payload, "generation")
        elif kind == "sweep":
            told = payload["start"], payload["sweep"]
            self.sweeps = [
                each for each in self.sweeps if each["start"] != told[0] or each["sweep"] < told[1]
            ]
            self.sweeps.append(payload)
        elif kind == "front":
            self.front = payload["points"]
        elif kind == "congruence":
            self.congruence = payload


def _add(told: list[Json], payload: Json, number: str) -> None:
    """Append; a run that is taken up from a checkpoint tells its last steps again."""
    while told and told[-1][number] >= payload[number]:
        told.pop()
    told.append(payload)

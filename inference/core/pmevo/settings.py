"""The tunables of PMEvo, each with the paper's value and a one-line help that forms show."""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from inference.core.errors import InvalidInputError
from inference.core.mapping import MAX_PORTS, R_MAX_RANGE
from inference.core.protocols import Json

DUPLICATES = ("add", "drop")
SCALINGS = ("range", "zero")
PRESETS: Mapping[str, Mapping[str, str]] = {
    "quick": {"population": "100", "max_generations": "200"},
    "standard": {},
    "paper": {
        "population": "100000",
        "convergence": "0",
        "congruence_evidence": "1",
        "volume_weight": "1",
        "duplicates": "add",
        "climb_share": "1",
    },
}
"""Settings that differ from the defaults, as text; "paper" follows the paper to the letter."""

_CHOICES = {"duplicates": DUPLICATES, "scaling": SCALINGS}


def _setting(default: Any, description: str, paper: Any) -> Any:
    return field(default=default, metadata={"help": description, "paper": paper})


@dataclass(frozen=True)
class PMEvoSettings:
    """How PMEvo searches. `metadata["paper"]` of a field is what the publication used."""

    ports: int = _setting(8, "Number of ports of the inferred port mapping.", "given by the user")
    population: int = _setting(
        300, "Port mappings kept in each generation (N): more cost time and find better mappings.", 100_000
    )
    max_generations: int = _setting(300, "The evolution stops after this many generations.", "a limit")
    convergence: float = _setting(
        0.001,
        "The evolution stops when error and volume of all kept mappings lie within this share of the best.",
        "a single value",
    )
    congruence_epsilon: float = _setting(
        0.05, "Times whose symmetric relative difference is smaller count as equal.", 0.05
    )
    congruence_evidence: float = _setting(
        0.5,
        "Share of their experiments that must be measured for both before schemes count as alike.",
        "1: its plan measures all of them",
    )
    r_max: float | None = _setting(
        None, "Instructions per cycle that the bottleneck outside the ports lets through; empty: none.", None
    )
    volume_weight: float = _setting(
        0.1, "Weight of the µop volume against the prediction error in the fitness; 0 ignores it.", 1.0
    )
    scaling: str = _setting(
        "range",
        "Fitness scale per generation: range maps smallest..largest to 0..1000, zero maps 0..largest.",
        "range (the published program: zero)",
    )
    duplicates: str = _setting(
        "drop",
        "A µop that a child inherits from both parents: add the counts, or drop the second.",
        "unsaid (the published program: drop)",
    )
    climb_share: float = _setting(
        0.1, "Share of the final mappings, best first, from which the hill climb starts.", 1.0
    )
    threads: int = _setting(
        0, "Threads that evaluate mappings; 0: one per processor. No effect on the answer.", None
    )

    def __post_init__(self) -> None:
        _whole("ports", self.ports, 1, MAX_PORTS)
        _whole("population", self.population, 2, 10_000_000)
        _whole("max_generations", self.max_generations, 0, 1_000_000)
        _whole("threads", self.threads, 0, 1024)
        _number("convergence", self.convergence, 0, 1)
        _number("congruence_epsilon", self.congruence_epsilon, 0, 1)
        _number("congruence_evidence", self.congruence_evidence, 0, 1)
        _number("volume_weight", self.volume_weight, 0, 1e6)
        _number("climb_share", self.climb_share, 0, 1)
        if self.r_max is not None:
            _number("r_max", self.r_max, *R_MAX_RANGE)
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in allowed:
                raise InvalidInputError(
                    f"{name} must be one of {', '.join(allowed)}, not {getattr(self, name)!r}"
                )

    @classmethod
    def parse(cls, options: Mapping[str, Any]) -> PMEvoSettings:
        """From names to values or their text ("5000", "", "none"), as forms and `--set` give them.

        Raises `InvalidInputError` for an unknown name (telling the nearest) or a value out of its domain.
        """
        fields = {entry.name: str(entry.type) for entry in dataclasses.fields(cls)}
        values: dict[str, Any] = {}
        for name, value in options.items():
            if name not in fields:
                near = difflib.get_close_matches(name, fields, n=1, cutoff=0.0)
                raise InvalidInputError(f"PMEvo has no setting {name!r}; the nearest is {near[0]!r}")
            values[name] = _parsed(name, value, fields[name]) if isinstance(value, str) else value
        return cls(**values)

    def as_json(self) -> Json:
        """Plain JSON that `parse` takes back."""
        return dataclasses.asdict(self)


def _parsed(name: str, text: str, kind: str) -> object:
    text = text.strip()
    if "None" in kind and text.lower() in ("", "none"):
        return None
    try:
        if kind.startswith("int"):
            return int(text)
        if kind.startswith("float"):
            return float(text)
    except ValueError:
        wanted = "a whole number" if kind.startswith("int") else "a number"
        raise InvalidInputError(f"{name} must be {wanted}, not {text!r}") from None
    return text


def _whole(name: str, value: object, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InvalidInputError(f"{name} must be a whole number from {low} to {high}, not {value!r}")


def _number(name: str, value: object, low: float, high: float) -> None:
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not math.isfinite(value)
        or not low <= value <= high
    ):
        raise InvalidInputError(f"{name} must be a number from {low:g} to {high:g}, not {value!r}")

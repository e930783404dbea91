"""The tunables of PMEvo, each with the paper's value and a one-line help that forms show."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inference.core.mapping import MAX_PORTS, R_MAX_RANGE
from inference.core.protocols import Json
from inference.core.tunables import check_choice, check_number, check_whole, setting, values_of

SEARCHES = ("evolution", "refit", "both")
PLANS = ("adaptive", "exhaustive")
DUPLICATES = ("add", "drop")
SCALINGS = ("range", "zero")
PRESETS: Mapping[str, Mapping[str, str]] = {
    "quick": {"population": "100", "max_generations": "200"},
    "standard": {},
    "paper": {
        "search": "evolution",
        "plan": "exhaustive",
        "learnt_mixes": "0",
        "islands": "1",
        "population": "100000",
        "convergence": "0",
        "congruence_evidence": "1",
        "volume_weight": "1",
        "duplicates": "add",
        "climb_share": "1",
    },
}
"""Settings that differ from the defaults, as text; "paper" follows the paper to the letter."""


@dataclass(frozen=True)
class PMEvoSettings:
    """How PMEvo searches. `metadata["paper"]` of a field is what the publication used."""

    ports: int = setting(8, "Number of ports of the inferred port mapping.", "given by the user")
    search: str = setting(
        "evolution",
        "evolution: the paper's; refit: exact re-fit of scheme after scheme; both: re-fit what evolved.",
        "evolution",
    )
    plan: str = setting(
        "exhaustive",
        "Where anything can be measured: all pairs of schemes, or new schemes against class representatives.",
        "exhaustive",
    )
    learnt_mixes: float = setting(
        0.0, "Random mixes of 3 to 5 instructions to measure and learn from beside the pairs, per scheme.", 0
    )
    population: int = setting(
        300, "Port mappings kept in each generation (N): more cost time and find better mappings.", 100_000
    )
    max_generations: int = setting(300, "The evolution stops after this many generations.", "a limit")
    convergence: float = setting(
        0.001,
        "The evolution stops when error and volume of all kept mappings lie within this share of the best.",
        "a single value",
    )
    congruence_epsilon: float = setting(
        0.05, "Times whose symmetric relative difference is smaller count as equal.", 0.05
    )
    congruence_evidence: float = setting(
        0.5,
        "Share of their experiments that must be measured for both before schemes count as alike.",
        "1: its plan measures all of them",
    )
    r_max: float | None = setting(
        None, "Instructions per cycle that the bottleneck outside the ports lets through; empty: none.", None
    )
    volume_weight: float = setting(
        0.1, "Weight of the µop volume against the prediction error in the fitness; 0 ignores it.", 1.0
    )
    scaling: str = setting(
        "range",
        "Fitness scale per generation: range maps smallest..largest to 0..1000, zero maps 0..largest.",
        "range (the published program: zero)",
    )
    duplicates: str = setting(
        "drop",
        "A µop that a child inherits from both parents: add the counts, or drop the second.",
        "unsaid (the published program: drop)",
    )
    climb_share: float = setting(
        0.1, "Share of the final mappings, best first, from which the hill climb starts.", 1.0
    )
    islands: int = setting(
        1, "Populations that evolve apart and exchange their best; workers share them out.", 1
    )
    threads: int = setting(
        0, "Threads that evaluate mappings; 0: one per processor. No effect on the answer.", None
    )

    def __post_init__(self) -> None:
        check_whole("ports", self.ports, 1, MAX_PORTS)
        check_whole("population", self.population, 2, 10_000_000)
        check_whole("max_generations", self.max_generations, 0, 1_000_000)
        check_whole("threads", self.threads, 0, 1024)
        check_number("convergence", self.convergence, 0, 1)
        check_number("congruence_epsilon", self.congruence_epsilon, 0, 1)
        check_number("congruence_evidence", self.congruence_evidence, 0, 1)
        check_number("volume_weight", self.volume_weight, 0, 1e6)
        check_number("climb_share", self.climb_share, 0, 1)
        if self.r_max is not None:
            check_number("r_max", self.r_max, *R_MAX_RANGE)
        check_number("learnt_mixes", self.learnt_mixes, 0, 1000)
        check_whole("islands", self.islands, 1, 1024)
        check_choice("search", self.search, SEARCHES)
        check_choice("plan", self.plan, PLANS)
        check_choice("duplicates", self.duplicates, DUPLICATES)
        check_choice("scaling", self.scaling, SCALINGS)

    @classmethod
    def parse(cls, options: Mapping[str, Any]) -> PMEvoSettings:
        """From names to values or their text ("5000", "", "none"), as forms and `--set` give them.

        Raises `InvalidInputError` for an unknown name (telling the nearest) or a value out of its domain.
        """
        return cls(**values_of(cls, options, "PMEvo"))

    def as_json(self) -> Json:
        """Plain JSON that `parse` takes back."""
        return dataclasses.asdict(self)

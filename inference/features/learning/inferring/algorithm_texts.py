"""What the form says of an inference algorithm beside what its settings class says. One entry each."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from inference.core.cegar.settings import CLASHES, ENCODINGS
from inference.core.explain.settings import CONFIRM, DOUBTFUL, EVIDENCE, FLOODS, NEEDED, RULES, SOURCES
from inference.core.pmevo import settings as pmevo_settings
from inference.core.pmevo.estimate import estimate as estimate_pmevo
from inference.core.pmevo.settings import PRESETS, PMEvoSettings
from inference.core.protocols import Json
from inference.features.learning.inferring.algorithms import ALGORITHMS, Algorithm

LABELS = {
    "congruence_epsilon": "Congruence ε",
    "congruence_evidence": "Congruence evidence",
    "r_max": "R_max",
    "max_generations": "Maximum generations",
    "volume_weight": "Volume weight",
    "seconds": "Time limit in seconds",
    "waste": "Correct times by waste",
    "climb_share": "Share improved by local search",
    "most_ports": "Maximum ports",
    "widest": "Maximum ports per µop",
    "epsilon": "Noise ε",
    "max_length": "Maximum instructions",
    "alternatives": "Alternatives to list",
    "on_clash": "When measurements contradict",
    "solver_limit": "Solver limit",
    "uops_from": "Source of µop counts",
    "uop_rule": "Counters",
    "whole_epsilon": "ε of whole numbers",
    "wasted": "Maximum wasted µops",
    "alone_epsilon": "ε of schemes alone",
    "slowest": "Maximum cycles alone",
    "samples": "Minimum samples",
    "most_samples": "Maximum samples",
    "runs": "Runs to agree",
    "most_copies": "Maximum copies",
}


_SWITCH = ("True", "False")

PMEVO_CHOICES: Mapping[str, Sequence[str]] = {
    "search": pmevo_settings.SEARCHES,
    "objective": pmevo_settings.OBJECTIVES,
    "ceiling": pmevo_settings.CEILINGS,
    "plan": pmevo_settings.PLANS,
    "learn_from": pmevo_settings.LEARN_FROM,
    "scaling": pmevo_settings.SCALINGS,
    "duplicates": pmevo_settings.DUPLICATES,
    "inheritance": pmevo_settings.INHERITANCES,
    "parents": pmevo_settings.PARENTS,
    "repeats": pmevo_settings.REPEATS,
}
PMEVO_GROUPS: Mapping[str, Sequence[str]] = {
    "The mapping": ("r_max", "ceiling", "volume_weight", "most_ports", "seconds"),
    "Measuring, on a machine or a simulated processor": ("plan", "most_experiments", "learnt_mixes"),
    "Congruent schemes": (
        "congruence_epsilon",
        "congruence_evidence",
        "congruence_outliers",
        "learn_from",
    ),
    "Evolution": (
        "population",
        "max_generations",
        "convergence",
        "climb_share",
        "scaling",
        "duplicates",
        "inheritance",
        "mutation",
        "parents",
        "repeats",
    ),
    "Parallelism": ("islands", "migrate_every", "migrants", "threads"),
    "Re-fit and front": ("refits", "starts", "sweeps", "rounds", "patience", "kind_price", "volume_price"),
    "Fewest µops and slots": (
        "objective",
        "issue_width",
        "spread",
        "uop_price",
        "slot_price",
        "new_kind_price",
        "perturbations",
        "perturbation_patience",
    ),
    "Where measurements barely decide": ("apart", "regular_forms", "forgive_waste", "waste"),
}


@dataclass(frozen=True)
class Setting:
    """A tunable as the form shows it: help and the paper's value come from the settings class."""

    name: str
    help: str
    default: Any
    paper: str
    choices: Sequence[str] = ()

    @property
    def label(self) -> str:
        return LABELS.get(self.name) or self.name.replace("_", " ").capitalize()

    @property
    def default_text(self) -> str:
        """The default as a field of the form holds it."""
        return as_text(self.default)


def as_text(value: Any) -> str:
    """A setting's value as a field of the form holds it; nothing for None."""
    return "" if value is None else f"{value:.15g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class OfferedAlgorithm:
    """An algorithm that the form offers; the fields of its settings class have `help` and `paper`.

    `presets` give texts for some settings, the others keep their defaults. `effort` tells how long a run
    takes, (experiments, seconds), from the number of schemes, the settings, the recorded experiments (None
    where fresh ones are measured), the processors there are, and the seconds that measuring one experiment
    takes. `first`: settings that stand among the main questions; `groups`: {heading: settings} of the others,
    which are folded, whatever is in none of them last. `known_help`: what is to be said otherwise than usual
    of the fields for what is known beforehand.
    """

    key: str
    summary: str
    effort: Callable[[int, Json, int | None, int, float], tuple[int, float]]
    choices: Mapping[str, Sequence[str]] = field(default_factory=dict)
    presets: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    first: Sequence[str] = ()
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)
    known_help: Mapping[str, str] = field(default_factory=dict)

    @property
    def algorithm(self) -> Algorithm:
        return ALGORITHMS[self.key]

    def tunables(self) -> list[Setting]:
        """All settings in the order of the class."""
        return [
            Setting(
                name=entry.name,
                help=entry.metadata["help"],
                default=entry.default,
                paper=_paper(entry.metadata["paper"]),
                choices=self.choices.get(entry.name, _SWITCH if isinstance(entry.default, bool) else ()),
            )
            for entry in dataclasses.fields(self.algorithm.settings)
        ]

    def parse(self, values: Mapping[str, str]) -> Json:
        """The complete settings as JSON; raises `InvalidInputError`."""
        return self.algorithm.settings.parse(values).as_json()


def _paper(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else as_text(value)


def _pmevo_effort(
    schemes: int, settings: Json, recorded: int | None, processors: int, pace: float
) -> tuple[int, float]:
    found = estimate_pmevo(
        schemes,
        PMEvoSettings.parse(settings),
        recorded=recorded,
        processors=processors,
        seconds_per_experiment=pace,
    )
    return found.experiments, found.seconds


# Fitted to searches with 1 to 4 ports per µop, ε = 0.02: 6 ports with 9 schemes take 2 s, 8 with 10 3 s,
# 11 with 14 10 s, 8 with 16 20 s, on one core.
_ASKED_PER_SCHEME = 3.5
_FIRST_SECONDS, _SECONDS_GROW = 0.4, 1.28


def _cegar_effort(
    schemes: int, _settings: Json, recorded: int | None, _processors: int, pace: float
) -> tuple[int, float]:
    """Rough: the search's time depends on the processor that is found, and grows steeply with the schemes."""
    asked = round(_ASKED_PER_SCHEME * schemes) if recorded is None else recorded
    searching = _FIRST_SECONDS * _SECONDS_GROW ** min(schemes, 60)
    return asked, searching + (0.0 if recorded is not None else pace * asked)


_BLOCKERS = 12
_NEEDED = 0.6  # of them, where some make others superfluous
_DOUBTFUL = 1.3  # runs on average, where only what is doubtful is tested again
_BLOCKING_SECONDS = 15.0


def _explain_effort(
    schemes: int, settings: Json, recorded: int | None, _processors: int, pace: float
) -> tuple[int, float]:
    """Every scheme alone, beside some representatives, and beside every blocking instruction, twice."""
    runs = min(settings["runs"], _DOUBTFUL if settings["confirm"] == DOUBTFUL else 2)
    blockers = _BLOCKERS * (_NEEDED if settings["floods"] == NEEDED else 1)
    asked = round(schemes * (3 + blockers * runs)) if recorded is None else recorded
    return asked, _BLOCKING_SECONDS + (0.0 if recorded is not None else pace * asked)


EXPLAIN_GROUPS: Mapping[str, Sequence[str]] = {
    "The processor": ("most_ports", "widest", "r_max", "alternatives"),
    "Numbers of µops": ("uops_from", "uop_rule", "padding", "evidence"),
    "Tolerances": ("epsilon", "whole_epsilon", "wasted", "alone_epsilon", "instability"),
    "Measurements": (
        "runs",
        "confirm",
        "floods",
        "samples",
        "most_samples",
        "most_copies",
        "slowest",
        "seconds",
    ),
}


OFFERS: dict[str, OfferedAlgorithm] = {
    offer.key: offer
    for offer in (
        OfferedAlgorithm(
            key="pmevo",
            summary="Improves port mappings until they explain the measured times, by exact re-fit or by "
            "evolution. Needs no counters.",
            effort=_pmevo_effort,
            choices=PMEVO_CHOICES,
            presets=PRESETS,
            first=("search",),
            groups=PMEVO_GROUPS,
        ),
        OfferedAlgorithm(
            key="cegar",
            summary="Asks the experiments that decide between two mappings until only one is left, and tells "
            "what stays undecided. Exact, for some 16 schemes of one µop at most, fewer with several.",
            effort=_cegar_effort,
            choices={"encoding": ENCODINGS, "on_clash": CLASHES},
        ),
        OfferedAlgorithm(
            key="explain",
            summary="Blocks one set of ports after another and sees which µops cannot evade. Every µop comes "
            "with the experiments that show it; whatever does not fit is left out with a reason.",
            effort=_explain_effort,
            choices={
                "uops_from": SOURCES,
                "uop_rule": RULES,
                "evidence": EVIDENCE,
                "confirm": CONFIRM,
                "floods": FLOODS,
            },
            groups=EXPLAIN_GROUPS,
            known_help={
                "uops": "A line per scheme, which then count instead of a counter: "
                "mov MEM[64]:W, GPR[64]:R: 2. Schemes without a line are left out.",
                "improper": "A line per scheme to block ports with that no scheme with one µop has (§6.3.4), "
                "beside those that are found.",
            },
        ),
    )
}

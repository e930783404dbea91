"""The inference algorithms behind one face. A new one is a class here and a line in `ALGORITHMS`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from inference.core import cegar, pmevo
from inference.core.cegar import CegarProblem, CegarSettings
from inference.core.errors import InvalidInputError
from inference.core.experiment import Measured
from inference.core.mapping import PortMapping
from inference.core.pmevo import FrontPoint, PMEvoProblem, PMEvoSettings
from inference.core.protocols import Checkpoint, Json, Measurer, Reporter
from inference.exchange.evidence import KEY, Evidence, evidence_json, verdict_in_words
from inference.runs.workshop import open_workshop

DEFAULT_PORTS = 8

KNOWN = ("uops", "widths", "improper")
"""What may be known of schemes beforehand, see `CegarProblem`."""


@dataclass(frozen=True)
class Question:
    """What is to be inferred: schemes, complete settings, what is known beforehand, and the seed.

    `known` has the fields of `KNOWN` as far as there is something to say. `held_out` judges mappings on the
    way.
    """

    schemes: Sequence[str]
    settings: Json
    known: Json
    held_out: Sequence[Measured]
    seed: int


@dataclass(frozen=True)
class Inferred:
    """A mapping, how many experiments it was learnt from, and what else the algorithm has to say about it.

    `report` is kept with the mapping; `told` goes into the run's result, for scripts; `summary` is a line
    for the run's log. `front`: other mappings that it found, more accurate or more compact than one another.
    """

    mapping: PortMapping
    experiments: int
    report: Json
    summary: str
    told: Json = field(default_factory=dict)
    front: Sequence[FrontPoint] = ()


class Algorithm(Protocol):
    """An inference algorithm as a run needs it.

    `default_ports`: where neither the user nor the machine says how many; None: it searches for the number.
    `mixes`: how many are measured to judge by, unless the user says. `exact`: it takes measurements at their
    word, so that a bottleneck that it is not told of would mislead it, and knows what `known` means.
    """

    title: str
    default_ports: int | None
    mixes: int
    exact: bool

    def settings(self, options: Mapping[str, Any]) -> Json:
        """The complete settings, `ports` among them, from names to values or their text.

        Raises `InvalidInputError`.
        """
        ...

    def stages(self, settings: Json) -> tuple[str, ...]:
        """The labels of the phases that it tells of with these settings."""
        ...

    def check_known(self, known: Json) -> None:
        """Raise `InvalidInputError` for facts about schemes that make no sense, or that it cannot use."""
        ...

    def infer(
        self, question: Question, measurer: Measurer, reporter: Reporter, resume: Checkpoint | None
    ) -> Inferred:
        """The port mapping of whatever the measurer measures."""
        ...


class PMEvo:
    """Evolution (§5)."""

    title = "PMEvo"
    default_ports: int | None = DEFAULT_PORTS
    mixes = 1000
    exact = False

    def settings(self, options: Mapping[str, Any]) -> Json:
        """As `PMEvoSettings` has them."""
        return PMEvoSettings.parse(options).as_json()

    def stages(self, settings: Json) -> tuple[str, ...]:
        """They depend on the kind of search."""
        return tuple(pmevo.phases(PMEvoSettings.parse(settings)).values())

    def check_known(self, known: Json) -> None:
        """It makes no use of any."""
        if known:
            raise InvalidInputError(f"PMEvo finds out {', '.join(known)} itself: leave it out, or use CEGAR")

    def infer(
        self, question: Question, measurer: Measurer, reporter: Reporter, resume: Checkpoint | None
    ) -> Inferred:
        """Measure, filter, evolve, climb."""
        settings = PMEvoSettings.parse(question.settings)
        problem = PMEvoProblem(tuple(question.schemes), settings, question.held_out)
        with open_workshop(settings.threads) as workshop:
            found = pmevo.infer(problem, measurer, reporter, question.seed, resume, workshop)
        report: Json = {
            "generations": found.generations,
            "final_error": found.final_error,
            "congruence_classes": [list(members) for members in found.congruence_classes],
            "experiments": found.experiments,
            "exhaustive": found.exhaustive,
        }
        summary = f"mean relative error on the experiments learnt from: {100 * found.final_error:.2f} %"
        told: Json = {
            "classes": len(found.congruence_classes),
            "exhaustive": found.exhaustive,
            "front": [
                {"error": point.error, "volume": point.volume, "kinds": point.kinds} for point in found.front
            ],
        }
        return Inferred(found.mapping, found.experiments, report, summary, told, found.front)


class Cegar:
    """Counter-example-guided inference (ch. 4)."""

    title = "CEGAR"
    default_ports: int | None = None
    mixes = 200
    exact = True

    def settings(self, options: Mapping[str, Any]) -> Json:
        """As `CegarSettings` has them."""
        return CegarSettings.parse(options).as_json()

    def stages(self, settings: Json) -> tuple[str, ...]:
        """Always the same."""
        return tuple(cegar.PHASES.values())

    def check_known(self, known: Json) -> None:
        """Of the schemes that are named, beside some other one with a single µop."""
        named = {scheme for facts in known.values() for scheme in facts}
        CegarProblem((*sorted(named), ""), CegarSettings(), **known)

    def infer(
        self, question: Question, measurer: Measurer, reporter: Reporter, resume: Checkpoint | None
    ) -> Inferred:
        """Ask what tells mappings apart; what is known of schemes that are not asked for plays no part."""
        asked = frozenset(question.schemes)
        known = question.known
        problem = CegarProblem(
            tuple(question.schemes),
            CegarSettings.parse(question.settings),
            {scheme: count for scheme, count in known.get("uops", {}).items() if scheme in asked},
            {scheme: width for scheme, width in known.get("widths", {}).items() if scheme in asked},
            tuple(scheme for scheme in known.get("improper", ()) if scheme in asked),
        )
        found = cegar.infer(problem, measurer, reporter, question.seed, resume)
        report: Json = {KEY: evidence_json(found, problem.settings)}
        evidence = Evidence.of(report)
        assert evidence is not None
        told: Json = {
            "verdict": found.verdict.value,
            "counter_examples": found.counter_examples,
            "alternatives": len(found.alternatives),
            "ambiguous": list(found.ambiguous_schemes),
            "dropped": sorted({scheme for clash in found.clashes for scheme in clash.dropped}),
        }
        return Inferred(found.mapping, len(found.experiments), report, verdict_in_words(evidence), told)


ALGORITHMS: dict[str, Algorithm] = {"pmevo": PMEvo(), "cegar": Cegar()}

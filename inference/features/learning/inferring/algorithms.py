"""The inference algorithms behind one face. A new one is a class here and a line in `ALGORITHMS`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from inference.core import cegar, explain, pmevo
from inference.core.blocking_by_cegar import solve_by_cegar
from inference.core.cegar import CegarProblem, CegarSettings
from inference.core.errors import InvalidInputError
from inference.core.experiment import Measured
from inference.core.explain import STAGES, ExplainProblem, ExplainResult, ExplainSettings, SchemeFate
from inference.core.mapping import PortMapping, uops_of
from inference.core.pmevo import FrontPoint, PMEvoProblem, PMEvoSettings
from inference.core.protocols import Checkpoint, Json, Measurer, Reporter
from inference.core.waste import WasteSource
from inference.isa.domains import domains_of, forms_among, undivided, units_of
from inference.isa.targets import preferred_schemes
from inference.runs.executors import open_executor
from inference.storage import characterisations
from inference.storage.evidence import KEY, Evidence, evidence_json, verdict_in_words

AlgorithmSettings = PMEvoSettings | CegarSettings | ExplainSettings


@dataclass(frozen=True)
class InferenceTask:
    """What is to be inferred: schemes, complete settings, what is known beforehand, and the seed.

    `known` has the fields of `KnownFacts` as far as there is something to say. `held_out` judges mappings on
    the way. `core`: what is known of the core beside its ports, None for nothing.
    """

    schemes: Sequence[str]
    settings: AlgorithmSettings
    known: Json
    held_out: Sequence[Measured]
    seed: int
    core: WasteSource | None = None


@dataclass(frozen=True)
class Inferred:
    """A mapping, how many experiments it was learnt from, and what else the algorithm has to say about it.

    `report` is kept with the mapping; `told` goes into the run's result, for scripts; `summary` is a line
    for the run's log. `front`: other mappings that it found, more accurate or more compact than one another.
    `explained`: the verdict on every scheme, with its witnesses.
    """

    mapping: PortMapping
    experiments: int
    report: Json
    summary: str
    told: Json = field(default_factory=dict)
    front: Sequence[FrontPoint] = ()
    explained: ExplainResult | None = None


class Algorithm(Protocol):
    """An inference algorithm as a run needs it.

    All of them search for the number of ports where none is given. `mixes`: how many are measured to judge
    by, unless the user says. `exact`: it takes measurements at their word, so that a bottleneck that it is
    not told of would mislead it. `knows`: what it can make use of that is known of schemes. `explores`: it
    measures schemes alone and the bottleneck itself, and which schemes can be judged is known only
    afterwards. `never_held_out`: of recorded data, experiments of up to so many different schemes, which it
    needs.
    """

    title: str
    settings: type[AlgorithmSettings]
    mixes: int = 1000
    exact: bool = False
    knows: Sequence[str] = ()
    explores: bool = False
    never_held_out: int = 0

    def stages(self, settings: AlgorithmSettings) -> tuple[str, ...]:
        """The labels of the phases that it tells of with these settings."""
        ...

    def check_known(self, known: Json) -> None:
        """Raise `InvalidInputError` for facts about schemes that make no sense, or that it cannot use."""
        others = sorted(known.keys() - set(self.knows))
        if others:
            raise InvalidInputError(f"{self.title} makes no use of {', '.join(others)}: leave it out")

    def infer(
        self, question: InferenceTask, measurer: Measurer, reporter: Reporter, resume: Checkpoint | None
    ) -> Inferred:
        """The port mapping of whatever the measurer measures."""
        ...


class PMEvo(Algorithm):
    title = "PMEvo"
    settings = PMEvoSettings

    def stages(self, settings: AlgorithmSettings) -> tuple[str, ...]:
        """They depend on the kind of search."""
        assert isinstance(settings, PMEvoSettings)
        return tuple(pmevo.phases(settings).values())

    def infer(
        self, question: InferenceTask, measurer: Measurer, reporter: Reporter, resume: Checkpoint | None
    ) -> Inferred:
        settings = question.settings
        assert isinstance(settings, PMEvoSettings)
        schemes = tuple(question.schemes)
        problem = PMEvoProblem(
            schemes, settings, question.held_out, forms_among(schemes), undivided(schemes), question.core
        )
        with open_executor(settings.threads) as executor:
            found = pmevo.infer(problem, measurer, reporter, question.seed, resume, executor)
        report: Json = {
            "generations": found.generations,
            "final_error": found.final_error,
            "congruence_classes": [list(members) for members in found.congruence_classes],
            "experiments": found.experiments,
            "exhaustive": found.exhaustive,
            "assumptions": list(pmevo.assumptions(settings)),
            "excess": found.excess,
            "scheduled_error": found.scheduled_error,
            "unscheduled_error": found.unscheduled_error,
        }
        summary = f"mean relative error on the experiments learnt from: {100 * found.final_error:.2f} %"
        if found.scheduled_error is not None and found.unscheduled_error is not None:
            summary += (
                f"; with the scheduler that explains what it wastes, {found.scheduled_error:.2%} on "
                f"experiments that it was not chosen by, {found.unscheduled_error:.2%} without"
            )
        told: Json = {
            "assumptions": report["assumptions"],
            "excess": found.excess,
            "scheduled_error": found.scheduled_error,
            "unscheduled_error": found.unscheduled_error,
            "classes": len(found.congruence_classes),
            "exhaustive": found.exhaustive,
            "front": [
                {"error": point.error, "volume": point.volume, "kinds": point.kinds} for point in found.front
            ],
        }
        return Inferred(found.mapping, found.experiments, report, summary, told, found.front)


class Cegar(Algorithm):
    title = "CEGAR"
    settings = CegarSettings
    mixes = 200
    exact = True
    knows = ("uops", "widths", "improper")

    def stages(self, settings: AlgorithmSettings) -> tuple[str, ...]:
        return tuple(cegar.PHASES.values())

    def check_known(self, known: Json) -> None:
        """Of the schemes that are named, beside some other one with a single µop."""
        super().check_known(known)
        named = {scheme for facts in known.values() for scheme in facts}
        CegarProblem((*sorted(named), ""), CegarSettings(), **known)

    def infer(
        self, question: InferenceTask, measurer: Measurer, reporter: Reporter, resume: Checkpoint | None
    ) -> Inferred:
        """Ask what tells mappings apart; what is known of schemes that are not asked for plays no part."""
        asked = frozenset(question.schemes)
        known, settings = question.known, question.settings
        assert isinstance(settings, CegarSettings)
        problem = CegarProblem(
            tuple(question.schemes),
            settings,
            {scheme: count for scheme, count in known.get("uops", {}).items() if scheme in asked},
            {scheme: width for scheme, width in known.get("widths", {}).items() if scheme in asked},
            tuple(scheme for scheme in known.get("improper", ()) if scheme in asked),
            units_of(question.schemes),
        )
        core = None if question.core is None else question.core.with_chains()
        found = cegar.infer(problem, measurer, reporter, question.seed, resume, core)
        report: Json = {
            KEY: evidence_json(found, problem.settings),
            "assumptions": list(found.assumptions),
            "excess": len(found.unexplained),
        }
        evidence = Evidence.of(report)
        assert evidence is not None
        told: Json = {
            "verdict": found.verdict.value,
            "counter_examples": found.counter_examples,
            "alternatives": len(found.alternatives),
            "ambiguous": list(found.ambiguous_schemes),
            "dropped": sorted({scheme for clash in found.clashes for scheme in clash.dropped}),
            "assumptions": report["assumptions"],
            "excess": report["excess"],
        }
        return Inferred(found.mapping, len(found.experiments), report, verdict_in_words(evidence), told)


class Explain(Algorithm):
    title = "Explainable inference"
    settings = ExplainSettings
    knows = ("uops", "improper", "documented")
    explores = True
    never_held_out = 2  # pairs and floods: each is asked for by name

    def stages(self, settings: AlgorithmSettings) -> tuple[str, ...]:
        return tuple(STAGES.values())

    def check_known(self, known: Json) -> None:
        """Of the schemes that are named, whatever others there are."""
        super().check_known(known)
        named = {scheme for facts in known.values() for scheme in facts}
        ExplainProblem((*sorted(named), ""), ExplainSettings(), uops=known.get("uops", {}))
        hint_of(known.get("documented", {}))

    def infer(
        self, question: InferenceTask, measurer: Measurer, reporter: Reporter, resume: Checkpoint | None
    ) -> Inferred:
        """Find blocking instructions and their ports, then block these beside every scheme."""
        known = question.known
        settings = question.settings
        assert isinstance(settings, ExplainSettings)
        problem = ExplainProblem(
            tuple(question.schemes),
            settings,
            uops=known.get("uops", {}),
            improper=tuple(known.get("improper", ())),
            preferred=preferred_schemes(),
            hint=hint_of(known.get("documented", {})),
            domains=domains_of(question.schemes),
            core=question.core,
        )
        found = explain.infer(problem, measurer, reporter, question.seed, resume, solve_by_cegar)
        told: Json = {outcome.value: found.outcomes[outcome] for outcome in SchemeFate}
        told |= {
            "asked": len(problem.schemes),
            "per_scheme": found.per_scheme,
            "warnings": list(found.warnings),
        }
        if (answer := found.blocking_answer) is not None:
            told |= {"assumptions": list(answer.assumptions), "excess": len(answer.unexplained)}
        summary = (
            f"{told['characterised']:,} of {told['asked']:,} schemes characterised, {told['excluded']:,} "
            f"excluded with a reason, {told['ambiguous']:,} ambiguous"
        )
        report: Json = {
            characterisations.KEY: characterisations.report_of(found, settings.epsilon, settings.evidence),
            **{key: told[key] for key in ("assumptions", "excess") if key in told},
        }
        return Inferred(found.mapping, found.experiments, report, summary, told, explained=found)


def hint_of(documented: Mapping[str, Sequence[str]]) -> PortMapping | None:
    """The documented ports of schemes with one µop, {scheme: port names}, as a mapping; None for none.

    Raises `InvalidInputError`.
    """
    if not documented:
        return None
    names = sorted({port for ports in documented.values() for port in ports}, key=lambda p: (len(p), p))
    bits = {name: 1 << k for k, name in enumerate(names)}
    usage = {}
    for scheme, ports in documented.items():
        if not ports or len(set(ports)) < len(ports):
            raise InvalidInputError(f"{scheme!r} must have different documented ports, not {ports!r}")
        usage[scheme] = uops_of([(sum(bits[port] for port in ports), 1)])
    return PortMapping(tuple(names), usage)


ALGORITHMS: dict[str, Algorithm] = {"pmevo": PMEvo(), "cegar": Cegar(), "explain": Explain()}

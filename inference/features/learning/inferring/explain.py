"""Explainable inference as an `Algorithm`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from inference.core import explain
from inference.core.blocking_by_cegar import solve_by_cegar
from inference.core.errors import InvalidInputError
from inference.core.explain import STAGES, ExplainProblem, ExplainSettings, SchemeFate
from inference.core.explain.settings import CONFIRM, DOUBTFUL, EVIDENCE, FLOODS, NEEDED, RULES, SOURCES
from inference.core.mapping import PortMapping, uops_of
from inference.core.protocols import Checkpoint, Json, Measurer, Reporter
from inference.features.learning.inferring.algorithm import (
    Algorithm,
    AlgorithmSettings,
    Inference,
    InferenceTask,
)
from inference.isa.domains import domains_of
from inference.isa.targets import preferred_schemes
from inference.runs.stages import SINGLETONS
from inference.storage import characterisations

if TYPE_CHECKING:
    from django.http import HttpRequest

    from inference.features.running.runs.record import RunRecord
    from inference.models import Run


_BLOCKERS = 12
_NEEDED_SHARE = 0.6  # share of blockers that are tested if redundant ones are skipped
_DOUBTFUL_RUNS = 1.3  # average runs if only doubtful schemes are tested again
_BLOCKING_SECONDS = 15.0


class Explain(Algorithm):
    key = "explain"
    title = "Explainable inference"
    settings = ExplainSettings
    summary = (
        "Blocks one set of ports after another and measures which µops cannot evade. Every µop comes with "
        "its experiments; schemes that do not fit are excluded with a reason."
    )
    labels = {
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
    choices = {
        "uops_from": SOURCES,
        "uop_rule": RULES,
        "evidence": EVIDENCE,
        "confirm": CONFIRM,
        "floods": FLOODS,
    }
    groups = {
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
    known_help = {
        "uops": "A line per scheme, used instead of a counter: "
        "mov MEM[64]:W, GPR[64]:R: 2. Schemes without a line are excluded.",
        "improper": "A line per scheme to block ports with that no scheme with one µop has (§6.3.4), "
        "beside those that are found.",
    }
    stopped = "The schemes tested so far become the result."
    before_mapping = (SINGLETONS, *(stage for stage in STAGES if stage != "remaining"))
    knows = ("uops", "improper", "documented")
    explores = True
    never_held_out = 2  # it requests specific pairs and floods

    def stages(self, settings: AlgorithmSettings) -> tuple[str, ...]:
        return tuple(STAGES.values())

    def effort(
        self, schemes: int, settings: Json, recorded: int | None, processors: int, pace: float
    ) -> tuple[int, float]:
        """Every scheme alone, with some representatives, and with every blocking instruction twice."""
        runs = min(settings["runs"], _DOUBTFUL_RUNS if settings["confirm"] == DOUBTFUL else 2)
        blockers = _BLOCKERS * (_NEEDED_SHARE if settings["floods"] == NEEDED else 1)
        experiments = round(schemes * (3 + blockers * runs)) if recorded is None else recorded
        return experiments, _BLOCKING_SECONDS + (0.0 if recorded is not None else pace * experiments)

    def page(self, request: HttpRequest, run: Run, record: RunRecord) -> dict[str, Any]:
        from inference.features.learning.inferring.explain_page import characterising  # noqa: PLC0415  pages load it

        return characterising(request, run, record)

    def check_known(self, known_facts: Json) -> None:
        """Validates facts about the named schemes."""
        super().check_known(known_facts)
        named = {scheme for facts in known_facts.values() for scheme in facts}
        ExplainProblem((*sorted(named), ""), ExplainSettings(), uops=known_facts.get("uops", {}))
        _hint_of(known_facts.get("documented", {}))

    def infer(
        self, question: InferenceTask, measurer: Measurer, reporter: Reporter, resume: Checkpoint | None
    ) -> Inference:
        """Finds blocking instructions and their ports, then blocks these for every scheme."""
        facts = question.known
        settings = question.settings
        assert isinstance(settings, ExplainSettings)
        problem = ExplainProblem(
            tuple(question.schemes),
            settings,
            uops=facts.get("uops", {}),
            improper=tuple(facts.get("improper", ())),
            preferred=preferred_schemes(),
            hint=_hint_of(facts.get("documented", {})),
            domains=domains_of(question.schemes),
            core=question.core,
        )
        result = explain.infer(problem, measurer, reporter, question.seed, resume, solve_by_cegar)
        result_facts: Json = {outcome.value: result.outcomes[outcome] for outcome in SchemeFate}
        result_facts |= {
            "asked": len(problem.schemes),
            "per_scheme": result.per_scheme,
            "warnings": list(result.warnings),
        }
        if (answer := result.blocking_answer) is not None:
            result_facts |= {"assumptions": list(answer.assumptions), "excess": len(answer.unexplained)}
        summary = (
            f"{result_facts['characterised']:,} of {result_facts['asked']:,} schemes characterised, "
            f"{result_facts['excluded']:,} excluded with a reason, {result_facts['ambiguous']:,} ambiguous"
        )
        report: Json = {
            characterisations.KEY: characterisations.report_of(result, settings.epsilon, settings.evidence),
            **{key: result_facts[key] for key in ("assumptions", "excess") if key in result_facts},
        }
        return Inference(result.mapping, result.experiments, report, summary, result_facts, explained=result)


def _hint_of(documented: Mapping[str, Sequence[str]]) -> PortMapping | None:
    """A mapping of documented single-µop schemes, {scheme: port names}; None if empty.

    Raises `InvalidInputError` for a scheme without ports or with a repeated port.
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

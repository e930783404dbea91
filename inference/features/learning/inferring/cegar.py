"""CEGAR: the search by counter-examples, as runs do it and as the form describes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inference.core import cegar
from inference.core.cegar import CegarProblem, CegarSettings
from inference.core.cegar.settings import CLASHES, ENCODINGS
from inference.core.protocols import Checkpoint, Json, Measurer, Reporter
from inference.features.learning.inferring.algorithm import (
    Algorithm,
    AlgorithmSettings,
    InferenceTask,
    Inferred,
)
from inference.isa.domains import units_of
from inference.storage.evidence import KEY, Evidence, evidence_json, verdict_in_words

if TYPE_CHECKING:
    from django.http import HttpRequest

    from inference.features.running.runs.record import RunRecord
    from inference.models import Run


# Fitted to searches with 1 to 4 ports per µop, ε = 0.02: 6 ports with 9 schemes take 2 s, 8 with 10 3 s,
# 11 with 14 10 s, 8 with 16 20 s, on one core.
_EXPERIMENTS_PER_SCHEME = 3.5
_FIRST_SECONDS, _SECONDS_GROW = 0.4, 1.28


class Cegar(Algorithm):
    key = "cegar"
    title = "CEGAR"
    settings = CegarSettings
    summary = (
        "Asks the experiments that decide between two mappings until only one is left, and tells what stays "
        "undecided. Exact, for some 16 schemes of one µop at most, fewer with several."
    )
    labels = {
        "max_length": "Maximum instructions",
        "on_clash": "When measurements contradict",
        "solver_limit": "Solver limit",
    }
    choices = {"encoding": ENCODINGS, "on_clash": CLASHES}
    mixes = 200
    exact = True
    knows = ("uops", "widths", "improper")

    def stages(self, settings: AlgorithmSettings) -> tuple[str, ...]:
        return tuple(cegar.PHASES.values())

    def effort(
        self, schemes: int, settings: Json, recorded: int | None, processors: int, pace: float
    ) -> tuple[int, float]:
        """Rough: the search's time depends on the processor that is found, and grows steeply with the
        schemes.
        """
        experiments = round(_EXPERIMENTS_PER_SCHEME * schemes) if recorded is None else recorded
        searching = _FIRST_SECONDS * _SECONDS_GROW ** min(schemes, 60)
        return experiments, searching + (0.0 if recorded is not None else pace * experiments)

    def page(self, request: HttpRequest, run: Run, record: RunRecord) -> dict[str, Any]:
        from inference.features.learning.inferring.cegar_page import search_context  # noqa: PLC0415  pages load it

        return search_context(request, run, record)

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

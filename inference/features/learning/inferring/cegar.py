"""CEGAR, the search by counter-examples, as an `Algorithm`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inference.core import cegar
from inference.core.cegar import CegarProblem, CegarSettings
from inference.core.cegar.settings import CLASHES, ENCODINGS
from inference.core.protocols import Checkpoint, Json, Measurer, Reporter
from inference.features.learning.inferring.algorithm import (
    Algorithm,
    AlgorithmSettings,
    Inference,
    InferenceTask,
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
        "Measures experiments that distinguish two mappings until one is left, and lists what stays "
        "undecided. Exact; for up to about 16 schemes of one µop, fewer of several µops."
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
        """A rough estimate: the search's time depends on the processor, and grows steeply with the
        schemes.
        """
        experiments = round(_EXPERIMENTS_PER_SCHEME * schemes) if recorded is None else recorded
        search_seconds = _FIRST_SECONDS * _SECONDS_GROW ** min(schemes, 60)
        return experiments, search_seconds + (0.0 if recorded is not None else pace * experiments)

    def page(self, request: HttpRequest, run: Run, record: RunRecord) -> dict[str, Any]:
        from inference.features.learning.inferring.cegar_page import search_context  # noqa: PLC0415  pages load it

        return search_context(request, run, record)

    def check_known(self, known_facts: Json) -> None:
        """Validates facts about the named schemes next to some scheme with a single µop."""
        super().check_known(known_facts)
        named = {scheme for facts in known_facts.values() for scheme in facts}
        CegarProblem((*sorted(named), ""), CegarSettings(), **known_facts)

    def infer(
        self, question: InferenceTask, measurer: Measurer, reporter: Reporter, resume: Checkpoint | None
    ) -> Inference:
        """Measures experiments that distinguish mappings; ignores facts about schemes that are not
        selected.
        """
        selected = frozenset(question.schemes)
        facts, settings = question.known, question.settings
        assert isinstance(settings, CegarSettings)
        problem = CegarProblem(
            tuple(question.schemes),
            settings,
            {scheme: count for scheme, count in facts.get("uops", {}).items() if scheme in selected},
            {scheme: width for scheme, width in facts.get("widths", {}).items() if scheme in selected},
            tuple(scheme for scheme in facts.get("improper", ()) if scheme in selected),
            units_of(question.schemes),
        )
        core = None if question.core is None else question.core.with_chains()
        search = cegar.infer(problem, measurer, reporter, question.seed, resume, core)
        report: Json = {
            KEY: evidence_json(search, problem.settings),
            "assumptions": list(search.assumptions),
            "excess": len(search.unexplained),
        }
        evidence = Evidence.of(report)
        assert evidence is not None
        result_facts: Json = {
            "verdict": search.verdict.value,
            "counter_examples": search.counter_examples,
            "alternatives": len(search.alternatives),
            "ambiguous": list(search.ambiguous_schemes),
            "dropped": sorted({scheme for clash in search.clashes for scheme in clash.dropped}),
            "assumptions": report["assumptions"],
            "excess": report["excess"],
        }
        return Inference(
            search.mapping, len(search.experiments), report, verdict_in_words(evidence), result_facts
        )

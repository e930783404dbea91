"""PMEvo, evolution and re-fit of port mappings, as an `Algorithm`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inference.core import pmevo
from inference.core.pmevo import PMEvoProblem, PMEvoSettings
from inference.core.pmevo import settings as pmevo_settings
from inference.core.pmevo.estimate import estimate
from inference.core.pmevo.settings import PRESETS
from inference.core.protocols import Checkpoint, Json, Measurer, Reporter
from inference.features.learning.inferring.algorithm import (
    Algorithm,
    AlgorithmSettings,
    Inference,
    InferenceTask,
)
from inference.isa.domains import forms_among, single_domains
from inference.runs.executors import open_executor
from inference.runs.stages import BOTTLENECK, MIXES, SINGLETONS

if TYPE_CHECKING:
    from django.http import HttpRequest

    from inference.features.running.runs.record import RunRecord
    from inference.models import Run


class PMEvo(Algorithm):
    key = "pmevo"
    title = "PMEvo"
    settings = PMEvoSettings
    summary = (
        "Improves port mappings until they explain the measured times, by exact re-fit or by evolution. "
        "Needs no counters."
    )
    labels = {
        "congruence_epsilon": "Congruence ε",
        "congruence_evidence": "Congruence evidence",
        "max_generations": "Maximum generations",
        "volume_weight": "Volume weight",
        "waste": "Correct times by waste",
        "climb_share": "Share improved by local search",
        "migrate_every": "Migration interval",
    }
    choices = {
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
    presets = PRESETS
    first = ("search",)
    groups = {
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
        "Re-fit and front": (
            "refits",
            "starts",
            "sweeps",
            "rounds",
            "patience",
            "kind_price",
            "volume_price",
        ),
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
    stopped = "The best mapping so far becomes the result."
    before_mapping = (SINGLETONS, BOTTLENECK, MIXES, "measuring", "congruence")

    def stages(self, settings: AlgorithmSettings) -> tuple[str, ...]:
        assert isinstance(settings, PMEvoSettings)
        return tuple(pmevo.phases(settings).values())

    def effort(
        self, schemes: int, settings: Json, recorded: int | None, processors: int, pace: float
    ) -> tuple[int, float]:
        cost = estimate(
            schemes,
            PMEvoSettings.parse(settings),
            recorded=recorded,
            processors=processors,
            seconds_per_experiment=pace,
        )
        return cost.experiments, cost.seconds

    def page(self, request: HttpRequest, run: Run, record: RunRecord) -> dict[str, Any]:
        from inference.features.learning.inferring.pmevo_page import evolution_context  # noqa: PLC0415  pages load it

        return evolution_context(request, run, record)

    def infer(
        self, question: InferenceTask, measurer: Measurer, reporter: Reporter, resume: Checkpoint | None
    ) -> Inference:
        settings = question.settings
        assert isinstance(settings, PMEvoSettings)
        schemes = tuple(question.schemes)
        problem = PMEvoProblem(
            schemes, settings, question.held_out, forms_among(schemes), single_domains(schemes), question.core
        )
        with open_executor(settings.threads) as executor:
            result = pmevo.infer(problem, measurer, reporter, question.seed, resume, executor)
        report: Json = {
            "generations": result.generations,
            "final_error": result.final_error,
            "congruence_classes": [list(members) for members in result.congruence_classes],
            "experiments": result.experiments,
            "exhaustive": result.exhaustive,
            "assumptions": list(pmevo.assumptions(settings)),
            "excess": result.excess,
            "scheduled_error": result.scheduled_error,
            "unscheduled_error": result.unscheduled_error,
        }
        summary = f"mean relative error on the training experiments: {100 * result.final_error:.2f} %"
        if result.scheduled_error is not None and result.unscheduled_error is not None:
            summary += (
                f"; with the scheduler that explains lost cycles, {result.scheduled_error:.2%} on "
                f"held-out experiments, {result.unscheduled_error:.2%} without"
            )
        result_facts: Json = {
            "assumptions": report["assumptions"],
            "excess": result.excess,
            "scheduled_error": result.scheduled_error,
            "unscheduled_error": result.unscheduled_error,
            "classes": len(result.congruence_classes),
            "exhaustive": result.exhaustive,
            "front": [
                {"error": point.error, "volume": point.volume, "kinds": point.kinds} for point in result.front
            ],
        }
        return Inference(result.mapping, result.experiments, report, summary, result_facts, result.front)

"""PMEvo: evolution and re-fit of port mappings, as runs do it and as the form describes it."""

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
    InferenceTask,
    Inferred,
)
from inference.isa.domains import undivided
from inference.isa.register_forms import forms_among
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
        """They depend on the kind of search."""
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
        from inference.features.learning.inferring.pmevo_page import evolved  # noqa: PLC0415  pages load it

        return evolved(request, run, record)

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

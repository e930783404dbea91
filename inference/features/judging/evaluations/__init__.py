"""How well whatever predicts agrees with measurements."""

from inference.runs.kinds import Lane, RunKind

KINDS = (
    RunKind(
        "evaluate",
        label="Evaluation",
        job="inference.features.judging.evaluations.job.EvaluateJob",
        summary="Evaluation of a port mapping on measurements",
        example={"mapping": 7, "experiment_set": 3, "unit": "cycles"},
        lane=Lane.SHORT,
        archived="inference.features.running.runs.archive.archived_evaluation",
    ),
)

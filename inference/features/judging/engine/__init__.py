"""Comparisons of any sources of answers on the items of a set, in views."""

from __future__ import annotations

from inference.runs.kinds import Job, Lane, RunKind


def _judge_job() -> Job:
    from inference.features.judging.engine.judge_jobs import JudgeJob  # noqa: PLC0415  runs load it

    return JudgeJob()


def _comparison_job() -> Job:
    from inference.features.judging.engine.judge_jobs import ComparisonJob  # noqa: PLC0415  runs load it

    return ComparisonJob()


KINDS = (
    RunKind(
        "judge",
        label="Comparison",
        job=_judge_job,
        summary="Any sources of answers on the experiments or blocks of a set",
        example={"block_set": 6, "sources": ["core-model:2", "predictor:4"], "against": "column:17"},
        lane=Lane.INTERACTIVE,
    ),
    RunKind(
        "comparison",
        label="Predictor comparison",
        job=_comparison_job,
        summary="Predictors compared with the measurements of a set",
        example={"experiment_set": 3, "mappings": [7], "predictors": [2], "most": 20000, "seed": 1},
        lane=Lane.INTERACTIVE,
    ),
)

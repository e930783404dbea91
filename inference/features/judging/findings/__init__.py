"""Findings about schemes, with their evidence.

Doubts, conflicts, experiments slower than predicted, and weak classes are computed when they are viewed. Two
kinds of runs find more: `check-model` measures how well the port mapping model describes a machine (thesis
§3.2.2), `llvm-difference` compares with LLVM's scheduling model.
"""

from __future__ import annotations

from inference.runs.kinds import Job, Lane, RunKind


def _llvm_job() -> Job:
    from inference.features.judging.findings.llvm_job import LlvmDifferenceJob  # noqa: PLC0415  runs load it

    return LlvmDifferenceJob()


def _check_job() -> Job:
    from inference.features.judging.findings.model_check_job import CheckModelJob  # noqa: PLC0415  runs load it

    return CheckModelJob()


KINDS = (
    RunKind(
        "llvm-difference",
        label="LLVM comparison",
        job=_llvm_job,
        summary="A port mapping compared with LLVM’s scheduling model",
        example={"mapping": 7, "cpu": "haswell", "tolerance": 0.2},
        lane=Lane.SHORT,
    ),
    RunKind(
        "check-model",
        label="Model check",
        job=_check_job,
        summary="How well the port mapping model describes a machine",
        example={"machine": 2, "reference": 7, "mixes": 200, "sequences": 50},
        lane=Lane.MEASURING,
    ),
)

"""A port mapping beside LLVM's scheduling model."""

from inference.runs.kinds import Lane, RunKind

KINDS = (
    RunKind(
        "llvm-difference",
        label="LLVM comparison",
        job="inference.features.judging.llvm_difference.job.LlvmDifferenceJob",
        summary="A port mapping beside LLVM’s scheduling model",
        example={"mapping": 7, "cpu": "haswell", "tolerance": 0.2},
        lane=Lane.SHORT,
    ),
)

OPERATIONS = (("/llvm-differences", "api"),)

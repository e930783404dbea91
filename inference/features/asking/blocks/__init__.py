"""Basic blocks: decoded, measured, and the load they put on ports."""

from inference.runs.kinds import Lane, RunKind

KINDS = (
    RunKind(
        "block",
        label="Block measurement",
        job="inference.features.asking.blocks.job.BlockJob",
        summary="Basic blocks on a machine",
        example={"machine": 2, "blocks": ["4801d8480fafc3"], "options": {"mode": "unrolled"}},
        lane=Lane.MEASURING,
        words="inference.features.asking.blocks.shown.block_words",
        page="inference.features.asking.blocks.shown.measured_blocks",
        archived="inference.features.asking.blocks.job.archived",
    ),
)

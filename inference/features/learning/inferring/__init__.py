"""Inference of a port mapping by any algorithm: form, run, what it tells while it works and afterwards."""

from inference.runs.kinds import RunKind

KINDS = (
    RunKind(
        "infer",
        label="Inference",
        job="inference.features.learning.inferring.job.InferJob",
        summary="Inference of a port mapping",
        example={
            "algorithm": "pmevo",
            "source": {"datasets": [3]},
            "ports": 6,
            "seed": 1,
            "settings": {"population": 200, "max_generations": 100},
        },
        words="inference.features.learning.inferring.words.infer_words",
        page="inference.features.learning.inferring.run_page.inference",
        keeps="inference.features.learning.inferring.words.kept_mapping",
        archived="inference.features.learning.inferring.request.archived",
        loads="inference.features.learning.inferring.job.load_loops",
    ),
)

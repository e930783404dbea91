"""How well the port mapping model describes a machine (thesis §3.2.2)."""

from inference.runs.kinds import Lane, RunKind

KINDS = (
    RunKind(
        "check-model",
        label="Model check",
        job="inference.features.judging.model_check.job.CheckModelJob",
        summary="How well the port mapping model describes a machine",
        example={"machine": 2, "reference": 7, "mixes": 200, "sequences": 50},
        lane=Lane.MEASURING,
        words="inference.features.judging.model_check.result_pages.check_words",
        page="inference.features.judging.model_check.result_pages.model_checked",
        archived="inference.features.judging.model_check.request.archived",
    ),
)

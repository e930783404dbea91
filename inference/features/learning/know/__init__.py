"""Know this CPU: one part of a machine's core after another, from its ports to its scheduler."""

from inference.runs.kinds import Lane, RunKind

KINDS = (
    RunKind(
        "know",
        label="Know this CPU",
        job="inference.features.learning.know.job.KnowJob",
        summary="Finding out how a machine’s core works",
        example={"machine": 2, "schemes": "starter"},
        lane=Lane.MEASURING,
        keeps="inference.features.learning.know.query.kept_parts",
        page="inference.features.learning.know.pages.parts",
        outcomes="inference.features.learning.core_model.query.outcomes",
    ),
)

"""Basic blocks that somebody asks about: who says what, and why they differ."""

from inference.runs.kinds import Lane, RunKind

KINDS = (
    RunKind(
        "ask",
        job="anica_app.features.questions.job.AskJob",
        summary="Predictors asked about basic blocks",
        example={"predictors": [2, 5], "blocks": ["4801d8480fafc3"], "anew": False},
        lane=Lane.ASKING,
        outcomes="anica_app.features.questions.answers.answers_of",
    ),
    RunKind(
        "generalise",
        job="anica_app.features.questions.generalise_job.GeneraliseJob",
        summary="What blocks like one block have in common",
        example={"predictors": [2, 5], "block": "480fbcc3", "settings": {"metric": "relative"}},
        lane=Lane.ASKING,
        outcomes="anica_app.features.campaigns.asked.campaigns_of",
    ),
)

"""Basic blocks that somebody asks about: who says what, and why they differ."""

from inference.runs.kinds import Lane, RunKind

KINDS = (
    RunKind(
        "ask",
        label="Block query",
        job="anica_app.features.questions.job.AskJob",
        summary="Predictions for basic blocks",
        example={"predictors": [2, 5], "blocks": ["4801d8480fafc3"], "anew": False},
        lane=Lane.ASKING,
        outcomes="anica_app.features.questions.answers.answers_of",
    ),
    RunKind(
        "generalise",
        label="Generalisation",
        job="anica_app.features.questions.generalise_job.GeneraliseJob",
        summary="What blocks like a given one have in common",
        example={"predictors": [2, 5], "block": "480fbcc3", "settings": {"metric": "relative"}},
        lane=Lane.ASKING,
        outcomes="anica_app.features.campaigns.asked.campaigns_of",
    ),
)

"""Campaigns: searches for what tools disagree about."""

from inference.runs.kinds import RunKind

KINDS = (
    RunKind(
        "campaign",
        label="Campaign",
        job="anica_app.features.campaigns.job.CampaignJob",
        summary="Search for blocks on which predictors disagree",
        example={
            "predictors": [2, 5],
            "preset": "tools",
            "settings": {"samples": 50, "threshold": 0.5},
            "end": {"minutes": 10},
            "scheme_filter": "-ext:AVX512",
            "excluded": [31],
            "seed": 1,
        },
        outcomes="anica_app.features.campaigns.asked.campaigns_of",
    ),
)

OPERATIONS = (("/campaigns", "api"), ("/campaigns", "parts_api"), ("/campaign-comparisons", "comparison_api"))

"""How often each two tools disagree on the blocks of a set.

The blocks may be fresh random ones; a disagreement is defined as for a campaign.
"""

from inference.runs.kinds import RunKind

KINDS = (
    RunKind(
        "matrix",
        label="Matrix",
        summary="How often tools disagree about basic blocks",
        example={"predictors": [2, 5], "blocks": 2000, "length": 4, "interest": {"threshold": 0.5}},
    ),
)

"""Explains why predictors differ on one block, or what one prediction depends on, by generalising the
block.
"""

from __future__ import annotations

from inference.runs.kinds import Lane, RunKind

KINDS = (
    RunKind(
        "generalise",
        label="Generalisation",
        summary="What blocks like a given one have in common",
        example={"predictors": [2, 5], "block": "480fbcc3", "settings": {"metric": "relative"}},
        lane=Lane.INTERACTIVE,
    ),
)

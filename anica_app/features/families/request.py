"""Descriptions of runs that group discoveries."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from anica_app.models import Campaign
from anica_app.storage.descriptions import DEFAULT_FRESH, FreshBlocks
from inference.core.protocols import Json
from inference.runs.request import RunRequest
from inference.web.validation import Id


class NewGrouping(RunRequest):
    """How the discoveries of a campaign are grouped."""

    noun = "a grouping"
    evaluate: FreshBlocks = Field(
        DEFAULT_FRESH,
        description="Number of new random blocks on which shares of families are computed; 0: use the "
        "campaign's random blocks.",
        examples=[2000],
    )
    against: Id | None = Field(
        None,
        description="Id of a campaign to compare with; by default the newest comparable one.",
        examples=[None],
    )
    judge: Id | None = Field(
        None,
        description="Id of a predictor, such as a machine, that decides which tool is right.",
        examples=[None],
    )

    def config_for(self, campaign: Campaign) -> Json:
        return {"campaign": campaign.pk, **self.model_dump()}


class FamiliesConfig(NewGrouping):
    """Fresh blocks need tools that can run here; the judge predicts in the mode of the campaign's tools."""

    campaign: Annotated[int, Field(examples=[4])]

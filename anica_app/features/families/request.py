"""What can be asked of families: to be found once more, and to be marked."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from anica_app.models import Campaign, Discovery, Family
from anica_app.storage.descriptions import DEFAULT_FRESH, FreshBlocks
from inference.core.protocols import Json
from inference.runs.request import OneOf, RunRequest
from inference.storage.names import NOTE_LIMIT
from inference.web.validation import Id

Mark = Annotated[str, OneOf(Discovery.Mark.values)]


class NewGrouping(RunRequest):
    """How the discoveries of a campaign are grouped."""

    noun = "a grouping"
    evaluate: FreshBlocks = Field(
        DEFAULT_FRESH,
        description="So many fresh blocks weigh the families; 0: the campaign's own random ones do.",
        examples=[2000],
    )
    against: Id | None = Field(
        None, description="A campaign that they are held against; else the newest that fits.", examples=[None]
    )
    judge: Id | None = Field(
        None, description="A predictor, such as a machine, that says who is right.", examples=[None]
    )

    def config_for(self, campaign: Campaign) -> Json:
        """The description of the run."""
        return {"campaign": campaign.pk, **self.model_dump()}


class FamiliesConfig(NewGrouping):
    """Fresh blocks need tools that can be asked here; the judge is asked in the mode of the campaign's."""

    campaign: Annotated[int, Field(examples=[4])]


class FamilyJudgement(BaseModel):
    """What somebody thinks of a family; what is absent stays."""

    model_config = ConfigDict(extra="forbid")

    mark: Mark | None = Field(None, description="known, reported, fixed, or empty.", examples=["reported"])
    note: str | None = Field(None, max_length=NOTE_LIMIT, examples=["https://github.com/llvm/…"])

    def store(self, row: Family) -> None:
        row.mark = row.mark if self.mark is None else self.mark
        row.note = row.note if self.note is None else self.note.strip()
        row.save(update_fields=["mark", "note"])


def name_of_grouping(campaign: Campaign) -> str:
    """What the run is called."""
    return f"Families of {campaign.name}"[:180]

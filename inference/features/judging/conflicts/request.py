"""What can be asked of the conflicts in a set of experiments, by its page, the API and the shell alike."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field


class ConflictsBy(StrEnum):
    """What has a row of the matrix."""

    SCHEMES = "schemes"
    CLASSES = "classes"


class ConflictsRequest(BaseModel):
    """Whose conflicts, and by what."""

    model_config = ConfigDict(frozen=True, str_strip_whitespace=True)

    q: str = Field("", max_length=500, description="Schemes, as the scheme table is searched.", examples=[""])
    by: ConflictsBy = Field(
        ConflictsBy.SCHEMES,
        description="A row per scheme, or per class of schemes that compete with one another.",
        examples=["schemes"],
    )

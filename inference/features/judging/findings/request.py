"""The parameters of doubts about a mapping and conflicts in a set, for page, API and shell."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from inference.core.misfits import DoubtKind
from inference.web.validation import Id

NONE: Literal["none"] = "none"


class DoubtsRequest(BaseModel):
    """Which doubts about a mapping: compared with which other one, judged by which evaluation."""

    model_config = ConfigDict(frozen=True, str_strip_whitespace=True)

    other: Id | Literal["none"] | None = Field(
        None,
        description=(
            "Id of another port mapping, for conflicts with it, or “none”. Default: another one of the "
            "same machine, imported ones first."
        ),
        examples=[None],
    )
    evaluation: Id | None = Field(
        None, description="Id of one of its evaluations in cycles; default: the first.", examples=[None]
    )
    over: float = Field(
        20.0,
        ge=0,
        le=10_000,
        description="Mean error in per cent above which a scheme counts as badly predicted.",
        examples=[20.0],
    )
    kind: DoubtKind | None = Field(None, description="Only doubts of this kind.", examples=[None])
    q: str = Field(
        "",
        max_length=500,
        description="A search for schemes, in the syntax of the scheme table.",
        examples=[""],
    )


class ConflictsBy(StrEnum):
    SCHEMES = "schemes"
    CLASSES = "classes"


class ConflictsRequest(BaseModel):
    """Which schemes of a set, and what a row of the matrix stands for."""

    model_config = ConfigDict(frozen=True, str_strip_whitespace=True)

    q: str = Field(
        "",
        max_length=500,
        description="A search for schemes, in the syntax of the scheme table.",
        examples=[""],
    )
    by: ConflictsBy = Field(
        ConflictsBy.SCHEMES,
        description="A row per scheme, or per class of schemes that compete with one another.",
        examples=["schemes"],
    )

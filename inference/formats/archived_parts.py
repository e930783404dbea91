"""Parts of what archives of runs hold, and how a flaw in them is put in words."""

from __future__ import annotations

import json
from typing import Annotated, Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from inference.core.events import Amount, Count, Signed, adapter, stored_as
from inference.core.metrics import Scores
from inference.core.texts import one_line
from inference.figures.heatmap import HeatMap
from inference.formats.errors import ExchangeError
from inference.formats.foreign_texts import IsName, check_texts, is_naming
from inference.formats.strict_json import load

Document = TypeVar("Document", bound=BaseModel)


class ArchivedPart(BaseModel):
    """Part of an event or a report: exact types, and more than is listed here."""

    model_config = ConfigDict(strict=True, extra="allow", allow_inf_nan=False)


ABSENT: Any = Field(None)
"""The default of a part that may be missing, and is not null where it is there."""


class DrawnTold(ArchivedPart):
    """The numbers of a heat map: a row of `bins` counts for each of them."""

    bins: int = Field(ge=1, le=1000)
    limit: float = Field(gt=0, le=1e15)
    n: Count
    outside: Count
    counts: list[list[Count]]

    @model_validator(mode="after")
    def _is_square(self) -> Self:
        if len(self.counts) != self.bins or any(len(row) != self.bins for row in self.counts):
            raise ValueError(f"a heat map with {self.bins} bins has as many rows and columns of counts")
        return self


class ScoresTold(ArchivedPart):
    """How well predictions agree with measurements."""

    n: Count
    mape: Amount | None
    pearson: Signed | None
    kendall: Signed | None


def _heat_map(drawn: DrawnTold) -> HeatMap:
    return HeatMap(drawn.bins, drawn.limit, drawn.n, drawn.outside, tuple(map(tuple, drawn.counts)))


def _scores(told: ScoresTold) -> Scores:
    return Scores(told.n, told.mape, told.pearson, told.kendall)


StoredHeatMap = Annotated[HeatMap, stored_as(DrawnTold, HeatMap.as_json, _heat_map)]
StoredScores = Annotated[Scores, stored_as(ScoresTold, Scores.as_json, _scores)]


def first_flaw(error: ValidationError, place: str) -> str:
    """Where in what is told at `place` it is wrong, and why, in a line."""
    first = error.errors(include_url=False)[0]
    where = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in first["loc"])
    where = where.replace(".", ", ", 1) if where.startswith(".") else where
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return one_line(f"{place}{where}: {first['msg'].removeprefix('Value error, ')}{more}")


def read_document(
    shape: type[Document], content: bytes | str, place: str, most: int, is_name: IsName = is_naming
) -> Document:
    """A file of JSON as what it shall be.

    Args:
        shape: of all of it.
        content: of the file.
        place: what messages call it.
        most: values in it.
        is_name: whether texts under a key are names.

    Raises:
        ExchangeError: the place of what is wrong, and why.
    """
    try:
        value = load(content, place, most)
        if not isinstance(value, dict):
            raise ExchangeError(f"{place} must be a JSON object {{…}}")
        check_texts(value, place, is_name)
        return shape.model_validate(value)
    except ValidationError as error:
        raise ExchangeError(first_flaw(error, place)) from error
    except ValueError as error:  # a `StrictJsonError`, or a text
        raise ExchangeError(str(error)) from error


def read_shape(
    shape: Any, document: Any, place: str, *, context: Any = None, strict: bool | None = None
) -> Any:
    """A value of JSON as what it shall be.

    Args:
        shape: a class, or another type that pydantic knows.
        document: of JSON.
        place: what messages call the whole.
        context: for validators.
        strict: whether what is no number there is none, whatever it looks like; None: as the class says.

    Raises:
        ExchangeError: the place of what is wrong, and why.
    """
    try:
        return adapter(shape).validate_json(json.dumps(document), context=context, strict=strict)
    except ValidationError as error:
        raise ExchangeError(first_flaw(error, place)) from error

"""What events and reports of a run have in common: numbers within limits, and the parts that both tell."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from inference.core.experiment import Experiment
from inference.core.explain import STAGES
from inference.core.mapping import R_MAX_RANGE
from inference.core.protocols import Json
from inference.core.texts import one_line
from inference.formats.errors import ExchangeError

Count = Annotated[int, Field(ge=0, le=2**63 - 1)]
Amount = Annotated[float, Field(ge=0, le=1e15)]
"""Cycles, seconds, fractions, means of counts."""
Signed = Annotated[float, Field(ge=-1e15, le=1e15)]
RMax = Annotated[float, Field(ge=R_MAX_RANGE[0], le=R_MAX_RANGE[1])]
Mask = Annotated[int, Field(ge=0, le=2**62)]


def one_of(values: Sequence[str]) -> AfterValidator:
    """That a text is among these."""

    def check(value: str) -> str:
        if value not in values:
            raise ValueError(f"{value[:80]!r} is none of {', '.join(map(repr, values))}")
        return value

    return AfterValidator(check)


def _experiment(terms: list[Any]) -> list[Any]:
    Experiment.of(dict(terms))
    return terms


Stage = Annotated[str, one_of(tuple(STAGES))]
Term = Annotated[tuple[str, int], Field(strict=False)]
Terms = Annotated[list[Term], AfterValidator(_experiment)]
Uop = Annotated[tuple[Annotated[int, Field(ge=1, le=2**62)], Count], Field(strict=False)]


class ArchivedPart(BaseModel):
    """Part of an event or a report: exact types, and more than is listed here."""

    model_config = ConfigDict(strict=True, extra="allow", allow_inf_nan=False)


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


class _ClashRow(ArchivedPart):
    experiment: str
    cycles: Amount


class _ClashAlone(ArchivedPart):
    scheme: str
    cycles: Amount


class ClashTold(ArchivedPart):
    """Measurements that contradict."""

    experiments: list[_ClashRow]
    alone: list[_ClashAlone]
    ports: Count
    dropped: list[str]
    text: str


class BottleneckTold(ArchivedPart):
    """Instructions per cycle that pass beside the ports; None: no limit was seen."""

    r_max: RMax | None


class BlockingTold(ArchivedPart):
    """A class of blocking instructions."""

    blocker: str
    width: Count
    mask: Mask
    members: list[str]
    improper: bool
    beside: list[Uop]


def masks_of(told: BlockingTold) -> Iterator[int]:
    """Every port set that a class of blocking instructions names."""
    yield told.mask
    yield from (mask for mask, _ in told.beside)


def check_masks(masks: Iterable[int], ports: int) -> None:
    """Raise `ValueError` for a set with a port that there is not."""
    for mask in masks:
        if mask >> ports:
            raise ValueError(f"{mask} is no set of {ports} ports")


def first_flaw(error: ValidationError, place: str) -> str:
    """Where in what is told at `place` it is wrong, and why, in a line."""
    first = error.errors(include_url=False)[0]
    where = ".".join(map(str, first["loc"]))
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return one_line(f"{place}{where and f', {where}'}: {first['msg']}{more}")


def read_strictly(shape: Any, given: Json, place: str) -> Any:
    """A description as JSON: what is no number there is none, whatever it looks like.

    Raises `ExchangeError` with the place of what is wrong.
    """
    try:
        return _adapter(shape).validate_json(json.dumps(given), strict=True)
    except ValidationError as error:
        raise ExchangeError(f"run.json, {first_flaw(error, place)}") from error


@cache
def _adapter(shape: Any) -> TypeAdapter[Any]:
    return TypeAdapter(shape)

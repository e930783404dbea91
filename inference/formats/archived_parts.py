"""JSON from elsewhere, as every database here can store it: values, texts, and the shapes of its parts.

Values have no NaN, NUL, halves of characters or endless nesting; names are lines, other texts paragraphs. How
a flaw is put in words, and what of journals and descriptions several archives hold, is here as well.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Annotated, Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from inference.agent.reading import ProtocolError, read_json
from inference.core.events import Amount, Count, Signed, adapter, stored_as
from inference.core.metrics import Scores
from inference.core.texts import as_single_line, check_line, check_paragraphs, is_line, paragraphs
from inference.figures.heatmap import HeatMap
from inference.formats.problems import ExchangeError

NAMING = frozenset(
    {
        *("name", "isa", "cpu", "source", "kind", "label", "title", "format", "made_by"),
        *("scheme", "blocker", "port", "ports", "members", "computer", "file_name", "path"),
    }
)
"""Keys of a document below which texts are names; the keys themselves are names everywhere."""

IsName = Callable[[str], bool]


def is_naming(key: str) -> bool:
    """Whether the texts below a key are names."""
    return key in NAMING


def check_texts(value: Any, place: str, is_name: IsName = is_naming) -> None:
    """Raise `ValueError` with the place of the first text that is not as it should be.

    Args:
        value: of JSON, of bounded depth.
        place: what messages call it.
        is_name: whether the texts below a key are names.
    """
    _check(value, place, is_name, line=False)


def _check(value: Any, place: str, is_name: IsName, *, line: bool) -> None:
    if isinstance(value, str):
        if not value.isprintable():
            _check_text(value, place, check_line if line else check_paragraphs)
    elif isinstance(value, dict):
        for key, entry in value.items():
            if not key.isprintable():
                _check_text(key, f"{place}, a key", check_line)
            _check(entry, f"{place}, {key[:80]}", is_name, line=line or is_name(key))
    elif isinstance(value, list):
        for entry in value:
            _check(entry, place, is_name, line=line)


def _check_text(text: str, place: str, check: Callable[[str], str]) -> None:
    try:
        check(text)
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None


def clean_texts(value: Any, is_name: IsName = is_naming) -> Any:
    """A value of JSON in which every text passes `check_texts`."""
    return _clean(value, is_name, line=False)


def _clean(value: Any, is_name: IsName, *, line: bool) -> Any:
    if isinstance(value, str):
        return _clean_text(value, line=line)
    if isinstance(value, dict):
        return {
            _clean_text(key, line=True): _clean(entry, is_name, line=line or is_name(key))
            for key, entry in value.items()
        }
    return [_clean(entry, is_name, line=line) for entry in value] if isinstance(value, list) else value


def _clean_text(text: str, *, line: bool) -> str:
    return as_single_line(text) if line and not is_line(text) else paragraphs(text)


DEEPEST = 100
"""Values in values."""


class StrictJsonError(ValueError):
    """What is wrong, and at which place in the document."""


def load(content: bytes | str, place: str, max_values: int) -> Any:
    """The value; `place` is what messages call the whole, `most` how many values and keys it may have.

    Raises `StrictJsonError`.
    """
    try:
        value = read_json(content.decode("utf-8-sig") if isinstance(content, bytes) else content, max_values)
    except ProtocolError as error:
        raise StrictJsonError(f"{place}: {error}") from None
    except (ValueError, RecursionError) as error:
        raise StrictJsonError(f"{place} is no JSON in UTF-8: {str(error)[:200]}") from None
    check_value(value, place)
    return value


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_value(value: Any, place: str, depth: int = 0, *, finite: bool = True) -> None:
    """Raise `StrictJsonError` with the first place of what a database cannot hold.

    `finite`: numbers without end are refused.
    """
    if depth > DEEPEST:
        raise StrictJsonError(f"{place[:80]} is nested in more than {DEEPEST} levels")
    if isinstance(value, str):
        if "\0" in value or not _is_encodable(value):
            raise StrictJsonError(f"{place} has a NUL, or half of a character, where whole ones are expected")
    elif finite and isinstance(value, float) and not math.isfinite(value):
        raise StrictJsonError(f"{place} has a number beyond 1.8e308, which is the largest here")
    elif isinstance(value, dict):
        for key, entry in value.items():
            check_value(key, place, depth)
            check_value(entry, f"{place}, {key}"[:200], depth + 1, finite=finite)
    elif isinstance(value, list):
        for entry in value:
            check_value(entry, place, depth + 1, finite=finite)


Document = TypeVar("Document", bound=BaseModel)


class ArchivedPart(BaseModel):
    """Part of an event or a report: exact types, and more than is listed here."""

    model_config = ConfigDict(strict=True, extra="allow", allow_inf_nan=False)


ABSENT: Any = Field(None)
"""The default of a part that may be missing, and is not null where it is there."""


class HeatMapPart(ArchivedPart):
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


class ScoresPart(ArchivedPart):
    """How well predictions agree with measurements."""

    n: Count
    mape: Amount | None
    pearson: Signed | None
    kendall: Signed | None


def _heat_map(part: HeatMapPart) -> HeatMap:
    return HeatMap(part.bins, part.limit, part.n, part.outside, tuple(map(tuple, part.counts)))


def _scores(part: ScoresPart) -> Scores:
    return Scores(part.n, part.mape, part.pearson, part.kendall)


StoredHeatMap = Annotated[HeatMap, stored_as(HeatMapPart, HeatMap.as_json, _heat_map)]
StoredScores = Annotated[Scores, stored_as(ScoresPart, Scores.as_json, _scores)]


def first_flaw(error: ValidationError, place: str) -> str:
    """Where in what is told at `place` it is wrong, and why, in a line."""
    first = error.errors(include_url=False)[0]
    where = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in first["loc"])
    where = where.replace(".", ", ", 1) if where.startswith(".") else where
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return as_single_line(f"{place}{where}: {first['msg'].removeprefix('Value error, ')}{more}")


def read_document(
    shape: type[Document], content: bytes | str, place: str, max_values: int, is_name: IsName = is_naming
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
        value = load(content, place, max_values)
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

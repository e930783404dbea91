"""Untrusted JSON: parsing with limits, checking values and texts, validating against pydantic shapes.

Accepted values can be stored by SQLite and PostgreSQL: no NaN or infinity, no NUL, no lone surrogates, at
most `DEEPEST` levels. Names are single lines, other texts may have several. Parts that several kinds of
archives share (heat maps, scores) are declared here as well.
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
"""Keys whose texts are names, at any depth below them. Keys themselves are always names."""

IsName = Callable[[str], bool]


def is_naming(key: str) -> bool:
    return key in NAMING


def check_texts(value: Any, place: str, is_name: IsName = is_naming) -> None:
    """Check that names are single lines and other texts are printable paragraphs.

    Args:
        value: JSON of bounded depth (`check_value`).
        place: What messages call the value.
        is_name: Whether texts below a key are names.

    Raises:
        ValueError: The first text that breaks the rule, with its place.
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
    """A copy of a JSON value whose texts pass `check_texts`: forbidden characters are replaced or removed."""
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
"""Levels of nesting that are accepted."""


class StrictJsonError(ValueError):
    """JSON that is malformed or cannot be stored; the message has the place in the document."""


def load(content: bytes | str, place: str, max_values: int) -> Any:
    """Parse JSON with limits.

    Args:
        content: JSON; bytes in UTF-8, with or without a byte-order mark.
        place: What messages call the document.
        max_values: Values and keys that it may have: each takes about 100 bytes of memory, however short.

    Raises:
        StrictJsonError: Malformed JSON, repeated keys, too many values, or values that no database can store.
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
    """Check that a database can store a value.

    Args:
        value: Any JSON value.
        place: What messages call it.
        depth: Levels around it; above `DEEPEST` it is refused.
        finite: Refuse infinite numbers.

    Raises:
        StrictJsonError: The first value that cannot be stored, with its place.
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
    """Part of an event or a report. Types are exact; keys that are not declared are kept."""

    model_config = ConfigDict(strict=True, extra="allow", allow_inf_nan=False)


ABSENT: Any = Field(None)
"""Default of an optional part that must not be null where it is present."""


class HeatMapPart(ArchivedPart):
    """A heat map: `bins` rows of `bins` counts."""

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
    """The first error as one line, with its path below `place`, and how many more there are."""
    first = error.errors(include_url=False)[0]
    where = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in first["loc"])
    where = where.replace(".", ", ", 1) if where.startswith(".") else where
    suffix = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return as_single_line(f"{place}{where}: {first['msg'].removeprefix('Value error, ')}{suffix}")


def read_document(
    shape: type[Document], content: bytes | str, place: str, max_values: int, is_name: IsName = is_naming
) -> Document:
    """Parse and validate a JSON file.

    Args:
        shape: Model of the whole document.
        content: The file.
        place: What messages call the document.
        max_values: Values and keys that it may have.
        is_name: Whether texts below a key are names.

    Raises:
        ExchangeError: The content is no JSON object of this shape; the message has the place.
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
    """Validate a JSON value.

    Args:
        shape: A class, or any other type that pydantic validates.
        document: The value.
        place: What messages call it.
        context: Passed to validators.
        strict: Refuse values of other types, such as "1" for a number; None leaves it to the class.

    Raises:
        ExchangeError: The value has another shape; the message has the place.
    """
    try:
        return adapter(shape).validate_json(json.dumps(document), context=context, strict=strict)
    except ValidationError as error:
        raise ExchangeError(first_flaw(error, place)) from error

"""Validation of requests: models for pages, API and shell, and parameters of addresses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Annotated, Any, TypeVar

from django.core.exceptions import BadRequest
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from pydantic import BaseModel, Field, ModelWrapValidatorHandler, ValidationError

ModelT = TypeVar("ModelT", bound=BaseModel)

Id = Annotated[int, Field(ge=0, le=2**63 - 1, examples=[7])]
"""Id of a row."""

_LIMITS = {
    "expected": "one of {}",
    "ge": "at least {}",
    "gt": "more than {}",
    "le": "at most {}",
    "lt": "less than {}",
    "max_length": "a length of at most {}",
    "min_length": "a length of at least {}",
}
_EXPECTED = {
    "int": "a whole number",
    "float": "a number",
    "string": "a text",
    "bool": "true or false",
    "list": "a list […]",
    "dict": "an object {…}",
    "model": "an object {…}",
    "none": "null",
    "finite": "a finite number",
    "date": "a day such as 2026-11-22",
    "missing": "give it",
    "extra": "leave it out",
    "datetime": "a date and time such as 2026-11-22T09:30:00Z",
}


_MESSAGES = {
    "missing": "it is missing",
    "extra_forbidden": "there is no such field",
    "greater_than_equal": "it is less than {ge}",
    "greater_than": "it is not more than {gt}",
    "less_than_equal": "it is more than {le}",
    "less_than": "it is not less than {lt}",
    "string_too_short": "it is too short",
    "string_too_long": "it is too long",
    "too_short": "it has too few entries",
    "too_long": "it has too many entries",
    "string_pattern_mismatch": "it does not have the form that is needed",
    "literal_error": "it is none of the values that are known",
    "enum": "it is none of the values that are known",
    "finite_number": "it is not a finite number",
    "int_from_float": "it is not a whole number",
    "int_parsing_size": "it has too many digits",
    "none_required": "it is not null",
    "json_invalid": "it is no JSON",
    "multiple_of": "it is not a multiple of {multiple_of}",
}
_FAMILY_MESSAGES = {
    "int": "it is not a whole number",
    "float": "it is not a number",
    "decimal": "it is not a number",
    "string": "it is not a text",
    "bool": "it is neither true nor false",
    "list": "it is not a list",
    "tuple": "it is not a list of that length",
    "set": "it is not a list",
    "frozen": "it is not a list",
    "dict": "it is not an object",
    "mapping": "it is not an object",
    "model": "it is not an object",
    "dataclass": "it is not an object",
    "datetime": "it is not a date and time",
    "date": "it is not a day",
    "time": "it is not a time of day",
    "union": "it has none of the forms that are known",
    "bytes": "it is not a text",
}
"""{beginning of pydantic's error type: message}."""

_CHECK_PREFIX = re.compile(r"^(Value error|Assertion failed), ?")
"""Pydantic's prefix of messages from validators."""


class RequestError(BadRequest):
    """A field of a request has a wrong value; `right` describes right ones, "" if unknown.

    It becomes status 400 on a page, 422 in the API, and an error of a command.
    """

    def __init__(self, field: str, what: str, right: str = "") -> None:
        super().__init__(f"{field}: {what}" + (f"; right would be {right}" if right else ""))
        self.field = field
        self.what = what
        self.right = right

    def renamed(self, names: Mapping[str, str]) -> RequestError:
        """The error with the field's name in the address; `names` is {field: name}."""
        return RequestError(names.get(self.field, self.field), self.what, self.right)


MAX_FLAWS = 50
"""Largest number of reported flaws of a request; each takes about 1 KB of memory."""


def limit_flaws(model: type[ModelT], payload: Any, validate: ModelWrapValidatorHandler[ModelT]) -> ModelT:
    """Wrap validator of a model that limits the number of errors to `MAX_FLAWS`.

    Pydantic allocates a dictionary per error, so the input is truncated and validated again.
    """
    try:
        return validate(payload)
    except ValidationError as error:
        if error.error_count() <= MAX_FLAWS or not isinstance(payload, dict):
            raise
        known_fields = {name: _truncate(payload[name]) for name in model.model_fields if name in payload}
        return validate({**_truncate(payload), **known_fields})


def _truncate(value: Any) -> Any:
    """A value in which every object and list has at most `MAX_FLAWS` entries."""
    if isinstance(value, dict):
        return {key: _truncate(entry) for key, entry in islice(value.items(), MAX_FLAWS)}
    if isinstance(value, list):
        return [_truncate(entry) for entry in value[:MAX_FLAWS]]
    return value


def read(model: type[ModelT], query: Mapping[str, Any], names: Mapping[str, str] | None = None) -> ModelT:
    """Read a request from the parameters of an address or form.

    Args:
        model: The request's model.
        query: Parameters; may have further names; empty texts count as absent.
        names: {field: name in the parameters} where they differ.

    Raises:
        RequestError: It has the parameter's name.
    """
    names = {field: (names or {}).get(field, field) for field in model.model_fields}
    values = {field: query[name] for field, name in names.items() if query.get(name) not in (None, "")}
    try:
        return model.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        field = str(first["loc"][0]) if first["loc"] else ""
        raise RequestError(field, error_message(first), expected_value(first)).renamed(names) from error


def error_message(error: Mapping[str, Any]) -> str:
    """A pydantic error as the end of a sentence, without Python's terms."""
    kind, context = str(error["type"]), error.get("ctx", {})
    if kind in _MESSAGES:
        return _MESSAGES[kind].format(**context)
    family = kind.partition("_")[0]
    if family in _FAMILY_MESSAGES:
        return _FAMILY_MESSAGES[family]
    message = _CHECK_PREFIX.sub("", str(error["msg"]))
    return message[:1].lower() + message[1:] if message else "it cannot be read"


def expected_value(error: Mapping[str, Any], otherwise: str = "") -> str:
    """The right values according to the violated rule; `otherwise` if the rule does not say."""
    limits = error.get("ctx", {})
    for rule, words in _LIMITS.items():
        if rule in limits:
            return words.format(limits[rule])
    return _EXPECTED.get(error["type"].partition("_")[0], otherwise)


RowT = TypeVar("RowT", bound=Model)


def number_parameter(request: HttpRequest, name: str, default: int | None = None) -> int | None:
    """Return the parameter `name` as a number, or the default. Raises `BadRequest`."""
    text = request.GET.get(name, "")
    return parse_int(text, name) if text else default


def parse_int(text: str, name: str) -> int:
    """Return a number ≥ 0 of at most 18 digits; raises `BadRequest`, which mentions `name`."""
    if not (text.isascii() and text.isdigit()) or len(text) > 18:
        raise BadRequest(f"{name} must be a whole number, not {text[:40]!r}")
    return int(text)


def row_parameter(request: HttpRequest, name: str, rows: QuerySet[RowT]) -> RowT | None:
    """Return the row whose id is the parameter `name`; None without the parameter or the row."""
    number = number_parameter(request, name)
    return None if number is None else rows.filter(pk=number).first()


def choice_parameter(request: HttpRequest, name: str, allowed: tuple[str, ...], default: str = "") -> str:
    """Return the parameter `name`, or `default` if it is absent; raises `BadRequest` unless it is allowed."""
    text = request.GET.get(name, "")
    if not text:
        return default
    if text not in allowed:
        raise BadRequest(f"{name} must be one of {', '.join(filter(None, allowed))}, not {text[:40]!r}")
    return text


def bin_parameter(request: HttpRequest, bins: int) -> tuple[int, int] | None:
    """Return (row, column) of the parameter `bin`, written `row,column`; None without it."""
    text = request.GET.get("bin", "")
    if not text:
        return None
    row, _, column = text.partition(",")
    if not all(part.isdecimal() and len(part) < 10 and int(part) < bins for part in (row, column)):
        raise BadRequest(f"bin must be two numbers below {bins}, not {text[:40]!r}")
    return int(row), int(column)


def row_id_or_none(text: str) -> int | None:
    """The id in a text; None if the text is no id."""
    return int(text) if text.isdecimal() and len(text) < 19 else None


def row_ids(texts: Iterable[str]) -> list[int]:
    return [number for text in texts if (number := row_id_or_none(text)) is not None]

"""What pages, API and shell are asked: checked by a request's model, or read from an address."""

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
"""The number of a row."""

_LIMITS = {
    "expected": "one of {}",
    "ge": "at least {}",
    "gt": "more than {}",
    "le": "at most {}",
    "lt": "less than {}",
    "max_length": "a length of at most {}",
    "min_length": "a length of at least {}",
}
_SHAPES = {
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


_WRONG = {
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
_WRONG_FAMILY = {
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
"""By what the type of an error begins with."""

_OF_A_CHECK = re.compile(r"^(Value error|Assertion failed), ?")
"""Before what our own checks say."""


class RequestError(BadRequest):
    """A field of a request has a value that it cannot have; `right` says what would be right, "" if unknown.

    An answer of status 400 of a page, 422 of the API, an error of a command.
    """

    def __init__(self, field: str, what: str, right: str = "") -> None:
        super().__init__(f"{field}: {what}" + (f"; right would be {right}" if right else ""))
        self.field = field
        self.what = what
        self.right = right

    def named(self, names: Mapping[str, str]) -> RequestError:
        """The same, with the field called as an address calls it, {field: name}."""
        return RequestError(names.get(self.field, self.field), self.what, self.right)


MOST_FLAWS = 50
"""Of a request that are reported; each takes a thousand bytes of memory."""


def few_flaws(model: type[ModelT], given: Any, validate: ModelWrapValidatorHandler[ModelT]) -> ModelT:
    """A validator around a model: of what has more flaws than are reported, the first ones.

    pydantic makes a dictionary for each flaw. So the beginning of every object and list is validated again.
    """
    try:
        return validate(given)
    except ValidationError as error:
        if error.error_count() <= MOST_FLAWS or not isinstance(given, dict):
            raise
        known = {name: _beginning(given[name]) for name in model.model_fields if name in given}
        return validate({**_beginning(given), **known})


def _beginning(value: Any) -> Any:
    """A value with the first entries of each object and list in it."""
    if isinstance(value, dict):
        return {key: _beginning(entry) for key, entry in islice(value.items(), MOST_FLAWS)}
    if isinstance(value, list):
        return [_beginning(entry) for entry in value[:MOST_FLAWS]]
    return value


def read(model: type[ModelT], given: Mapping[str, Any], names: Mapping[str, str] | None = None) -> ModelT:
    """The request in the fields of an address or a form; fields of other purposes are passed over.

    `names`: what the address calls fields of the model, {field: name}. Fields without a text are not given.
    Raises `RequestError`, which has the address's name for the field.
    """
    names = {field: (names or {}).get(field, field) for field in model.model_fields}
    values = {field: given[name] for field, name in names.items() if given.get(name) not in (None, "")}
    try:
        return model.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        field = str(first["loc"][0]) if first["loc"] else ""
        raise RequestError(field, what_is_wrong(first), what_is_right(first)).named(names) from error


def what_is_wrong(error: Mapping[str, Any]) -> str:
    """One of pydantic's errors in words that go on a sentence, and none of them Python's."""
    kind, context = str(error["type"]), error.get("ctx", {})
    if kind in _WRONG:
        return _WRONG[kind].format(**context)
    family = kind.partition("_")[0]
    if family in _WRONG_FAMILY:
        return _WRONG_FAMILY[family]
    message = _OF_A_CHECK.sub("", str(error["msg"]))
    return message[:1].lower() + message[1:] if message else "it cannot be read"


def what_is_right(error: Mapping[str, Any], otherwise: str = "") -> str:
    """What would be right, as far as the rule that was broken says."""
    limits = error.get("ctx", {})
    for rule, words in _LIMITS.items():
        if rule in limits:
            return words.format(limits[rule])
    return _SHAPES.get(error["type"].partition("_")[0], otherwise)


RowT = TypeVar("RowT", bound=Model)


def whole_number(request: HttpRequest, name: str, default: int | None = None) -> int | None:
    """Return the whole number under `name`, or the default; anything else is a bad request."""
    text = request.GET.get(name, "")
    return as_whole_number(text, name) if text else default


def as_whole_number(text: str, name: str) -> int:
    """Return the whole number that was given under `name`; anything else is a bad request."""
    if not (text.isascii() and text.isdigit()) or len(text) > 18:
        raise BadRequest(f"{name} must be a whole number, not {text[:40]!r}")
    return int(text)


def row_named(request: HttpRequest, name: str, rows: QuerySet[RowT]) -> RowT | None:
    """Return the row whose number is under `name`; None where there is no number, or no such row."""
    number = whole_number(request, name)
    return None if number is None else rows.filter(pk=number).first()


def one_of(request: HttpRequest, name: str, allowed: tuple[str, ...], default: str = "") -> str:
    """Return the value under `name` if it is one of `allowed`, `default` where there is none."""
    text = request.GET.get(name, "")
    if not text:
        return default
    if text not in allowed:
        raise BadRequest(f"{name} must be one of {', '.join(filter(None, allowed))}, not {text[:40]!r}")
    return text


def chosen_bin(request: HttpRequest, bins: int) -> tuple[int, int] | None:
    """Return the bin of a heat map under `bin`, as `row,column`; None where there is none."""
    text = request.GET.get("bin", "")
    if not text:
        return None
    row, _, column = text.partition(",")
    if not all(part.isdecimal() and len(part) < 10 and int(part) < bins for part in (row, column)):
        raise BadRequest(f"bin must be two numbers below {bins}, not {text[:40]!r}")
    return int(row), int(column)


def row_number(text: str) -> int | None:
    """The number of a database's row that a text is; None for anything else."""
    return int(text) if text.isdecimal() and len(text) < 19 else None


def row_numbers(texts: Iterable[str]) -> list[int]:
    """Those of these texts that are numbers of rows."""
    return [number for text in texts if (number := row_number(text)) is not None]

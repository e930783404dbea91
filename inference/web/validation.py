"""What pages, API and shell are asked, checked by the request model of a feature; what is wrong, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, TypeVar

from django.core.exceptions import BadRequest
from pydantic import BaseModel, Field, GetCoreSchemaHandler, ValidationError
from pydantic_core import CoreSchema, core_schema

ModelT = TypeVar("ModelT", bound=BaseModel)

Id = Annotated[int, Field(ge=0, le=2**63 - 1, examples=[7])]
"""The number of a row."""

_LIMITS = {
    "expected": "one of {}",
    "ge": "at least {}",
    "gt": "more than {}",
    "le": "at most {}",
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
    "missing": "give it",
    "extra": "leave it out",
    "datetime": "a date and time such as 2026-11-22T09:30:00Z",
}


class OneOf:
    """The texts that a field may have, where they are known to the program alone and not to a type checker.

    Use as in `Annotated[str, OneOf(TABLE)]`; the API's document lists them as it does those of a `Literal`.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = tuple(texts)

    def __get_pydantic_core_schema__(self, _source: type[str], _next: GetCoreSchemaHandler) -> CoreSchema:
        """What pydantic validates by."""
        return core_schema.literal_schema(list(self._texts))


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
    """One of pydantic's errors in words that go on a sentence."""
    message = str(error["msg"])
    return "it is missing" if error["type"] == "missing" else message[:1].lower() + message[1:]


def what_is_right(error: Mapping[str, Any], otherwise: str = "") -> str:
    """What would be right, as far as the rule that was broken says."""
    limits = error.get("ctx", {})
    for rule, words in _LIMITS.items():
        if rule in limits:
            return words.format(limits[rule])
    return _SHAPES.get(error["type"].partition("_")[0], otherwise)

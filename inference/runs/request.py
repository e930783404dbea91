"""What a run is asked to do: one model per kind, by which every door and every archive is read."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from types import UnionType
from typing import Any, ClassVar, Self, cast

from annotated_types import Ge, Le, MaxLen, MinLen
from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo

from inference.core.errors import as_written
from inference.core.protocols import Json
from inference.formats.archived_parts import read_strictly
from inference.formats.errors import ExchangeError
from inference.runs.errors import ConfigError

_ENTRIES: dict[Any, str] = {int: "ids", str: "texts"}
_SHAPES: dict[Any, str] = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}


def chosen(choices: Collection[str], given: str) -> str:
    """One of several texts; raises `ValueError` for any other. A validator of a field, behind `partial`."""
    if given not in choices:
        raise ValueError(f"must be one of {', '.join(choices)}, not {given!r:.80}")
    return given


@dataclass(frozen=True)
class Number:
    """What a number may be: whole or not, and its limits, None for none."""

    whole: bool
    least: Any
    most: Any


class RunRequest(BaseModel):
    """The description of a run. A field has exactly the type that it says: "3" is no number, 1 not true.

    `noun`: what such a run is called in a sentence.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)
    noun: ClassVar[str] = "a run"

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Self:
        """Check and complete a description. Raises `ConfigError` with the field and what would be right."""
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            raise ConfigError(cls._what_is_wrong(error)) from error

    @classmethod
    def archived(cls, config: Json, *needed: str) -> Self:
        """The description in an archive; `needed` are fields that elsewhere follow from rows of the database.

        Raises `ExchangeError` with the place of what is wrong or missing.
        """
        value: Self = read_strictly(cls, config, "run.config")
        for field in needed:
            if not config.get(field):
                raise ExchangeError(f"run.json, run.config, {field}: the field is missing")
        return value

    @classmethod
    def stored(cls, config: Json) -> Self:
        """The description of a run, which was checked when the run was submitted."""
        return cast("Self", cls.model_construct(**config))

    @classmethod
    def usual(cls, field: str) -> Any:
        """The default of a field."""
        return cls.model_fields[field].get_default(call_default_factory=True)

    @classmethod
    def number(cls, field: str) -> Number:
        """Type, least and most value of a field that is a number."""
        kind, metadata = _kind_of(cls.model_fields[field])
        limits = {type(one): one for one in metadata}
        low, high = limits.get(Ge), limits.get(Le)
        return Number(kind is int, None if low is None else low.ge, None if high is None else high.le)

    @classmethod
    def unstated(cls, before: Mapping[str, Any], stated: Collection[str]) -> Json:
        """What an earlier description says of fields that a form does not state: a run that starts again with
        changes takes them over.
        """
        return {
            field: before[field]
            for field in cls.model_fields
            if field not in stated and before.get(field) is not None
        }

    def as_json(self) -> Json:
        """The complete description."""
        return self.model_dump()

    @classmethod
    def _what_is_wrong(cls, error: ValidationError) -> str:
        flaws = error.errors(include_url=False)
        first = next((flaw for flaw in flaws if flaw["type"] == "extra_forbidden"), flaws[0])
        field = str(first["loc"][0]) if first["loc"] else ""
        if first["type"] == "extra_forbidden":
            return f"{cls.noun} has no field {field!r}; its fields are {', '.join(cls.model_fields)}"
        if field not in cls.model_fields:
            return str(first["msg"]).removeprefix("Value error, ")
        right = _right(cls.model_fields[field])
        if first["type"] == "missing":
            return f"{field} is missing: give {right}"
        if first["type"] == "value_error":
            return f"{field} {str(first['msg']).removeprefix('Value error, ')}"
        return f"{field} must be {right}, not {as_written(first['input'])}"


def _right(info: FieldInfo) -> str:
    """What a field may be, in words."""
    return _in_words(*_kind_of(info))


def _kind_of(info: FieldInfo) -> tuple[Any, list[Any]]:
    """The type of a field and its limits, also of one that may be None as well."""
    kind, metadata = info.annotation, list(info.metadata)
    for one in getattr(kind, "__args__", ()):
        if hasattr(one, "__metadata__"):
            inner = FieldInfo.from_annotation(one)
            kind, metadata = inner.annotation, [*metadata, *inner.metadata]
    return kind, metadata


def _in_words(kind: Any, metadata: list[Any]) -> str:
    for one in metadata:
        if isinstance(one, AfterValidator) and isinstance(one.func, partial) and one.func.func is chosen:
            return f"one of {', '.join(one.func.args[0])}"
    choices = getattr(kind, "__args__", ())
    if kind is not None and getattr(kind, "__name__", "") == "Literal":
        return f"one of {', '.join(map(str, choices))}"
    if isinstance(kind, UnionType):
        return " or ".join(_in_words(one, metadata) for one in choices if one is not type(None))
    limits = {type(one): one for one in metadata}
    low, high, least, most = (limits.get(each) for each in (Ge, Le, MinLen, MaxLen))
    if kind in _SHAPES:
        between = f" from {low.ge} to {high.le}" if low is not None and high is not None else ""
        longest = "" if most is None else f" of up to {most.max_length:,} characters"
        return f"{_SHAPES[kind]}{between}{longest}"
    if getattr(kind, "__origin__", kind) is list:
        fewest = 0 if least is None else least.min_length
        number = "" if most is None else f"{fewest} to {most.max_length:,} "
        return f"a list of {number}{_ENTRIES.get(next(iter(choices), None), 'entries')}"
    return "an object {…}"


DEFAULT_SEED = 1
"""Wherever a run is asked for: the same question in the shell and in the browser has the same answer."""


SEED_LIMIT = 2**63


MOST_MIXES = 100_000


MOST_SCHEMES = 100_000

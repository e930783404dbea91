"""Descriptions of runs: the base models by which form, API, shell and archive are read, and row look-ups."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar, Union, get_args, get_origin

from annotated_types import Ge, Le, MaxLen, MinLen
from django.db.models import Model, QuerySet
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    ValidationError,
)
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from inference.core.errors import InvalidInputError, as_written
from inference.core.protocols import Json
from inference.formats.archived_parts import read_shape
from inference.formats.problems import ExchangeError
from inference.models.scheme_search import GROUP_SELECTIONS, PROBE_SELECTION
from inference.runs.errors import ConfigError, JobError

_LIST_NOUNS: dict[Any, str] = {int: "ids", str: "texts"}
_TYPE_NOUNS: dict[Any, str] = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
_SETTINGS = "settings"


class AllowedTexts:
    """Allowed values of a text field that are computed at import; a `Literal` would need them in the source.

    Use it as in `Annotated[str, AllowedTexts(TABLE)]`; the API's document lists them like a `Literal`'s.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts = tuple(map(str, texts))

    def __get_pydantic_core_schema__(self, _source: type[str], _next: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.literal_schema(list(self.texts))


@contextmanager
def as_field_error() -> Iterator[None]:
    """In a validator: turn the error of a settings class into an error of the validated field."""
    try:
        yield
    except InvalidInputError as error:
        raise PydanticCustomError(_SETTINGS, "{reason}", {"reason": str(error)}) from error


def settings_of(kind: Any) -> BeforeValidator:
    """A validator that reads a field of a settings class by the class's `parse`."""

    def read(value: object) -> Any:
        with as_field_error():
            return value if isinstance(value, kind) else kind.parse(value)

    return BeforeValidator(read)


@dataclass(frozen=True)
class FieldShape:
    """Constraints of a field: its type, limits of a number, lengths of a text or list, allowed texts.

    Limits of None are absent; `choices` is () if any text is allowed. For an optional field `kind` is the
    type other than None.
    """

    kind: Any
    minimum: float | None
    maximum: float | None
    min_length: int | None
    max_length: int | None
    choices: tuple[str, ...]

    @classmethod
    def of(cls, annotation: Any, metadata: Iterable[Any] = ()) -> FieldShape:
        """The shape of an annotation with the constraints in `metadata`."""
        info = FieldInfo.from_annotation(annotation)
        marks = [*metadata, *info.metadata]
        members = [member for member in _members(info.annotation) if member is not type(None)]
        if len(members) == 1 and members[0] is not info.annotation:
            return cls.of(members[0], marks)
        limits = {type(mark): mark for mark in marks}
        return cls(
            info.annotation,
            getattr(limits.get(Ge), "ge", None),
            getattr(limits.get(Le), "le", None),
            getattr(limits.get(MinLen), "min_length", None),
            getattr(limits.get(MaxLen), "max_length", None),
            get_args(info.annotation)
            if get_origin(info.annotation) is Literal
            else getattr(limits.get(AllowedTexts), "texts", ()),
        )

    def describe(self) -> str:
        """The allowed values as a noun phrase, for errors."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        members = [member for member in _members(self.kind) if member is not type(None)]
        parts = parts_of(self.kind)
        if len(members) > 1 and len(parts) < len(members):
            return " or ".join(FieldShape.of(member).describe() for member in members)
        if len(parts) > 1:
            return f"an object with exactly one of {', '.join(part.key() for part in parts)}"
        if self.kind in _TYPE_NOUNS:
            both = self.minimum is not None and self.maximum is not None
            limits = f" from {self.minimum} to {self.maximum}" if both else ""
            length = "" if self.max_length is None else f" of up to {self.max_length:,} characters"
            return f"{_TYPE_NOUNS[self.kind]}{limits}{length}"
        if parts and self.kind is parts[0]:
            return f"an object with {', '.join(parts[0].model_fields)}"
        return self._describe_container()

    def _describe_container(self) -> str:
        entries = [FieldShape.of(entry) for entry in get_args(self.kind)]
        if get_origin(self.kind) is list:
            number = f"{self.min_length} or more " if self.min_length else ""
            if self.max_length is not None:
                number = f"{self.min_length or 0} to {self.max_length:,} "
            return f"a list of {number}{_LIST_NOUNS.get(entries[0].kind, 'entries')}"
        if get_origin(self.kind) is dict and entries[1].kind is not Any:
            return f"an object {{…: {entries[1].describe()}}}"
        return "an object {…}"


def _members(kind: Any) -> tuple[Any, ...]:
    """The alternatives of a union; a tuple of the type itself for other types."""
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


class RequestPart(BaseModel):
    """A description of a run, or an object in one. Types are strict: "3" is no number."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    @classmethod
    def default_of(cls, field: str) -> Any:
        """The default of the field `field`, made by its factory if it has one."""
        return cls.model_fields[field].get_default(call_default_factory=True)

    @classmethod
    def shape(cls, field: str) -> FieldShape:
        """Constraints of the field `field`."""
        return _shape(cls.model_fields[field])

    @classmethod
    def key(cls) -> str:
        """The field that distinguishes this part from its alternatives: the first, which has no default."""
        return next(iter(cls.model_fields))


class RunRequest(RequestPart):
    """The description of a run; `noun` names such a run in errors."""

    noun: ClassVar[str] = "a run"

    @classmethod
    def read(cls, payload: Mapping[str, Any]) -> Self:
        """Validate a description and fill in defaults.

        Raises:
            ConfigError: The message names the field and what would be right.
        """
        try:
            return cls.model_validate(payload)
        except ValidationError as error:
            raise ConfigError(cls._error_text(error)) from error

    @classmethod
    def from_archive(cls, config: Json, *needed: str) -> Self:
        """Read the description in an archive.

        Args:
            config: `run.config` of the archive's `run.json`.
            needed: Fields that must be there, though a new run derives them from database rows.

        Raises:
            ExchangeError: A field is wrong or missing; the message names its place.
        """
        value: Self = read_shape(cls, config, "run.json, run.config", strict=True)
        for field in needed:
            if not config.get(field):
                raise ExchangeError(f"run.json, run.config, {field}: the field is missing")
        return value

    @classmethod
    def from_stored(cls, config: Json) -> Self:
        """Read a stored run's description; fields that only earlier releases had are ignored."""
        return cls.read({name: value for name, value in config.items() if name in cls.model_fields})

    @classmethod
    def carried_over(cls, before: Mapping[str, Any], form_fields: Collection[str]) -> Json:
        """Fields of an earlier description that a form does not have: a changed copy of a run keeps them."""
        return {
            field: before[field]
            for field in cls.model_fields
            if field not in form_fields and before.get(field) is not None
        }

    def as_json(self) -> Json:
        return self.model_dump()

    @classmethod
    def _error_text(cls, error: ValidationError) -> str:
        details = error.errors(include_url=False)
        first = next((flaw for flaw in details if flaw["type"] == "extra_forbidden"), details[0])
        place, part, info = _locate(cls, first["loc"])
        message = str(first["msg"]).removeprefix("Value error, ")
        if first["type"] == "extra_forbidden" and part is not None:
            fields = ", ".join(part.model_fields)
            return f"{place or cls.noun} has no field {first['loc'][-1]!r}; its fields are {fields}"
        if info is None:
            return message
        if first["type"] == _SETTINGS:
            return f"{place}: {message}"
        expected = _shape(info).describe()
        if first["type"] == "missing":
            return f"{place} is missing: give {expected}"
        if first["type"] == "value_error":
            return f"{place} {message}"
        return f"{place} must be {expected}, not {as_written(first['input'])}"


def _shape(info: FieldInfo) -> FieldShape:
    return FieldShape.of(info.annotation, info.metadata)


def parts_of(kind: Any) -> list[type[RequestPart]]:
    """Classes of the parts in a field of this type, such as the alternatives of a union."""
    if isinstance(kind, type) and issubclass(kind, RequestPart):
        return [kind]
    return [part for entry in get_args(kind) for part in parts_of(entry)]


def _locate(
    request: type[RequestPart], loc: tuple[int | str, ...]
) -> tuple[str, type[RequestPart] | None, FieldInfo | None]:
    """Place of an error: its path, the part that contains it (None if unknown), and the innermost field.

    For a union, pydantic puts the name of the alternative's class between the names of fields.
    """
    names: list[str] = []
    part: type[RequestPart] | None = request
    info: FieldInfo | None = None
    for step in loc:
        parts = [] if info is None else parts_of(info.annotation)
        if part is not None and step in part.model_fields:
            info = part.model_fields[str(step)]
            names.append(str(step))
            parts = parts_of(info.annotation)
            part = parts[0] if len(parts) == 1 else None
        elif alternatives := [kind for kind in parts if kind.__name__ == step]:
            part = alternatives[0]
    return " ".join(names), part, info


RowId = Annotated[int, Field(ge=0, le=2**63 - 1)]
"""Id of a row that may not exist."""


DEFAULT_SEED = 1
"""Default on pages, in the API and in the shell: the same run has the same result in all of them."""


Seed = Annotated[int, Field(ge=0, le=2**63 - 1)]

SELECTIONS = ("all", "default", "starter", PROBE_SELECTION, *GROUP_SELECTIONS)
"""Words for selections of schemes: all of the source, the default inference set, the starter set, one or two
probes per kind of execution unit, and groups that are measured only on request."""

Schemes = Annotated[str, AllowedTexts(SELECTIONS)] | Annotated[list[RowId], Field(min_length=1)]
"""A word of `SELECTIONS`, or ids of schemes."""

MAX_MIXES = 100_000  # of a run


MAX_SCHEMES = 100_000  # of a run

Row = TypeVar("Row", bound=Model)

_MAX_ID = 2**63 - 1
"""Largest id that SQLite and PostgreSQL accept in a query."""


def is_id(pk: object) -> bool:
    """Whether a query may ask for this id."""
    return type(pk) is int and abs(pk) <= _MAX_ID


def read_row(source: type[Row] | QuerySet[Row], field: str, pk: object, noun: str = "") -> Row:
    """The row that a field of a description refers to.

    Args:
        source: Model, or a query that limits the allowed rows.
        field: Name of the field, with which the message begins.
        pk: Value of the field, of any type.
        noun: Replaces the model's name in the message; "" for that name.

    Raises:
        ConfigError: There is no such row, or `pk` is no id.
    """
    rows = source if isinstance(source, QuerySet) else source._default_manager.all()
    row = rows.filter(pk=pk).first() if is_id(pk) else None
    if row is None:
        raise ConfigError(f"{field}: there is no {_title(rows.model, noun)} with the id {as_written(pk)}")
    return row


def needed_row(source: type[Row] | QuerySet[Row], pk: int | None, noun: str = "") -> Row:
    """A row that existed when the run was submitted.

    Args:
        source: Model, or a query.
        pk: Id in the run's description; None counts as deleted.
        noun: Replaces the model's name in the message; "" for that name.

    Raises:
        JobError: The row has been deleted since.
    """
    rows = source if isinstance(source, QuerySet) else source._default_manager.all()
    row = rows.filter(pk=pk).first()
    if row is None:
        raise JobError(f"the {_title(rows.model, noun)} that this run needs has been deleted")
    return row


def read_rows(
    model: type[Row],
    field: str,
    payload: object,
    minimum: int = 0,
    maximum: int | None = None,
    noun: str = "",
) -> list[Row]:
    """The rows with these ids in their order, without duplicates.

    Args:
        model: Class of the rows.
        field: Name of the field in messages.
        payload: A list of ids; not validated yet.
        minimum: Least number of ids.
        maximum: Largest number of ids; None: no limit.
        noun: Replaces the model's name in messages.

    Raises:
        ConfigError: The list is malformed, or a row does not exist.
    """
    number = "" if maximum is None else f"{minimum} to {maximum} "
    requirement = f"{field} must be a list of {number}{_title(model, noun)} ids"
    if not isinstance(payload, list) or not all(type(pk) is int for pk in payload):
        raise ConfigError(f"{requirement}, not {as_written(payload)}")
    if len(payload) < minimum or (maximum is not None and len(payload) > maximum):
        raise ConfigError(f"{requirement}, not {len(payload)}")
    ids = list(dict.fromkeys(payload))
    rows = model._default_manager.in_bulk([pk for pk in ids if is_id(pk)])
    if missing := [pk for pk in ids if pk not in rows]:
        raise ConfigError(f"{field}: there is no {_title(model, noun)} with the id {as_written(missing[0])}")
    return [rows[pk] for pk in ids]


def _title(model: type[Model], noun: str) -> str:
    return noun or str(model._meta.verbose_name)

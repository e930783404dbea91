"""What a run is asked to do: one model per kind, by which every door and every archive is read."""

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
from inference.formats.errors import ExchangeError
from inference.models.scheme_search import GROUP_SELECTIONS, PROBE_SELECTION
from inference.runs.errors import ConfigError, JobError

_ENTRIES: dict[Any, str] = {int: "ids", str: "texts"}
_SHAPES: dict[Any, str] = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
_SETTINGS = "settings"


class OneOf:
    """The texts that a field may have, where they are known to the program alone and not to a type checker.

    Use as in `Annotated[str, OneOf(TABLE)]`; the API's document lists them as it does those of a `Literal`.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts = tuple(map(str, texts))

    def __get_pydantic_core_schema__(self, _source: type[str], _next: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.literal_schema(list(self.texts))


@contextmanager
def told_as_flaw() -> Iterator[None]:
    """In a validator: what a class of settings says of wrong values is told of the field that they are in."""
    try:
        yield
    except InvalidInputError as error:
        raise PydanticCustomError(_SETTINGS, "{reason}", {"reason": str(error)}) from error


def settings_of(kind: Any) -> BeforeValidator:
    """A validator for a field that is a class of settings, which reads and checks its values in `parse`."""

    def read(value: object) -> Any:
        with told_as_flaw():
            return value if isinstance(value, kind) else kind.parse(value)

    return BeforeValidator(read)


@dataclass(frozen=True)
class FieldShape:
    """What a field may hold: a type, limits of a number, lengths of a text or a list, texts to choose from.

    None: no limit. `choices`: () where any text will do. `kind`: of a field that may be None, the other type.
    """

    kind: Any
    least: float | None
    most: float | None
    shortest: int | None
    longest: int | None
    choices: tuple[str, ...]

    @classmethod
    def of(cls, annotation: Any, metadata: Iterable[Any] = ()) -> FieldShape:
        """From an annotation, and what stands beside it."""
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
            else getattr(limits.get(OneOf), "texts", ()),
        )

    def in_words(self) -> str:
        """What would be right, as a noun."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        members = [member for member in _members(self.kind) if member is not type(None)]
        parts = parts_of(self.kind)
        if len(members) > 1 and len(parts) < len(members):
            return " or ".join(FieldShape.of(member).in_words() for member in members)
        if len(parts) > 1:
            return f"an object with exactly one of {', '.join(part.key() for part in parts)}"
        if self.kind in _SHAPES:
            both = self.least is not None and self.most is not None
            limits = f" from {self.least} to {self.most}" if both else ""
            length = "" if self.longest is None else f" of up to {self.longest:,} characters"
            return f"{_SHAPES[self.kind]}{limits}{length}"
        if parts and self.kind is parts[0]:
            return f"an object with {', '.join(parts[0].model_fields)}"
        return self._container_in_words()

    def _container_in_words(self) -> str:
        entries = [FieldShape.of(entry) for entry in get_args(self.kind)]
        if get_origin(self.kind) is list:
            number = f"{self.shortest} or more " if self.shortest else ""
            if self.longest is not None:
                number = f"{self.shortest or 0} to {self.longest:,} "
            return f"a list of {number}{_ENTRIES.get(entries[0].kind, 'entries')}"
        if get_origin(self.kind) is dict and entries[1].kind is not Any:
            return f"an object {{…: {entries[1].in_words()}}}"
        return "an object {…}"


def _members(kind: Any) -> tuple[Any, ...]:
    """The alternatives of a union, a type that is none by itself."""
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


class RequestPart(BaseModel):
    """A description, or an object in one. A field has exactly the type that it says: "3" is no number."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    @classmethod
    def usual(cls, field: str) -> Any:
        """The default of a field."""
        return cls.model_fields[field].get_default(call_default_factory=True)

    @classmethod
    def shape(cls, field: str) -> FieldShape:
        """What a field may hold."""
        return _shape(cls.model_fields[field])

    @classmethod
    def key(cls) -> str:
        """The field by which this part is told from its alternatives: the first, which has no default."""
        return next(iter(cls.model_fields))


class RunRequest(RequestPart):
    """The description of a run.

    `noun`: what such a run is called in a sentence.
    """

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
        value: Self = read_shape(cls, config, "run.json, run.config", strict=True)
        for field in needed:
            if not config.get(field):
                raise ExchangeError(f"run.json, run.config, {field}: the field is missing")
        return value

    @classmethod
    def stored(cls, config: Json) -> Self:
        """The description of a run, which was checked when the run was submitted, perhaps by an earlier
        release: fields that there are no longer are passed over.
        """
        return cls.read({name: value for name, value in config.items() if name in cls.model_fields})

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
        return self.model_dump()

    @classmethod
    def _what_is_wrong(cls, error: ValidationError) -> str:
        flaws = error.errors(include_url=False)
        first = next((flaw for flaw in flaws if flaw["type"] == "extra_forbidden"), flaws[0])
        place, part, info = _located(cls, first["loc"])
        message = str(first["msg"]).removeprefix("Value error, ")
        if first["type"] == "extra_forbidden" and part is not None:
            fields = ", ".join(part.model_fields)
            return f"{place or cls.noun} has no field {first['loc'][-1]!r}; its fields are {fields}"
        if info is None:
            return message
        if first["type"] == _SETTINGS:
            return f"{place}: {message}"
        right = _shape(info).in_words()
        if first["type"] == "missing":
            return f"{place} is missing: give {right}"
        if first["type"] == "value_error":
            return f"{place} {message}"
        return f"{place} must be {right}, not {as_written(first['input'])}"


def _shape(info: FieldInfo) -> FieldShape:
    return FieldShape.of(info.annotation, info.metadata)


def parts_of(kind: Any) -> list[type[RequestPart]]:
    """The parts that a field of this type is made of."""
    if isinstance(kind, type) and issubclass(kind, RequestPart):
        return [kind]
    return [part for entry in get_args(kind) for part in parts_of(entry)]


def _located(
    request: type[RequestPart], loc: tuple[int | str, ...]
) -> tuple[str, type[RequestPart] | None, FieldInfo | None]:
    """Where a flaw is: its path, the part of the request that it is in, and the innermost field.

    Of several alternatives, pydantic names the class between the names of the fields.
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
"""The number of a row, of which it is not yet known whether there is one."""


DEFAULT_SEED = 1
"""Wherever a run is asked for: the same question in the shell and in the browser has the same answer."""


Seed = Annotated[int, Field(ge=0, le=2**63 - 1)]

SELECTIONS = ("all", "default", "starter", PROBE_SELECTION, *GROUP_SELECTIONS)
"""Scheme selections by word: all that the source knows, the default inference set, the starter set, a probe
or two for each kind of execution unit, groups that are measured only when asked for."""

Schemes = Annotated[str, OneOf(SELECTIONS)] | Annotated[list[RowId], Field(min_length=1)]
"""A selection by word, or ids of schemes."""

MOST_MIXES = 100_000


MOST_SCHEMES = 100_000

Row = TypeVar("Row", bound=Model)

_LARGEST = 2**63 - 1
"""What a database can be asked for."""


def is_id(pk: object) -> bool:
    """Whether a row could have this id."""
    return type(pk) is int and abs(pk) <= _LARGEST


def read_row(among: type[Row] | QuerySet[Row], field: str, pk: object, what: str = "") -> Row:
    """The row with this id. Raises `ConfigError`. `what`: its kind, where the model is called otherwise."""
    rows = among if isinstance(among, QuerySet) else among._default_manager.all()
    row = rows.filter(pk=pk).first() if is_id(pk) else None
    if row is None:
        raise ConfigError(f"{field}: there is no {_title(rows.model, what)} with the id {as_written(pk)}")
    return row


def needed_row(among: type[Row] | QuerySet[Row], pk: int | None, what: str = "") -> Row:
    """The row that a run's description names, of which it had been checked that it is there.

    Raises `JobError` where it has been deleted since. `what`: its kind, where the model is called otherwise.
    """
    rows = among if isinstance(among, QuerySet) else among._default_manager.all()
    row = rows.filter(pk=pk).first()
    if row is None:
        raise JobError(f"the {_title(rows.model, what)} that this run needs has been deleted")
    return row


def read_rows(
    model: type[Row], field: str, given: object, least: int = 0, most: int | None = None, what: str = ""
) -> list[Row]:
    """The rows with these ids, each once, in their order. Raises `ConfigError`.

    There are from `least` to `most` ids, as many as somebody likes where that is None.
    """
    number = "" if most is None else f"{least} to {most} "
    wanted = f"{field} must be a list of {number}{_title(model, what)} ids"
    if not isinstance(given, list) or not all(type(pk) is int for pk in given):
        raise ConfigError(f"{wanted}, not {as_written(given)}")
    if len(given) < least or (most is not None and len(given) > most):
        raise ConfigError(f"{wanted}, not {len(given)}")
    ids = list(dict.fromkeys(given))
    found = model._default_manager.in_bulk([pk for pk in ids if is_id(pk)])
    if gone := [pk for pk in ids if pk not in found]:
        raise ConfigError(f"{field}: there is no {_title(model, what)} with the id {as_written(gone[0])}")
    return [found[pk] for pk in ids]


def _title(model: type[Model], what: str) -> str:
    return what or str(model._meta.verbose_name)

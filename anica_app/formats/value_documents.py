"""Rows as JSON objects and back, by the types of their fields, and their bulky parts in a temporary file.

Numbers without end are written as the text "infinite", bytes in hexadecimal digits, times in ISO 8601.
Reading a campaign takes long and touches no database; storing it is nothing but inserting, all of it in one
transaction, so that nobody else has to wait for it.
"""

from __future__ import annotations

import math
import tempfile
from dataclasses import dataclass, fields
from datetime import datetime
from typing import IO, Annotated, Any, ClassVar, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    PlainSerializer,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)

from inference.core.events import adapter
from inference.core.protocols import Json
from inference.formats.errors import ExchangeError
from inference.formats.file_trees import FileTree
from inference.formats.foreign_texts import check_texts
from inference.formats.problems import Problems
from inference.formats.source import read_source
from inference.formats.strict_json import check_value

INFINITE = "infinite"
_TOO_MUCH = 1e300


class ArchivedRow:
    """A dataclass of which documents have every field, of the exact type, and no other."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(strict=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _is_complete(cls, document: Any) -> Any:
        names = [field.name for field in fields(cls)]  # type: ignore[arg-type]  # each subclass is a dataclass
        if isinstance(document, dict) and (missing := [name for name in names if name not in document]):
            raise ValueError(f"the field {missing[0]!r} is missing")
        return document


def document_of(row: ArchivedRow, isa: str = "") -> Json:
    """All fields of a row, in their order; `isa`: the instruction set of its blocks."""
    document: Json = adapter(type(row)).dump_python(row, context=isa, warnings=False)
    return document


def shaped(shape: Any) -> AfterValidator:
    """That a JSON object has this shape; it stays an object."""

    def check(document: Json, info: ValidationInfo) -> Json:
        adapter(shape).validate_python(document, context=info.context)
        return document

    return AfterValidator(check)


def _number(raw: Any, check: ValidatorFunctionWrapHandler) -> float:
    if raw == INFINITE:
        return math.inf
    number: float = check(raw)
    if not abs(number) < _TOO_MUCH:
        raise ValueError(f"{number} is more than belongs here")
    return number


def _bytes(raw: Any) -> bytes:
    try:
        return bytes.fromhex(raw)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{str(raw)[:60]!r} is not in hexadecimal digits") from error


def _time(raw: Any) -> datetime:
    try:
        time = datetime.fromisoformat(raw)
    except (TypeError, ValueError):
        time = None
    if time is None or time.tzinfo is None:
        raise ValueError(f"{str(raw)[:60]!r} is no time like 2026-01-31T12:00:00+00:00")
    return time


Number = Annotated[
    float,
    WrapValidator(_number),
    PlainSerializer(lambda number: INFINITE if math.isinf(number) else number),
]
HexBytes = Annotated[bytes, BeforeValidator(_bytes), PlainSerializer(bytes.hex)]
Time = Annotated[
    datetime | None, BeforeValidator(_time), PlainSerializer(lambda time: time and time.isoformat())
]
"""None before it is known; files have one."""


def read_json(tree: FileTree, path: str, *, finite: bool = True) -> Any:
    """The document. Raises `ExchangeError` with what is wrong and in which line.

    Texts with halves of characters or NUL are refused, which no column can hold; `finite`: numbers without
    end are, too.
    """
    problems = Problems()
    source = read_source(tree.read(path), path, problems)
    if source is not None and not problems:
        if not source.is_json:
            problems.add("this is no JSON", "a JSON document is expected")
        else:
            try:
                check_value(source.data, "document", finite=finite)
                check_texts(source.data, "document")
            except ValueError as error:
                problems.add(str(error), "ordinary numbers and texts are expected; names are lines")
    if source is None or problems:
        raise ExchangeError("\n".join(problem.line(path) for problem in problems.listed))
    return source.data


@dataclass(frozen=True, slots=True)
class Spooled:
    """Bytes in the temporary file. `count`: the blocks in them, where they are samples."""

    file: IO[bytes]
    start: int
    size: int
    count: int

    def __bytes__(self) -> bytes:
        self.file.seek(self.start)
        return self.file.read(self.size)


class Spool:
    """A temporary file without a name: it is gone with the process, however that ends."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="pmweb-import-")  # noqa: SIM115 it lives as long as this
        self._end = 0

    def keep(self, content: bytes, count: int = 0) -> Spooled:
        """Put the bytes away until they are stored."""
        self._file.seek(self._end)
        self._file.write(content)
        self._end += len(content)
        return Spooled(self._file, self._end - len(content), len(content), count)


Packed = bytes | Spooled


@dataclass
class CampaignContext:
    """What the parts of a campaign's archive are read with. `tools`: how many predictors answered."""

    spool: Spool
    tools: int = 0

    @classmethod
    def of(cls, info: ValidationInfo) -> Self:
        assert isinstance(info.context, cls), "campaigns are read by `read_archive` alone"
        return info.context

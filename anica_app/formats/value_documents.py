"""Converts values to JSON objects and back by the types of their fields; spools large parts to a temporary
file.

Infinite numbers are written as "infinite", bytes in hexadecimal digits, times in ISO 8601. Reading a campaign
takes long and uses no database; storing it only inserts, in one short transaction, so that it does not block
others.
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
from inference.formats.archived_parts import check_texts, check_value
from inference.formats.file_trees import FileTree
from inference.formats.problems import ExchangeError, Problems
from inference.formats.source import read_source
from inference.isa.targets import DEFAULT

INFINITE = "infinite"
_TOO_MUCH = 1e300  # larger numbers are as useless as infinite ones, and overflow in sums


class ArchivedRow:
    """Base of dataclasses whose documents have every field, with the exact type, and no other."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(strict=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _is_complete(cls, document: Any) -> Any:
        names = [field.name for field in fields(cls)]  # type: ignore[arg-type]  # each subclass is a dataclass
        if isinstance(document, dict) and (missing := [name for name in names if name not in document]):
            raise ValueError(f"the field {missing[0]!r} is missing")
        return document


def document_of(row: ArchivedRow, isa: str = "") -> Json:
    """The document of a row, with all fields in order. `isa`: instruction set of its blocks."""
    document: Json = adapter(type(row)).dump_python(row, context=isa, warnings=False)
    return document


def shaped(shape: Any) -> AfterValidator:
    """Validator that a JSON object has this shape; the object is kept as it is."""

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
"""None until it is known; never in files."""


def read_json(tree: FileTree, path: str, *, finite: bool = True) -> Any:
    """Read a JSON file. Raises `ExchangeError` with problems and their lines.

    Texts with lone surrogates or NUL, which no column can hold, are refused. `finite`: refuse infinite
    numbers.
    """
    return checked_json(tree.read(path), path, finite=finite)


def checked_json(content: bytes, path: str, *, finite: bool = True) -> Any:
    """`read_json` of a file's content."""
    problems = Problems()
    source = read_source(content, path, problems)
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
    """Bytes in the temporary file. `count`: number of blocks, for samples."""

    file: IO[bytes]
    start: int
    size: int
    count: int

    def __bytes__(self) -> bytes:
        self.file.seek(self.start)
        return self.file.read(self.size)


class Spool:
    """An unnamed temporary file, which is deleted with the process however that ends."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="pmweb-import-")  # noqa: SIM115 it lives as long as this
        self._end = 0

    def keep(self, content: bytes, count: int = 0) -> Spooled:
        """Append bytes to the file. `count`: number of blocks in them."""
        self._file.seek(self._end)
        self._file.write(content)
        self._end += len(content)
        return Spooled(self._file, self._end - len(content), len(content), count)


Packed = bytes | Spooled


@dataclass
class CampaignContext:
    """Context of reading a campaign's archive.

    Attributes:
        tools: Number of predictors.
        isa: Instruction set of its blocks.
    """

    spool: Spool
    tools: int = 0
    isa: str = DEFAULT

    @classmethod
    def of(cls, info: ValidationInfo) -> Self:
        assert isinstance(info.context, cls), "campaigns are read by `read_archive` alone"
        return info.context

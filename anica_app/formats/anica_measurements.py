"""Reads `measurements.db` of the published AnICA: sampled blocks with the answers of each tool.

It is an untrusted SQLite file: opened read-only and immutable, with an authoriser that allows only the
statements below, over ordinary tables with the expected columns, and no triggers, views or functions. Values
of unexpected types are errors that name their row.
"""

from __future__ import annotations

import math
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote

from inference.formats.archived_parts import StrictJsonError, load
from inference.formats.problems import ExchangeError
from inference.predictors.protocol import Answer, Failure
from inference.predictors.samples import MAX_CODE_BYTES, Sample

MAGIC = b"SQLite format 3\0"
DATABASE_LIMIT = 2 << 30  # bytes
VALUE_LIMIT = 1 << 20  # bytes of one value
MAX_VALUES = 10_000  # of a remark
TIME_LIMIT = 1200.0  # seconds for going through all of it
DETAIL_LENGTH = 8000  # characters of a complaint that are kept

_TABLES = {
    "series": ("series_id", "source_computer", "timestamp"),
    "measurements": ("measurement_id", "series_id", "input"),
    "predictor_runs": ("predrun_id", "measurement_id", "predictor", "result", "remark"),
}
_READS = frozenset({"sqlite_master", "sqlite_schema", *_TABLES})
_BROKEN = (sqlite3.Error, UnicodeDecodeError)
"""A file can have any bytes in names of columns and in SQLite's messages about them."""

_CRASHES = ("stack dump", "assertion", "segmentation fault", "core dumped", "traceback", "signal", "abort")
_TIMEOUTS = ("timeout", "timed out", "time limit")
_UNSUPPORTED = ("unsupported", "not supported", "unrecognized", "unknown instruction", "invalid instruction")


@dataclass(frozen=True)
class Series:
    """Blocks that were evaluated together, in the order of their measurements."""

    number: int
    computer: str
    at: int
    """Seconds since 1970."""
    samples: tuple[Sample, ...]


@dataclass(frozen=True)
class Measurements:
    """Reads the published database of measurements, one sample at a time."""

    connection: sqlite3.Connection
    name: str

    def predictors(self) -> list[str]:
        """Names of all tools, sorted."""
        rows = self._rows("SELECT DISTINCT predictor FROM predictor_runs ORDER BY predictor")
        return [_typed_value(row[0], str, f"{self.name}, predictor_runs.predictor") for row in rows]

    def counts(self) -> tuple[int, int, int]:
        """(series, blocks, answers) in the file."""
        counts = [next(self._rows(f"SELECT COUNT(*) FROM {table}"))[0] for table in _TABLES]  # noqa: S608 constants
        return counts[0], counts[1], counts[2]

    def sizes(self) -> dict[int, int]:
        """{series: its number of blocks}, in the order of the series' numbers."""
        rows = self._rows(
            "SELECT series_id, COUNT(*) FROM measurements GROUP BY series_id ORDER BY series_id"
        )
        return {_typed_value(number, int, f"{self.name}, series_id"): count for number, count in rows}

    def series(self, predictors: Sequence[str]) -> Iterator[Series]:
        """All series with blocks, answers in the order of `predictors`; a missing answer is `NO_NUMBER`."""
        positions = {name: at for at, name in enumerate(predictors)}
        heads = {
            row[0]: row[1:] for row in self._rows("SELECT series_id, source_computer, timestamp FROM series")
        }
        rows = self._rows(
            "SELECT m.series_id, m.measurement_id, m.input, r.predictor, r.result, r.remark "
            "FROM measurements AS m LEFT JOIN predictor_runs AS r ON r.measurement_id = m.measurement_id "
            "ORDER BY m.series_id, m.measurement_id, r.predrun_id"
        )
        for number, in_series in groupby(rows, key=lambda row: row[0]):
            where = f"{self.name}, series {number}"
            computer, at = heads.get(number, ("", 0))
            samples = [
                self._sample(list(in_block), positions)
                for _, in_block in groupby(in_series, key=lambda row: row[1])
            ]
            timed = all(len(sample.seconds) == len(positions) for sample in samples)
            yield Series(
                _typed_value(number, int, where),
                _typed_value(computer, str, where),
                _typed_value(at, int, where),
                tuple(samples if timed else (Sample(untimed.code, untimed.answers) for untimed in samples)),
            )

    def _sample(self, rows: Sequence[tuple[Any, ...]], positions: Mapping[str, int]) -> Sample:
        where = f"{self.name}, measurement {rows[0][1]}"
        answers: list[Answer | None] = [None] * len(positions)
        seconds: list[float | None] = [None] * len(positions)
        for *_, predictor, result, remark in rows:
            if predictor is None:
                continue
            if predictor not in positions:
                raise ExchangeError(
                    f"{where}: {predictor!r} is none of the campaign's tools {', '.join(positions)}"
                )
            answers[positions[predictor]], seconds[positions[predictor]] = _answer(result, remark, where)
        times = tuple(second for second in seconds if second is not None)
        missing = Answer(failure=Failure.NO_NUMBER, detail="not asked")
        return Sample(_code(rows[0][2], where), tuple(answer or missing for answer in answers), times)

    def _rows(self, statement: str) -> Iterator[tuple[Any, ...]]:
        try:
            for row in self.connection.execute(statement):  # noqa: UP028 a closed generator must not close it
                yield row
        except _BROKEN as error:
            raise ExchangeError(f"{self.name} cannot be read: {error}") from error


@contextmanager
def open_measurements(path: Path, name: str) -> Iterator[Measurements]:
    """Open a measurements database. Raises `ExchangeError` where the file is none."""
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise ExchangeError(f"{name} is no SQLite database")
    address = f"file:{quote(str(path.absolute()))}?mode=ro&immutable=1"
    with closing(sqlite3.connect(address, uri=True, isolation_level=None)) as connection:
        connection.text_factory = _text
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, VALUE_LIMIT)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        until = time.monotonic() + TIME_LIMIT
        connection.set_progress_handler(lambda: time.monotonic() > until, 100_000)
        try:
            for pragma in ("trusted_schema=OFF", "cell_size_check=ON", "query_only=ON", "mmap_size=0"):
                connection.execute(f"PRAGMA {pragma}")
            _check_schema(connection, name)
            connection.set_authorizer(_authorise)
        except _BROKEN as error:
            raise ExchangeError(f"{name} cannot be read: {error}") from error
        yield Measurements(connection, name)


def _check_schema(connection: sqlite3.Connection, name: str) -> None:
    """Check that the three tables are ordinary tables with the columns that are read."""
    kinds = {
        row[0]: (row[1], row[2] or "")
        for row in connection.execute("SELECT name, type, sql FROM sqlite_master")
    }
    for table, columns in _TABLES.items():
        kind, sql = kinds.get(table, ("", ""))
        if kind != "table" or not sql.lower().lstrip().startswith("create table"):
            raise ExchangeError(
                f"{name} has no table {table}: the measurements of an AnICA campaign are expected"
            )
        existing = {row[1] for row in connection.execute(f"PRAGMA table_xinfo({table})") if row[6] == 0}
        if missing := [column for column in columns if column not in existing]:
            raise ExchangeError(f"{name}: the table {table} has no column {missing[0]}")


def _authorise(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    """SQLite's authoriser: allows reading the known tables, and COUNT."""
    if action == sqlite3.SQLITE_SELECT or (action == sqlite3.SQLITE_READ and first in _READS):
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION and second == "count":
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", errors="replace")


def _typed_value(value: Any, kind: type[Any], where: str) -> Any:
    if not isinstance(value, kind):
        raise ExchangeError(
            f"{where}: {str(value)[:60]!r} is a {type(value).__name__}, not a {kind.__name__}"
        )
    return value


def _code(value: Any, where: str) -> bytes:
    try:
        code = bytes.fromhex(_typed_value(value, str, f"{where}, input"))
    except ValueError as error:
        raise ExchangeError(f"{where}: {value[:60]!r} is no machine code in hexadecimal digits") from error
    if not 0 < len(code) <= MAX_CODE_BYTES:
        raise ExchangeError(f"{where}: a block has 1 to {MAX_CODE_BYTES:,} bytes, not {len(code):,}")
    return code


def _answer(result: Any, remark: Any, where: str) -> tuple[Answer, float | None]:
    """(answer of a tool's run, its seconds or None)."""
    fields = _remark(remark, where)
    rt = fields.get("rt")
    seconds = float(rt) if isinstance(rt, (int, float)) and math.isfinite(rt) and rt >= 0 else None
    complaint = " ".join(str(fields.get("error", "")).split())[:DETAIL_LENGTH]
    if result is None or (isinstance(result, (int, float)) and result < 0):
        return Answer(failure=_failure(complaint), detail=complaint), seconds
    if not isinstance(result, (int, float)) or not math.isfinite(result):
        raise ExchangeError(f"{where}: {str(result)[:60]!r} is no number of cycles")
    return Answer(cycles=float(result), detail=complaint), seconds


def _remark(remark: Any, where: str) -> Mapping[str, Any]:
    """The JSON object in a remark; any other text is {"error": text}."""
    if remark is None or remark == "":
        return {}
    try:
        fields = load(_typed_value(remark, str, f"{where}, remark"), "remark", MAX_VALUES)
    except StrictJsonError:
        return {"error": remark}
    return fields if isinstance(fields, dict) else {"error": remark}


def _failure(complaint: str) -> Failure:
    """The kind of failure by words in the error message; the published tool does not distinguish them."""
    text = complaint.lower()
    for words, failure in (
        (_TIMEOUTS, Failure.TIMEOUT),
        (_CRASHES, Failure.CRASH),
        (_UNSUPPORTED, Failure.UNSUPPORTED),
    ):
        if any(word in text for word in words):
            return failure
    return Failure.NO_NUMBER

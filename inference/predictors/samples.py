"""Judged blocks as one compact string of bytes: a decision can be looked at without reading the others.

Equal things stand side by side and are compressed together (zlib): first all lengths, then all machine code,
then per tool what kind of answer it gave, which number, and what it complained of. Numbers and complaints are
listed once each and referred to by their place, since tools repeat themselves. Layout, little-endian:

    1 byte    version, 1
    the rest  zlib of
        u32   n, number of samples      u8  t, number of tools      u8  1 if times are kept, else 0
        u16[n] lengths of the code      bytes, all code
        t times
            u8[n]   0 a number, else the place of the failure in `Failure`, from 1
            numbers of those with one (see below)
            u32 m, m bytes of JSON: distinct details;  u8|u16|u32[n] which, unless there is but one
            if times are kept: numbers of all
    numbers: u32 d, f64[d] distinct numbers ascending, u8|u16|u32 which, as wide as d needs
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from inference.core.errors import InvalidInputError
from inference.predictors.protocol import Answer, Failure

VERSION = 1  # of the packed form, its first byte
MAX_CODE_BYTES = 0xFFFF  # bytes; blocks are limited to far less
MAX_BYTES = 1 << 28
"""Largest uncompressed size: a step of millions of samples is an error."""

_FAILURES = tuple(Failure)
_PLACES = {failure: place for place, failure in enumerate(_FAILURES, start=1)}
"""{failure: its number in the packed form}; 0 stands for none."""

_HEAD = struct.Struct("<IBB")
_COUNT = struct.Struct("<I")


@dataclass(frozen=True, slots=True)
class Sample:
    """A block's machine code and the answer of each tool, in the order of the campaign's tools.

    `seconds`: how long each tool took, () where it was not recorded.
    """

    code: bytes
    answers: tuple[Answer, ...]
    seconds: tuple[float, ...] = ()


def pack(samples: Iterable[Sample]) -> bytes:
    """The samples as bytes; b"" for none. All have the same number of answers, and of times.

    Raises:
        InvalidInputError: Where they have not, and for code of more than 65,535 bytes.
    """
    rows = list(samples)
    if not rows:
        return b""
    tools, timed = len(rows[0].answers), bool(rows[0].seconds)
    for sample in rows:
        if len(sample.answers) != tools or len(sample.seconds) != tools * timed:
            raise InvalidInputError(f"all samples of a batch have the same tools: {tools}, not {sample!r}")
        if len(sample.code) > MAX_CODE_BYTES:
            raise InvalidInputError(f"a block has at most {MAX_CODE_BYTES:,} bytes, not {len(sample.code):,}")
    lengths = np.array([len(sample.code) for sample in rows], dtype="<u2")
    parts = [_HEAD.pack(len(rows), tools, timed), lengths.tobytes(), *(sample.code for sample in rows)]
    for tool in range(tools):
        answers = [sample.answers[tool] for sample in rows]
        parts.append(bytes(0 if answer.failure is None else _PLACES[answer.failure] for answer in answers))
        parts += _numbers([answer.cycles for answer in answers if answer.cycles is not None])
        parts += _details([answer.detail for answer in answers])
        if timed:
            parts += _numbers([sample.seconds[tool] for sample in rows])
    return bytes([VERSION]) + zlib.compress(b"".join(parts), 6)


def unpack(packed: bytes) -> list[Sample]:
    """The samples of bytes that `pack` returned. Raises `InvalidInputError` for other bytes."""
    if not packed:
        return []
    if packed[0] != VERSION:
        raise InvalidInputError(
            f"samples of version {packed[0]} cannot be read, only those of version {VERSION}"
        )
    try:
        return _samples(_Reader(_decompress(memoryview(packed)[1:])))
    except (struct.error, zlib.error, ValueError, IndexError) as error:
        raise InvalidInputError(f"these bytes are no samples: {error}") from error


def _decompress(packed: memoryview) -> bytes:
    reader = zlib.decompressobj()
    content = reader.decompress(packed, MAX_BYTES)
    if not reader.eof:
        raise ValueError(f"cut short, or more than {MAX_BYTES >> 20} MiB")
    return content


class _Reader:
    """Reads items from a string of bytes, one after another."""

    def __init__(self, data: bytes) -> None:
        self._data = memoryview(data)
        self._at = 0

    def take(self, size: int) -> memoryview:
        if self._at + size > len(self._data):
            raise ValueError(f"{size} bytes are expected at {self._at}, of {len(self._data)}")
        self._at += size
        return self._data[self._at - size : self._at]

    def count(self) -> int:
        return int(_COUNT.unpack(self.take(_COUNT.size))[0])

    def array(self, kind: str, count: int) -> npt.NDArray[np.generic]:
        item_type = np.dtype(kind)
        return np.frombuffer(self.take(item_type.itemsize * count), dtype=item_type)

    def numbers(self, count: int) -> list[float]:
        distinct = self.array("<f8", self.count())
        positions = self.array(_width(len(distinct)), count)
        values: list[float] = distinct[positions.astype(np.int64)].tolist()
        return values

    def details(self, count: int) -> list[str]:
        distinct = json.loads(bytes(self.take(self.count())))
        if len(distinct) == 1:
            return [str(distinct[0])] * count
        return [str(distinct[place]) for place in self.array(_width(len(distinct)), count).tolist()]


def _samples(reader: _Reader) -> list[Sample]:
    count, tools, timed = _HEAD.unpack(reader.take(_HEAD.size))
    codes = [bytes(reader.take(length)) for length in reader.array("<u2", count).tolist()]
    answers: list[list[Answer]] = []
    seconds: list[list[float]] = []
    for _ in range(tools):
        places = bytes(reader.take(count))
        cycles = iter(reader.numbers(places.count(0)))
        details = reader.details(count)
        answers.append(
            [
                Answer(failure=_FAILURES[place - 1], detail=detail)
                if place
                else Answer(cycles=next(cycles), detail=detail)
                for place, detail in zip(places, details, strict=True)
            ]
        )
        if timed:
            seconds.append(reader.numbers(count))
    times = zip(*seconds, strict=True) if timed else [()] * count
    rows = zip(codes, zip(*answers, strict=True) if tools else [()] * count, times, strict=True)
    return [Sample(code, row, time) for code, row, time in rows]


def _numbers(values: Sequence[float]) -> list[bytes]:
    distinct, positions = np.unique(np.array(values, dtype="<f8"), return_inverse=True)
    return [
        _COUNT.pack(len(distinct)),
        distinct.tobytes(),
        positions.astype(_width(len(distinct))).tobytes(),
    ]


def _details(values: Sequence[str]) -> list[bytes]:
    distinct = {value: place for place, value in enumerate(dict.fromkeys(values))}
    text = json.dumps(list(distinct), ensure_ascii=False).encode("utf-8", "surrogatepass")
    positions = np.array([distinct[value] for value in values], dtype=_width(len(distinct)))
    return [_COUNT.pack(len(text)), text, positions.tobytes() if len(distinct) > 1 else b""]


def _width(distinct: int) -> str:
    """The narrowest integer type that can count `distinct` values."""
    return "u1" if distinct <= 1 << 8 else "<u2" if distinct <= 1 << 16 else "<u4"

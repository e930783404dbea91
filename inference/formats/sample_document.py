"""Sampled blocks with their answers as JSON that other programs can read.

{"isa": "x86-64",                           of all blocks; older documents have none, and mean this one
 "blocks": ["4801d8", …],
 "answers": [[1.03, "crash", …], …],       a list per tool: cycles, or the sort of failure
 "details": [{"1": "what it complained of"}, {}],   by the block's place, from 0, as text
 "seconds": [[0.004, …], …]}                a list per tool, where it is known how long they took
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from inference.core.protocols import Json
from inference.formats.errors import ExchangeError
from inference.predictors.protocol import Answer, Failure
from inference.predictors.samples import LONGEST_CODE, Sample

_FAILURES = {failure.value: failure for failure in Failure}
_DETAIL_LENGTH = 20_000


def sample_document(samples: Sequence[Sample], isa: str) -> Json:
    """The samples of one check, of an instruction set; {} for none."""
    if not samples:
        return {}
    tools = range(len(samples[0].answers))
    found: Json = {
        "isa": isa,
        "blocks": [sample.code.hex() for sample in samples],
        "answers": [[_said(sample.answers[tool]) for sample in samples] for tool in tools],
        "details": [
            {str(at): one.answers[tool].detail for at, one in enumerate(samples) if one.answers[tool].detail}
            for tool in tools
        ],
    }
    if samples[0].seconds:
        found["seconds"] = [[sample.seconds[tool] for sample in samples] for tool in tools]
    return found


def read_samples(given: Any, tools: int, where: str) -> list[Sample]:
    """Back from `sample_document`, of so many tools. Raises `ExchangeError`."""
    if given == {}:
        return []
    match given:
        case {"blocks": list(blocks), "answers": list(answers), "details": list(details)}:
            seconds = given.get("seconds")
        case _:
            raise ExchangeError(f"{where}: samples have lists of blocks, answers and details")
    codes = [_code(text, f"{where}, block {at}") for at, text in enumerate(blocks)]
    columns = [
        _column(column, complaints, len(codes), where)
        for column, complaints in zip(
            _lists(answers, tools, where), _sized(details, tools, where), strict=True
        )
    ]
    times = (
        None if seconds is None else [_times(one, len(codes), where) for one in _lists(seconds, tools, where)]
    )
    return [
        Sample(
            code,
            tuple(column[at] for column in columns),
            () if times is None else tuple(time[at] for time in times),
        )
        for at, code in enumerate(codes)
    ]


def _said(answer: Answer) -> float | str:
    return answer.failure.value if answer.cycles is None and answer.failure else float(answer.cycles or 0.0)


def _column(column: list[Any], complaints: Any, count: int, where: str) -> list[Answer]:
    if not isinstance(complaints, dict):
        raise ExchangeError(
            f"{where}: details are an object of places and texts, not {str(complaints)[:60]!r}"
        )
    found = []
    for at, said in enumerate(_sized(column, count, where)):
        detail = complaints.get(str(at), "")
        if not isinstance(detail, str) or len(detail) > _DETAIL_LENGTH:
            raise ExchangeError(f"{where}: a detail is a text of {_DETAIL_LENGTH:,} characters at most")
        if isinstance(said, str) and said in _FAILURES:
            found.append(Answer(failure=_FAILURES[said], detail=detail))
        elif _is_number(said):
            found.append(Answer(cycles=float(said), detail=detail))
        else:
            raise ExchangeError(
                f"{where}: an answer is a number from 0 on or one of {', '.join(_FAILURES)}, "
                f"not {str(said)[:60]!r}"
            )
    return found


def _times(given: list[Any], count: int, where: str) -> list[float]:
    if not all(_is_number(one) for one in _sized(given, count, where)):
        raise ExchangeError(f"{where}: seconds are numbers from 0 on")
    return [float(one) for one in given]


def _is_number(value: Any) -> bool:
    return (
        isinstance(value, (int, float))
        and not isinstance(value, bool)
        and abs(value) < 1e300
        and math.isfinite(value)
        and value >= 0
    )


def _lists(given: Any, tools: int, where: str) -> list[list[Any]]:
    if not all(isinstance(one, list) for one in _sized(given, tools, where)):
        raise ExchangeError(f"{where}: answers and seconds are lists, one for each tool")
    return list(given)


def _sized(given: Any, count: int, where: str) -> list[Any]:
    if not isinstance(given, list) or len(given) != count:
        raise ExchangeError(f"{where}: a list of {count} is expected")
    return given


def _code(text: Any, where: str) -> bytes:
    try:
        code = bytes.fromhex(text) if isinstance(text, str) else b""
    except ValueError:
        code = b""
    if not 0 < len(code) <= LONGEST_CODE:
        raise ExchangeError(f"{where}: {str(text)[:60]!r} is no machine code in hexadecimal digits")
    return code

"""Bodies that are small and cost much, by values, keys or faults: every operation refuses them cheaply."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from inference.web.api.errors import MAX_TEXT_LENGTH
from inference.web.api.site import MAX_VALUES, MAX_VALUES_BY_PATH
from inference.web.validation import MAX_FLAWS
from tests.api.test_errors import WITH_BODY, is_problem
from tests.api.test_operations import filled
from tests.drawn import fewer
from tests.rows.programs import Program

LARGEST_ANSWER = 100_000
MAX_SECONDS = 5.0
"""Seconds of computing, whoever else computes here: these bodies took 10 to 20."""
MAX_MEMORY = 100 << 20
EACH = 10 // fewer(10)
"""Every operation gets one flood of so many."""

_MIB = 1 << 20
FLOODS: dict[str, Callable[[], bytes]] = {
    "unknown keys": lambda: _object(f'"k{number}":0' for number in range(560_000)),
    "as many unknown keys as are read": lambda: _object(f'"k{n}":0' for n in range(MAX_VALUES // 2 - 10)),
    "lists": lambda: b'{"code":' + b"[" * 50 + b"[]," * 2_000_000 + b"[]" + b"]" * 50 + b"}",
    "numbers": lambda: b'{"code":[' + b"0," * 3_000_000 + b"0]}",
    "empty texts": lambda: b'{"code":[' + b'"",' * 2_000_000 + b'""]}',
    "a long key": lambda: b'{"' + b"k" * 6 * _MIB + b'":0}',
    "a long text": lambda: b'{"name":"' + b"k" * 6 * _MIB + b'"}',
    "escapes": lambda: b'{"name":"' + rb"\"" * 3 * _MIB + b'"}',
    "a repeated key": lambda: _object('"name":"x"' for _ in range(1000)),
    "more than 8 MiB": lambda: b'{"name":"' + b"k" * 9 * _MIB + b'"}',
}


def _object(fields: Any) -> bytes:
    return f"{{{','.join(fields)}}}".encode()


@pytest.mark.parametrize("flood", FLOODS)
def test_every_operation_refuses_a_flood_quickly_and_in_few_words(
    flood: str, session: Program, world: dict[str, int]
) -> None:
    assert len(WITH_BODY) > 45
    body = FLOODS[flood]()
    for method, path in WITH_BODY[list(FLOODS).index(flood) % EACH :: EACH]:
        began = time.process_time()
        response = session.raw(method, filled(path, world), body)
        answer = is_problem(response)
        assert time.process_time() - began < MAX_SECONDS, path
        assert len(response.content) <= LARGEST_ANSWER, path
        assert len(answer["problems"]) <= MAX_FLAWS, path
        texts = [answer["detail"], *(text for problem in answer["problems"] for text in problem.values())]
        assert max(map(len, texts)) <= MAX_TEXT_LENGTH, path


@pytest.mark.parametrize("flood", FLOODS)
@pytest.mark.parametrize("path", ["/decode", "/core-models", "/runs/check", "/questions"])
def test_a_flood_takes_little_memory(flood: str, path: str, session: Program) -> None:
    body = FLOODS[flood]()
    session.raw("POST", path, b"{}")
    tracemalloc.start()
    try:
        session.raw("POST", path, body)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < MAX_MEMORY, f"{peak >> 20} MiB"


def test_the_first_faults_of_many_are_told(session: Program) -> None:
    keys = {f"surprise{number}": 1 for number in range(400)}
    answer = is_problem(session.raw("POST", "/decode", {"late": 0, **keys, "code": "nop"}))
    assert [each["where"] for each in answer["problems"][:2]] == ["body late", "body surprise0"]
    assert len(answer["problems"]) == MAX_FLAWS
    assert all(each["what"] == "there is no such field" for each in answer["problems"])


def test_a_repeated_key_is_told_by_name(session: Program) -> None:
    answer = is_problem(session.raw("POST", "/decode", b'{"code": "nop", "code": "ret"}'))
    assert "the key 'code' more than once" in answer["detail"]


def test_commas_in_a_text_are_no_values(session: Program) -> None:
    listing = "add rax, rbx\n" * (MAX_VALUES // 2) + ","
    answer = session.raw("POST", "/decode", b'{"code": "%s"}' % listing.replace("\n", r"\n").encode())
    assert "values and keys" not in answer.content.decode()


def test_a_document_of_all_schemes_can_be_larger_than_other_bodies() -> None:
    assert all(most > MAX_VALUES for most in MAX_VALUES_BY_PATH.values())
    assert set(MAX_VALUES_BY_PATH) <= {f"/api/v1{path}" for _, path in WITH_BODY}

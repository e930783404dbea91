"""Every description of a run says what its fields are, down to the last one."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, get_args, get_type_hints

from pydantic import BaseModel

from inference.runs.kinds import RUN_KINDS
from inference.runs.request import RunRequest

UNTYPED = (Any, object, dict, list, tuple, set)


def all_requests() -> list[type[RunRequest]]:
    """The class of every description, of both apps."""
    for kind in RUN_KINDS.values():
        kind.job()
    waiting: list[type[RunRequest]] = [RunRequest]
    for cls in waiting:
        waiting += cls.__subclasses__()
    return sorted({cls for cls in waiting if not cls.__module__.startswith("tests.")}, key=str)


def untyped(kind: Any, path: str) -> Iterator[str]:
    """Paths of what says nothing: `Any`, `object`, and containers of anything."""
    if kind in UNTYPED:
        yield path
    elif isinstance(kind, type) and (issubclass(kind, BaseModel) or dataclasses.is_dataclass(kind)):
        names = (
            kind.model_fields if issubclass(kind, BaseModel) else [f.name for f in dataclasses.fields(kind)]
        )
        hints = get_type_hints(kind, include_extras=True)
        for name in names:
            yield from untyped(hints[name], f"{path}.{name}")
    else:
        for entry in get_args(kind):
            yield from untyped(entry, path)


def test_no_field_of_a_request_may_be_anything():
    requests = all_requests()
    assert len(requests) > 20
    assert [path for request in requests for path in untyped(request, request.__name__)] == []


class _Vague(RunRequest):
    options: dict[str, Any] = {}
    stops: list[dict] = []  # type: ignore[type-arg]
    miles: int = 1


def test_a_field_that_may_be_anything_is_found():
    assert list(untyped(_Vague, "")) == [".options", ".stops"]

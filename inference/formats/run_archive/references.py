"""Where a run's description and result name rows by their numbers.

Elsewhere these rows have other numbers: what an archive brings is renumbered, and what it does not bring
becomes `GONE`, which no row has and pages call deleted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from inference.core.protocols import Json

GONE = 0

_SETS = ("experiment_set", "evaluate", "other_sets")
_MAPPINGS = ("mapping", "mappings", "reference", "simulate")
_DROPPED = ("evaluation", "url", "place")
"""Of results: they belong to the site that the run was done on."""


@dataclass
class Numbers:
    """Numbers of rows: those that a run names, or from those there to those here."""

    sets: dict[int, int] = field(default_factory=dict)
    mappings: dict[int, int] = field(default_factory=dict)
    resource_mappings: dict[int, int] = field(default_factory=dict)
    machines: dict[int, int] = field(default_factory=dict)
    schemes: dict[int, int] = field(default_factory=dict)


def named_in(config: Json) -> Numbers:
    """All rows that a description names, each as its own new number."""
    found = Numbers()
    _walk(config, _Noting(found))
    return found


def renumbered(config: Json, numbers: Numbers) -> Json:
    """The description with the numbers that its rows have here."""
    return _walk(config, _Replacing(numbers))


def renumbered_result(result: Json, numbers: Numbers) -> Json:
    """The result with the numbers that its rows have here, without what only meant something there."""
    kept = {key: value for key, value in result.items() if key not in _DROPPED}
    return _walk(kept, _Replacing(numbers))


class _Noting:
    def __init__(self, found: Numbers) -> None:
        self._found = found

    def __call__(self, kind: str, number: int) -> int:
        getattr(self._found, kind)[number] = number
        return number


class _Replacing:
    def __init__(self, numbers: Numbers) -> None:
        self._numbers = numbers

    def __call__(self, kind: str, number: int) -> int:
        known: Mapping[int, int] = getattr(self._numbers, kind)
        return known.get(number, GONE)


def _walk(told: Json, each: _Noting | _Replacing) -> Json:
    """The same object with every number of a row replaced by what `each(kind, number)` says."""
    return {key: _one(key, value, each) for key, value in told.items()}


def _one(key: str, value: Any, each: _Noting | _Replacing) -> Any:
    if key == "source" and isinstance(value, dict):
        return _walk(value, each)
    kind = _kind(key)
    if kind is None:
        return value
    if isinstance(value, list):
        numbers = [each(kind, one) for one in value if type(one) is int]
        return [number for number in numbers if number != GONE] or numbers[:1]
    # Results count their schemes under the name by which descriptions list them.
    return each(kind, value) if type(value) is int and kind != "schemes" else value


def _kind(key: str) -> str | None:
    if key in _SETS or key == "datasets":
        return "sets"
    if key in _MAPPINGS:
        return "mappings"
    if key in ("resource_mapping", "resource_mappings"):
        return "resource_mappings"
    return {"machine": "machines", "schemes": "schemes"}.get(key)

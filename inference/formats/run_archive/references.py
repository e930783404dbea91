"""Where a run's description and result name rows by their numbers.

Elsewhere these rows have other numbers: what an archive brings is renumbered, and what it does not bring
becomes `GONE`, which no row has and pages call deleted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from inference.core.protocols import Json

GONE = 0

_KINDS = {
    **dict.fromkeys(("experiment_set", "evaluate", "other_sets", "datasets"), "sets"),
    **dict.fromkeys(("mapping", "mappings", "reference", "simulate"), "mappings"),
    **dict.fromkeys(("resource_mapping", "resource_mappings"), "resource_mappings"),
    "machine": "machines",
    "schemes": "schemes",
}
"""What the numbers of a field are of."""
_DROPPED = ("evaluation", "url", "place")
"""Of results: they belong to the site that the run was done on."""

Renumber = Callable[[str, int], int]
"""From a kind of rows and a number to another number."""


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
    named = Numbers()

    def note(kind: str, number: int) -> int:
        getattr(named, kind)[number] = number
        return number

    _walk(config, note)
    return named


def renumbered(config: Json, numbers: Numbers) -> Json:
    """The description with the numbers that its rows have here."""
    return _walk(config, lambda kind, number: getattr(numbers, kind).get(number, GONE))


def renumbered_result(result: Json, numbers: Numbers) -> Json:
    """The result with the numbers that its rows have here, without what only meant something there."""
    return renumbered({key: value for key, value in result.items() if key not in _DROPPED}, numbers)


def _walk(described: Json, renumber: Renumber) -> Json:
    return {key: _value(key, value, renumber) for key, value in described.items()}


def _value(key: str, value: Any, renumber: Renumber) -> Any:
    if key == "source" and isinstance(value, dict):
        return _walk(value, renumber)
    kind = _KINDS.get(key)
    if kind is None:
        return value
    if isinstance(value, list):
        numbers = [renumber(kind, number) for number in value if type(number) is int]
        return [number for number in numbers if number != GONE] or numbers[:1]
    # Results count their schemes under the name by which descriptions list them.
    return renumber(kind, value) if type(value) is int and kind != "schemes" else value

"""What depends on rows, and what becomes of it when they are deleted; features register it by model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Dependent:
    """Rows that depend on something: what and how many, their fate, and whether they forbid its deletion."""

    label: str
    fate: str
    blocks: bool = False


_REGISTERED: dict[str, Callable[[Any], list[Dependent]]] = {}


def register(dependents: Mapping[str, Callable[[Any], list[Dependent]]]) -> None:
    """Say what depends on the rows of models, which are named as Django does: "app.Model"."""
    _REGISTERED.update(dependents)


def registered_for(model: str) -> Callable[[Any], list[Dependent]] | None:
    """What tells the dependents of a row of this model; None for models that no feature has registered."""
    return _REGISTERED.get(model)

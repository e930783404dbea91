"""What the descriptions of runs over a basic-block set have in common."""

from __future__ import annotations

from collections.abc import Collection

from anica_app.models import BasicBlockSet
from inference.core.protocols import Json
from inference.runs.errors import ConfigError


def refuse_unknown(config: Json, known: Collection[str], what: str) -> None:
    """Raise `ConfigError` for a field that there is not."""
    if unknown := sorted(config.keys() - set(known)):
        raise ConfigError(f"{what} has no field {unknown[0]!r}; its fields are {', '.join(known)}")


def read_set(given: object) -> BasicBlockSet:
    """The set with this id. Raises `ConfigError`."""
    row = BasicBlockSet.objects.filter(pk=given).first() if type(given) is int else None
    if row is None:
        raise ConfigError(f"block_set: there is no basic-block set with the id {given!r:.80}")
    return row

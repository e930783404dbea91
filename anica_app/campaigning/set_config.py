"""What the descriptions of runs over a basic-block set have in common."""

from __future__ import annotations

from collections.abc import Collection

from anica_app.models import BasicBlockSet
from inference.core.protocols import Json
from inference.runs.described_rows import read_row
from inference.runs.errors import ConfigError


def refuse_unknown(config: Json, known: Collection[str], what: str) -> None:
    """Raise `ConfigError` for a field that there is not."""
    if unknown := sorted(config.keys() - set(known)):
        raise ConfigError(f"{what} has no field {unknown[0]!r}; its fields are {', '.join(known)}")


def read_set(given: object) -> BasicBlockSet:
    """The set with this id. Raises `ConfigError`."""
    return read_row(BasicBlockSet, "block_set", given, "basic-block set")

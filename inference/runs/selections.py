"""Which schemes a run is about: a selection by word, or a list."""

from __future__ import annotations

from inference.core.errors import as_written
from inference.models.scheme_search import GROUP_SELECTIONS, PROBE_SELECTION
from inference.runs.described_rows import is_id
from inference.runs.errors import ConfigError

SELECTIONS = ("all", "default", "starter", PROBE_SELECTION, *GROUP_SELECTIONS)
"""Scheme selections by word: all that the source knows, the default inference set, the starter set, a probe
or two for each kind of execution unit, groups that are measured only when asked for."""


def read_schemes(given: object) -> str | list[int]:
    """A selection by word, or row ids. Raises `ConfigError`."""
    if isinstance(given, str) and given in SELECTIONS:
        return given
    if isinstance(given, list) and given and all(is_id(one) for one in given):
        return given
    raise ConfigError(
        f"schemes must be {', '.join(SELECTIONS)} or a list of scheme ids, not {as_written(given)}"
    )

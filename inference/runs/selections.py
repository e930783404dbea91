"""Which schemes a run is about: a selection by word, or a list."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from inference.models.scheme_search import GROUP_SELECTIONS, PROBE_SELECTION
from inference.runs.request import OneOf, RowId

SELECTIONS = ("all", "default", "starter", PROBE_SELECTION, *GROUP_SELECTIONS)
"""Scheme selections by word: all that the source knows, the default inference set, the starter set, a probe
or two for each kind of execution unit, groups that are measured only when asked for."""

Schemes = Annotated[str, OneOf(SELECTIONS)] | Annotated[list[RowId], Field(min_length=1)]
"""A selection by word, or ids of schemes."""

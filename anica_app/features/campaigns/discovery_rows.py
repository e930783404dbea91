"""Discoveries of a campaign as rows of tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from anica_app.core.domain.wording import Words
from anica_app.features.discoveries.saying import words_of
from anica_app.models import Discovery


@dataclass(frozen=True)
class DiscoveryRow:
    """A discovery of a table, in words where ours suffice; `covered`: of the blocks looked at, if any."""

    row: Discovery
    words: Words | None
    covered: int | None


def found_of(row: Discovery, covered: Mapping[int, int] | None) -> DiscoveryRow:
    """A row of the table; `covered`: blocks by id of the discovery."""
    return DiscoveryRow(row, words_of(row.abstract), None if covered is None else covered.get(row.pk, 0))

"""What descriptions of several kinds of runs of AnICA have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from anica_app.core.domain.settings import DomainSettings, SpaceSettings
from anica_app.core.search.judging import InterestSettings
from anica_app.core.search.settings import SearchSettings
from anica_app.models import Campaign
from inference.core.protocols import Json
from inference.runs.described_rows import read_row
from inference.runs.errors import ConfigError

Interest = Annotated[
    Json,
    Field(
        description="metric: relative (by the mean of both) or absolute (in cycles); threshold: they "
        "disagree where they differ by more.",
        examples=[{"metric": "relative", "threshold": 0.5}],
    ),
]
"""When two answers disagree: fields of `InterestSettings`."""


MOST_FRESH = 100_000


DEFAULT_FRESH = 2000


GROUPS: Mapping[str, Any] = {
    "interest": InterestSettings,
    "search": SearchSettings,
    "domain": DomainSettings,
    "space": SpaceSettings,
}
"""Settings by what they are about; all their names differ."""


def read_against(given: int, tools: int) -> int:
    """The id of an earlier campaign over as many predictors. Raises `ConfigError`."""
    row = read_row(Campaign, "against", given)
    seats = row.seats.count()
    if seats != tools:
        raise ConfigError(f"against: {row.name} is over {seats} predictors, this one over {tools}")
    return row.pk

"""Parts of run descriptions that several kinds of AnICA's runs share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Annotated, Any

from pydantic import Field, model_validator

from anica_app.core.domain.settings import DomainSettings, SpaceSettings
from anica_app.core.search.interestingness import InterestSettings
from anica_app.core.search.settings import SearchSettings
from anica_app.models import Campaign
from inference.core.errors import as_written
from inference.runs.errors import ConfigError
from inference.runs.request import RunRequest, read_row, settings_of

FreshBlocks = Annotated[int, Field(ge=0, le=100_000)]
"""Number of random blocks on which coverage is computed."""


DEFAULT_FRESH = 2000  # random blocks for the coverage of discoveries, unless asked for others


GROUPS: Mapping[str, Any] = {
    "interest": InterestSettings,
    "search": SearchSettings,
    "domain": DomainSettings,
    "space": SpaceSettings,
}
"""Settings by group; their names are unique over all groups."""


Interest = Annotated[
    InterestSettings,
    settings_of(InterestSettings),
    Field(
        description="metric: relative (by the mean of both) or absolute (in cycles); threshold: "
        "larger differences are disagreements.",
        examples=[{"metric": "relative", "threshold": 0.5}],
    ),
]
"""When two answers disagree."""

Space = Annotated[SpaceSettings, settings_of(SpaceSettings)]


class SearchRequest(RunRequest):
    """The common part of descriptions of searches.

    A description may also have `settings`, from all groups by name; a group's own field overrides them.
    """

    interest: Interest = InterestSettings()
    search: Annotated[SearchSettings, settings_of(SearchSettings)] = SearchSettings()
    domain: Annotated[DomainSettings, settings_of(DomainSettings)] = DomainSettings()
    space: Space = SpaceSettings()

    @classmethod
    def purpose(cls, described: Mapping[str, Any]) -> Mapping[str, Any]:
        del described
        return {}

    @model_validator(mode="before")
    @classmethod
    def _sort_settings(cls, described: Any) -> Any:
        if not isinstance(described, Mapping):
            return described
        settings = described.get("settings", {})
        if not isinstance(settings, Mapping):
            raise ValueError(f"settings must be an object of names and values, not {as_written(settings)}")
        owners = {entry.name: group for group, kind in GROUPS.items() for entry in fields(kind)}
        if unknown := sorted(settings.keys() - owners.keys()):
            raise ValueError(f"there is no setting {unknown[0]!r}; there are {', '.join(sorted(owners))}")
        sorted_settings: dict[str, Any] = {group: {} for group in GROUPS}
        for name, value in {**cls.purpose(described), **settings}.items():
            sorted_settings[owners[name]][name] = value
        for group in GROUPS.keys() & described.keys():
            group_fields = described[group]
            sorted_settings[group] = (
                {**sorted_settings[group], **group_fields}
                if isinstance(group_fields, Mapping)
                else group_fields
            )
        return {name: value for name, value in described.items() if name != "settings"} | sorted_settings


def read_against(campaign_id: int, tools: int) -> int:
    """The id of an earlier campaign over the same number of predictors. Raises `ConfigError`."""
    row = read_row(Campaign, "against", campaign_id)
    seats = row.seats.count()
    if seats != tools:
        raise ConfigError(f"against: {row.name} is over {seats} predictors, this one over {tools}")
    return row.pk

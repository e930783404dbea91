"""Campaigns side by side: differences in configuration, and the discoveries that they share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from anica_app.features.campaigns.query import campaigns
from anica_app.features.coverage.query import CoverageRuns, coverage_runs
from anica_app.models import Campaign, Discovery
from inference.core.protocols import Json

Line = tuple[str, list[str]]
"""A setting, and its value in each campaign."""


@dataclass(frozen=True)
class Side:
    """A campaign in a comparison. `alone`: its discoveries that no other campaign covers; None before they
    are computed.
    """

    campaign: Campaign
    discoveries: int
    alone: int | None
    covered: int | None


@dataclass(frozen=True)
class InclusionPair:
    """How many of a campaign's `of` discoveries some discovery of another campaign covers."""

    shared: int | None
    of: int

    @property
    def share(self) -> float | None:
        return None if self.shared is None or not self.of else self.shared / self.of

    @property
    def shade(self) -> int:
        """From 0 to 8, for the background of the cell."""
        return round(8 * (self.share or 0.0))


class ComparedCampaigns:
    """Campaigns with the result of the newest coverage run over exactly these."""

    def __init__(self, rows: Sequence[Campaign]) -> None:
        """`rows` are of `campaigns`, without duplicates."""
        self.rows = list(rows)
        self.runs: CoverageRuns = coverage_runs([row.pk for row in rows])
        self.result: Json = self.runs.result

    @cached_property
    def _owner(self) -> dict[int, int]:
        pks = self.result.get("discoveries", [])
        return dict(Discovery.objects.filter(pk__in=pks).values_list("pk", "campaign_id"))

    @cached_property
    def _overlap(self) -> dict[int, set[int | None]]:
        """{discovery: the campaigns that cover it}, without those that none covers."""
        overlap = self.result.get("overlap", {})
        return {int(pk): {self._owner.get(other) for other in including} for pk, including in overlap.items()}

    @property
    def sides(self) -> list[Side]:
        return [self._side(row) for row in self.rows]

    def _side(self, row: Campaign) -> Side:
        if not self.result:
            return Side(row, row.discovery_count, None, None)  # type: ignore[attr-defined]
        row_pks = self._own(row)
        alone = sum(not self._overlap.get(pk) for pk in row_pks)
        return Side(row, len(row_pks), alone, self.result["by_campaign"].get(str(row.pk), 0))

    def _own(self, row: Campaign) -> list[int]:
        return [pk for pk, campaign in self._owner.items() if campaign == row.pk]

    @property
    def pairs(self) -> list[tuple[Campaign, list[InclusionPair | None]]]:
        """Each campaign with its pairs: how many of its discoveries each other one covers; None for
        itself.
        """
        return [(row, [self._pair(row, other) for other in self.rows]) for row in self.rows]

    def _pair(self, row: Campaign, other: Campaign) -> InclusionPair | None:
        if row.pk == other.pk:
            return None
        row_pks = self._own(row)
        shared = sum(other.pk in self._overlap.get(pk, ()) for pk in row_pks) if self.result else None
        return InclusionPair(shared, len(row_pks))

    @property
    def alone(self) -> list[int]:
        pks = self.result.get("discoveries", [])
        return [pk for pk in pks if pk in self._owner and not self._overlap.get(pk)]

    @property
    def covered(self) -> dict[int, int]:
        """{discovery: number of blocks that it covers}."""
        return {int(pk): count for pk, count in self.result.get("by_discovery", {}).items()}


def compared_campaigns(ids: Sequence[int]) -> ComparedCampaigns:
    """The campaigns with these ids, ordered by id; unknown ids are ignored."""
    return ComparedCampaigns(list(campaigns().defer(None).filter(pk__in=ids).order_by("pk")))


def differing(descriptions: Sequence[Mapping[str, str]], unknown: str) -> tuple[list[Line], list[Line]]:
    """The settings that differ: those that all have, and those that some lack, whose value there is
    `unknown`.
    """
    names = dict.fromkeys(name for facts in descriptions for name in facts)
    lines = [(name, [facts.get(name, unknown) for facts in descriptions]) for name in names]
    differences = [(name, values) for name, values in lines if len(set(values)) > 1]
    shared = [line for line in differences if unknown not in line[1]]
    return shared, [line for line in differences if line not in shared]


def flatten(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """The values of nested objects, with the path of keys joined by dots."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from flatten(inner, f"{name}.{key}" if name else str(key))
    else:
        yield name, value

"""Families of a campaign: the answer in one sentence, the table, and what has changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Count, QuerySet

from anica_app.features.families.events import FamiliesGrown, GrowingFamily
from anica_app.figures.rounds_chart import TreemapCell, treemap
from anica_app.models import Campaign, Family
from inference.core.protocols import Json
from inference.core.texts import count_of
from inference.models import Run

KIND = "families"
"""The event by which a campaign tells its families so far."""


@dataclass(frozen=True)
class FamilyAnswer:
    """What a campaign comes to. `summary` is as its facts have it, see `storing.summary_of`."""

    sentence: str
    summary: Json
    families: Sequence[Family]

    @property
    def against(self) -> Json | None:
        """What it was held against: the campaign, families that are gone or were not seen again."""
        found: Json | None = self.summary["against"]
        return found

    @property
    def judge(self) -> Json | None:
        """Who is right, by class of instructions."""
        found: Json | None = self.summary["judge"]
        return found

    @property
    def statuses(self) -> Mapping[str, int]:
        """How many are new, may be new (`unsure`), or were there before."""
        return Counter(row.status for row in self.families)

    @property
    def rate(self) -> float | None:
        """Share of the judged blocks about which the tools disagree."""
        judged = self.summary["judged"]
        return self.summary["disagreements"] / judged if judged else None

    @property
    def explained(self) -> float | None:
        """Share of the disagreements that any family explains."""
        return share_of(self.summary, "explained")


@dataclass(frozen=True)
class FamilyCell:
    """A part of the picture: a family, or what none explains (`row` is None).

    `share`: of the disagreements, what it explains and no larger family does.
    """

    row: Family | None
    share: float
    box: TreemapCell

    @property
    def labelled(self) -> bool:
        """Whether it has room for words."""
        return self.box.width > _LEAST_WIDTH and self.box.height > _LEAST_HEIGHT


_LEAST_WIDTH, _LEAST_HEIGHT = 7.0, 11.0


def treemap_of(answer: FamilyAnswer) -> list[FamilyCell]:
    """The disagreements among the families, each in one: that of the largest that explains it."""
    total = answer.summary["disagreements"]
    if not total or not answer.families:
        return []
    rows: list[Family | None] = [*answer.families, None]
    sizes = [float(row.own) for row in answer.families]
    sizes.append(float(total - answer.summary["explained"]))
    return [FamilyCell(rows[box.place], sizes[box.place] / total, box) for box in treemap(sizes)]


def share_of(summary: Json, name: str) -> float | None:
    """`explained` or `by_ten` as a share of the disagreements."""
    disagreements = summary["disagreements"]
    return summary[name] / disagreements if disagreements else None


def families_in_order(campaign: Campaign) -> QuerySet[Family]:
    """Those of a campaign, the one that explains most first; `size`: how many discoveries each has."""
    return campaign.families.annotate(size=Count("discoveries")).prefetch_related("discoveries")


def answer_of(campaign: Campaign) -> FamilyAnswer | None:
    """The answer of a campaign; None before its discoveries are grouped (two queries)."""
    summary = campaign.facts.get("families")
    if not summary:
        return None
    rows = list(families_in_order(campaign))
    return FamilyAnswer(_sentence(campaign, summary, rows), summary, rows)


def in_one_sentence(campaign: Campaign) -> str:
    """`LLVM 22 and OSACA 0.7 differ on 13.7 % of random blocks; 6 families explain 84 % of that; …`."""
    found = answer_of(campaign)
    return "" if found is None else found.sentence


def _sentence(campaign: Campaign, summary: Json, rows: Sequence[Family]) -> str:
    tools = [tool.name for tool in campaign.tools]
    who, families = " and ".join(tools), count_of(len(rows), "family", "families")
    verb = "differ on" if len(tools) > 1 else "fails on"
    blocks = "random blocks" if summary["fresh"] else "the random blocks it began with"
    if not summary["judged"]:
        return f"{who}: {families}, not weighed by random blocks."
    rate = summary["disagreements"] / summary["judged"]
    if not rows or not summary["disagreements"]:
        return f"{who} {verb} {_percent(rate)} of {blocks}."
    share = share_of(summary, "explained") or 0.0
    explain = "explains" if len(rows) == 1 else "explain"
    return (
        f"{who} {verb} {_percent(rate)} of {blocks}; {families} {explain} {_percent(share, 0)} of "
        f"that; the largest: {rows[0].name}{_who_is_slower(rows[0], tools)}."
    )


def _who_is_slower(row: Family, tools: Sequence[str]) -> str:
    if not 0 < row.slower <= len(tools):
        return ""
    return f", slower in {tools[row.slower - 1]}"


def _percent(share: float, places: int = 1) -> str:
    return f"{100 * share:.{places}f}\N{NO-BREAK SPACE}%"


def growing_families(run: Run) -> Sequence[GrowingFamily]:
    """The families so far, as a campaign that goes on told them last (one query)."""
    event = run.events.filter(kind=FamiliesGrown.kind).order_by("-seq").first()
    return [] if event is None else FamiliesGrown.read(event.payload).families


def grouping_runs(campaign: Campaign) -> tuple[Run | None, Run | None]:
    """The run that is grouping a campaign's discoveries now, and the newest that failed (one query each)."""
    rows = Run.objects.filter(kind=KIND, config__campaign=campaign.pk).order_by("-pk")
    newest = rows.first()
    if newest is None:
        return None, None
    if newest.state not in Run.FINAL:
        return newest, None
    return None, newest if newest.state == Run.State.FAILED else None


def cycles_of(row: Family) -> str:
    """The cycles of both tools for its witnesses: `1.00 | 8.00 cycles`, ranges where they differ."""
    return f"{' | '.join(map(range_of, row.predictions))} cycles"


def range_of(ends: tuple[float | None, float | None]) -> str:
    """`1.00`, `1.00–8.00`, or a dash where there is no number."""
    low, high = ends
    if low is None or high is None:
        return "–"
    return f"{low:.2f}" if high - low < 0.005 else f"{low:.2f}–{high:.2f}"

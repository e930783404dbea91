"""The families of a campaign as a table of its published page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from anica_app.features.families.query import FamilyAnswer, answer_of, cycles_of
from anica_app.models import Campaign, Family
from inference.isa.blocks import intel_or_digits
from inference.web.published_page import CellKind, PublishedColumn, PublishedFact, PublishedTable, Value


class PublishedFamilies:
    """What is published of a campaign's families: nothing where they have not been looked for."""

    def __init__(self, campaign: Campaign, tools: Sequence[str]) -> None:
        self._answer: FamilyAnswer | None = answer_of(campaign)
        self._tools = tools

    @property
    def facts(self) -> list[PublishedFact]:
        """How many there are, and how much they explain."""
        if self._answer is None:
            return []
        share = self._answer.explained
        told = "" if share is None else f"explain {100 * share:.0f} % of the disagreements"
        return [PublishedFact("families", f"{len(self._answer.families):,}", told)]

    @property
    def tables(self) -> list[PublishedTable]:
        """Families, the one that explains most first, under the sentence that the campaign comes to."""
        if self._answer is None or not self._answer.families:
            return []
        columns = (
            PublishedColumn("Number", CellKind.NUMBER, decimals=0),
            PublishedColumn("Family"),
            PublishedColumn("For example", CellKind.CODE),
            PublishedColumn("Cycles"),
            PublishedColumn("Bound that differs", CellKind.CHOICE),
            PublishedColumn("Slower"),
            PublishedColumn("Share in %", CellKind.NUMBER, decimals=1),
            PublishedColumn("Mark", CellKind.CHOICE),
            PublishedColumn("Discoveries"),
        )
        rows = tuple(map(self._row, self._answer.families))
        return [PublishedTable("families", "Families", columns, rows, self._answer.sentence)]

    def names(self) -> Mapping[int, str]:
        """{number of a discovery: its family}."""
        families = () if self._answer is None else self._answer.families
        return {one.number: row.name for row in families for one in row.discoveries.all()}

    def _row(self, row: Family) -> tuple[Value, ...]:
        return (
            row.number,
            row.name,
            "; ".join(intel_or_digits(bytes(row.code))),
            cycles_of(row),
            row.bound,
            self._tools[row.slower - 1] if 0 < row.slower <= len(self._tools) else "",
            None if row.share is None else 100 * row.share,
            row.get_mark_display() if row.mark else "",
            ", ".join(str(one.number) for one in row.discoveries.all()),
        )

"""The discoveries of a campaign as a table."""

from __future__ import annotations

import json
from collections.abc import Iterator

from anica_app.models import Campaign, Discovery
from anica_app.queries.campaign_coverage import measure_of
from anica_app.queries.saying import words_of
from inference.formats.csv_cells import written
from inference.formats.provenance import head_of

HEADS = (
    *("number", "label", "kind", "words", "instructions", "interestingness", "generality", "covered_blocks"),
    *("included_by", "mark", "note", "block", "abstract"),
)


def discoveries_csv(campaign: Campaign) -> str:
    """All discoveries as CSV below where they come from, with what each includes where that is known."""
    return written(HEADS, _lines(campaign), head_of(campaign=campaign.name))


def _lines(campaign: Campaign) -> Iterator[list[object]]:
    measure = measure_of(campaign)
    numbers = dict(campaign.discoveries.values_list("pk", "number"))
    for row in campaign.discoveries.defer("foreign", "facts", "remarks").order_by("number"):
        yield [
            *(row.number, row.label, row.kind, in_one_line(row), row.length),
            *(row.interestingness, row.generality),
            None if measure is None else measure.by_discovery.get(row.pk, 0),
            numbers.get(row.subsumed_by_id or 0),
            *(row.mark, row.note, bytes(row.code).hex()),
            None if row.abstract is None else json.dumps(row.abstract, ensure_ascii=False),
        ]


def in_one_line(row: Discovery) -> str:
    """An abstract block in words; "" where ours do not suffice."""
    said = words_of(row.abstract)
    if said is None:
        return ""
    instructions = [", ".join(phrases) for phrases in said.instructions]
    return "; ".join([" | ".join(instructions), *said.aliasing]).replace("`", "")

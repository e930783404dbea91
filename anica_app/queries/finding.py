"""What the search box finds of AnICA: campaigns and sets of basic blocks."""

from __future__ import annotations

from anica_app.models import BasicBlockSet, Campaign
from inference.features.search.query import Found, Hit, group, with_words


def found_of_anica(text: str, most: int) -> list[Found]:
    """Campaigns and block sets by name and note."""
    return [
        group(
            Found("campaigns", "Campaigns", (), 0, "campaigns"),
            with_words(Campaign.objects.only("name", "note", "kind"), text),
            most,
            lambda row: Hit(row.pk, row.name, row.get_kind_display(), "campaign"),
        ),
        group(
            Found("block-sets", "Basic-block sets", (), 0, "block-sets"),
            with_words(BasicBlockSet.objects.defer("report"), text),
            most,
            lambda row: Hit(row.pk, row.name, f"{row.size:,} blocks", "block-set"),
        ),
    ]

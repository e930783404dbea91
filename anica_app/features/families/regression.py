"""What a campaign says to another one, as verdicts for continuous integration."""

from __future__ import annotations

from anica_app.models import Campaign, Family
from inference.formats.junit import TestCase
from inference.isa.blocks import intel_of_bytes


def regression_cases(campaign: Campaign) -> list[TestCase]:
    """A case for each family, which fails where it is or may be new; one for each that is gone or unseen."""
    against = campaign.facts["families"]["against"] or {"gone": [], "unseen": []}
    return [
        *map(_case, campaign.families.all()),
        *(TestCase(one["name"], "gone: the tools agree about its witness now") for one in against["gone"]),
        *(
            TestCase(one["name"], "", skipped="not found again, though its witness may still show it")
            for one in against["unseen"]
        ),
    ]


def _case(row: Family) -> TestCase:
    block = "; ".join(intel_of_bytes(bytes(row.code)))
    share = "" if row.share is None else f"; {100 * row.share:.1f} % of the disagreements"
    text = f"{block}: {row.predictions} cycles; bound that differs: {row.bound}{share}"
    if row.status == Family.Status.NEW:
        return TestCase(row.name, text, failure=f"a new family: {block}")
    if row.status == Family.Status.UNSURE:
        return TestCase(row.name, text, failure=f"not known then, perhaps new: {block}")
    known = f"; {row.get_mark_display()}" if row.mark else ""
    return TestCase(row.name, f"still there{known}: {text}")

"""Families in the shell: what it prints, and campaigns as a check between releases."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from anica_app.features.families.query import in_one_sentence
from anica_app.features.families.regression import regression_cases
from anica_app.formats.junit import write_junit
from anica_app.models import Campaign, Family
from inference.core.protocols import Json
from inference.isa.x86.blocks.listing import intel_of_bytes
from inference.web.data_command import write_file

NEW = 2
"""Exit status where a family is new, or nobody can tell; everything else that goes wrong is 1."""


def add_against_options(parser: ArgumentParser) -> None:
    """Declare them."""
    parser.add_argument(
        "--against",
        metavar="CAMPAIGN",
        default="",
        help="hold the families against those of this campaign: exit with 2 where there is a new one, with 1 "
        "for errors",
    )
    parser.add_argument(
        "--junit", metavar="FILE", default="", help="with --against: write the verdicts as JUnit XML, too"
    )


def check_against_options(options: Mapping[str, Any]) -> None:
    """Raise `CommandError` where some of them are of no use together."""
    if options["junit"] and not options["against"]:
        raise CommandError("--junit needs --against with the campaign that families are held against")
    if options["block"] and (options["against"] or options["judge"]):
        raise CommandError(
            "--block generalises one block: there are no families to be held against or judged"
        )


def hold_against(result: Json, junit: str) -> None:
    """Write the verdicts where they are wanted.

    Raises `CommandError` with `NEW` where a family is new, or nobody can tell.
    """
    campaign = Campaign.objects.get(pk=result["campaign"])
    if junit:
        cases = regression_cases(campaign)
        text = write_junit(f"{campaign.name} against {result['against']}", campaign.name, cases)
        write_file(Path(junit), text.encode())
    told = [
        f"{what}: {'; '.join(result[key])}"
        for key, what in (("new", "new"), ("unsure", "not known then"))
        if result[key]
    ]
    if told:
        raise CommandError(f"families against {result['against']!r}: {', '.join(told)}", returncode=NEW)


def family_lines(result: Json) -> Iterator[str]:
    """What the shell prints of a result: the sentence, the families, and what has changed."""
    if not result.get("families"):
        return
    campaign = Campaign.objects.get(pk=result["campaign"])
    yield f"  {in_one_sentence(campaign)}"
    for row in campaign.families.all():
        share = "     –" if row.share is None else f"{100 * row.share:5.1f} %"
        news = f"  [{row.get_status_display()}]" if row.is_news else ""
        marked = f"  ({row.get_mark_display()})" if row.mark else ""
        yield f"  {share}  {row.name}{news}{marked}"
        yield f"           {'; '.join(intel_of_bytes(bytes(row.code)))}   {cycles_of(row)}"
    if result["against"]:
        yield (
            f"  against {result['against']!r}: {len(result['new'])} new, {len(result['unsure'])} not known "
            f"then, {len(result['there'])} still there, {len(result['gone'])} gone"
        )
    for name in result["gone"]:
        yield f"    gone: {name}"
    yield from _league_lines(campaign)


def _league_lines(campaign: Campaign) -> Iterator[str]:
    judge = campaign.facts["families"]["judge"]
    if not judge or not judge["league"]:
        return
    names = [seat.predictor.name for seat in campaign.seats.select_related("predictor")]
    yield f"  {judge['name']} as the judge, of {judge['answered']:,} blocks:"
    for row in judge["league"]:
        right = ", ".join(f"{name} {count}" for name, count in zip(names, row["right"], strict=True))
        count = f"{row['disputed']} disputed; right: {right}, neither {row['neither']}"
        yield f"    {row['class'] or 'all'}: {count}"


def cycles_of(row: Family) -> str:
    """The cycles of both tools for its witnesses: `1.00 | 8.00 cycles`, ranges where they differ."""
    return f"{' | '.join(map(range_of, row.predictions))} cycles"


def range_of(ends: Any) -> str:
    """`1.00`, `1.00–8.00`, or a dash where there is no number."""
    low, high = ends
    if low is None:
        return "–"
    return f"{low:.2f}" if high - low < 0.005 else f"{low:.2f}–{high:.2f}"

"""Families in the shell: their output, and campaigns as a check between releases, with JUnit results."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from pydantic import ValidationError

from anica_app.features.families.query import campaign_sentence, cycles_of, families_in_order
from anica_app.models import Campaign, Family
from anica_app.storage.findings import condition_of_family
from anica_app.web.judgement import Judgement
from inference.core.protocols import Json
from inference.formats.junit import TestCase, write_junit
from inference.isa.blocks import intel_of_bytes
from inference.storage.instruction_sets import code_isa
from inference.web.data_command import write_file
from inference.web.validation import error_message, expected_value

NEW = 2
"""Exit status where a family is new or may be new; other errors exit with 1."""


def add_against_options(parser: ArgumentParser) -> None:
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
    """Raise `CommandError` for options that exclude each other."""
    if options["junit"] and not options["against"]:
        raise CommandError("--junit needs --against with the campaign that families are held against")
    if options["block"] and (options["against"] or options["judge"]):
        raise CommandError(
            "--block generalises one block: there are no families to be held against or judged"
        )


def check_against(result: Json, junit: str) -> None:
    """Write JUnit results if requested.

    Raises:
        CommandError: A family is new or may be new; the exit status is `NEW`.
    """
    campaign = Campaign.objects.get(pk=result["campaign"])
    if junit:
        cases = regression_cases(campaign)
        text = write_junit(f"{campaign.name} against {result['against']}", campaign.name, cases)
        write_file(Path(junit), text.encode())
    changes = [
        f"{words}: {'; '.join(result[key])}"
        for key, words in (("new", "new"), ("unsure", "not known then"))
        if result[key]
    ]
    if changes:
        raise CommandError(f"families against {result['against']!r}: {', '.join(changes)}", returncode=NEW)


def family_lines(result: Json) -> Iterator[str]:
    """The output for a run's result: sentence, families, and changes since the earlier campaign."""
    if not result.get("families"):
        return
    campaign = Campaign.objects.get(pk=result["campaign"])
    yield from stored_lines(campaign)
    if result["against"]:
        yield (
            f"  against {result['against']!r}: {len(result['new'])} new, {len(result['unsure'])} not known "
            f"then, {len(result['there'])} still there, {len(result['gone'])} gone"
        )
    for name in result["gone"]:
        yield f"    gone: {name}"


def stored_lines(campaign: Campaign) -> Iterator[str]:
    """The sentence, the families with their numbers, and the judge's results, if any."""
    yield f"  {campaign_sentence(campaign) or 'no families yet: they are looked for without --list'}"
    for row in families_in_order(campaign):
        share = "     –" if row.share is None else f"{100 * row.share:5.1f} %"
        news = f"  [{row.get_status_display()}]" if row.is_news else ""
        marked = f"  ({row.get_mark_display()})" if row.mark else ""
        yield f"  {row.number:2}. {share}  {row.name}{news}{marked}"
        condition = condition_of_family(row)
        where = f", {condition}" if condition else ""
        block = "; ".join(intel_of_bytes(bytes(row.code), code_isa(campaign.isa)))
        yield f"               {block}   {cycles_of(row)}{where}"
    yield from _league_lines(campaign)


def _league_lines(campaign: Campaign) -> Iterator[str]:
    judge = campaign.facts.get("families", {}).get("judge")
    if not judge or not judge["league"]:
        return
    names = [tool.name for tool in campaign.tools]
    yield f"  {judge['name']} as the judge, of {judge['answered']:,} blocks:"
    for row in judge["league"]:
        right = ", ".join(f"{name} {count}" for name, count in zip(names, row["right"], strict=True))
        errors = ", ".join("–" if error is None else f"{100 * error:.0f} %" for error in row["errors"])
        count = f"{row['disputed']} disputed; right: {right}, neither {row['neither']}; errors {errors}"
        yield f"    {row['class'] or 'all'}: {count}"


def numbered_family(campaign: Campaign, number: int) -> Family:
    """The family with this number. Raises `CommandError` where there is none."""
    row = campaign.families.filter(number=number).select_related("campaign").first()
    if row is None:
        raise CommandError(f"{campaign.name!r} has no family {number}: --list shows their numbers")
    return row


def mark_family(campaign: Campaign, text: str, note: str | None) -> None:
    """Apply `--mark N=MARK` and `--note`. Raises `CommandError`."""
    number, equals, mark = text.partition("=")
    if not equals or not number.strip().isdecimal():
        raise CommandError(f"--mark takes N=MARK, such as 0=reported, not {text!r}")
    try:
        judgement = Judgement.model_validate({"mark": mark.strip(), "note": note})
    except ValidationError as error:
        first = error.errors()[0]
        right = expected_value(first)
        raise CommandError(f"--{first['loc'][0]}: {error_message(first)}; right would be {right}") from error
    judgement.store(numbered_family(campaign, int(number)))


def regression_cases(campaign: Campaign) -> list[TestCase]:
    """A test case for each family, failing where it is or may be new, and for each that is gone or unseen."""
    against = campaign.facts["families"]["against"] or {"gone": [], "unseen": []}
    return [
        *map(_case, campaign.families.all()),
        *(TestCase(row["name"], "gone: the tools agree about its witness now") for row in against["gone"]),
        *(
            TestCase(row["name"], "", skipped="not found again, though its witness may still show it")
            for row in against["unseen"]
        ),
    ]


def _case(row: Family) -> TestCase:
    block = "; ".join(intel_of_bytes(bytes(row.code), code_isa(row.campaign.isa)))
    share = "" if row.share is None else f"; {100 * row.share:.1f} % of the disagreements"
    text = f"{block}: {row.predictions} cycles; bound that differs: {row.bound}{share}"
    if row.status == Family.Status.NEW:
        return TestCase(row.name, text, failure=f"a new family: {block}")
    if row.status == Family.Status.UNSURE:
        return TestCase(row.name, text, failure=f"not known then, perhaps new: {block}")
    mark = f"; {row.get_mark_display()}" if row.mark else ""
    return TestCase(row.name, f"still there{mark}: {text}")

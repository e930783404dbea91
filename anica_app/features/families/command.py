"""`manage.py families`: group the discoveries of a finished or imported campaign."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from anica_app.features.discoveries.bug_report import markdown
from anica_app.features.families.family_rows import families_result
from anica_app.features.families.query import KIND, FamilyParts
from anica_app.features.families.request import NewGrouping
from anica_app.features.families.shell import family_lines, mark_family, numbered_family, stored_lines
from anica_app.models import Campaign
from inference.core.events import Event, Progress
from inference.core.protocols import Json
from inference.features.asking.predictors.query import predictor_row
from inference.models import Run
from inference.runs import lifecycle
from inference.storage.names import by_name
from inference.web.data_command import add_request_options
from inference.web.run_command import RunCommand


class Command(RunCommand):
    help = (
        "Group the discoveries of a campaign by their cause. Campaigns that run here do so by themselves; "
        "this is for earlier and for imported ones. Where a tool is not here, stored answers are used."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaign", metavar="CAMPAIGN", help="by its name")
        weighing = "N: judge N fresh blocks to weigh the families; default: %(default)s"
        add_request_options(parser, NewGrouping, evaluate=weighing)
        parser.add_argument(
            "--against", metavar="CAMPAIGN", help="hold the families against those of this one"
        )
        parser.add_argument("--judge", metavar="NAME", help="a predictor that tells which tool is right")
        parser.add_argument("--json", action="store_true", help="end with one line of JSON")
        stored = parser.add_argument_group(
            "families that are there already", "no question is asked with one of these"
        )
        stored.add_argument("--list", action="store_true", help="show them, with their numbers")
        stored.add_argument(
            "--mark",
            metavar="N=MARK",
            default="",
            help="mark family N: known, reported, fixed, no-fault, or nothing",
        )
        stored.add_argument("--note", metavar="TEXT", help="with --mark: what is worth remembering")
        stored.add_argument(
            "--report", type=int, metavar="N", help="print family N as an issue for the tool's developers"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["list"] or options["mark"] or options["report"] is not None:
            self._store_families(options)
            return
        run = self.do_run(lambda: _submit(options))
        lines = (line.removeprefix("  ") for line in family_lines(run.result))
        self.print_answer(run.result, lines, as_json=options["json"])

    def _store_families(self, options: dict[str, Any]) -> None:
        campaign = by_name(Campaign, options["campaign"])
        if options["mark"]:
            mark_family(campaign, options["mark"], options["note"])
        if options["report"] is not None:
            parts = FamilyParts(numbered_family(campaign, options["report"]))
            self.stdout.write(markdown(parts.report()))
            return
        answer = families_result(campaign) if campaign.families.exists() else None
        lines = (line.removeprefix("  ") for line in stored_lines(campaign))
        self.print_answer(answer, lines, as_json=options["json"])

    def line(self, event: Event) -> str:
        return "" if isinstance(event, Progress) else super().line(event)


def _submit(options: dict[str, Any]) -> Run:
    campaign = by_name(Campaign, options["campaign"])
    judge = predictor_row(options["judge"], may_choose=True).pk if options["judge"] else None
    config: Json = {
        "campaign": campaign.pk,
        "evaluate": options["evaluate"],
        "against": by_name(Campaign, options["against"]).pk if options["against"] else None,
        "judge": judge,
    }
    return lifecycle.submit(KIND, config)

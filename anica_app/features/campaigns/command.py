"""`manage.py campaign`: search for disagreements in the shell; see `run_command`."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from functools import partial
from typing import Any

from django.core.management.base import CommandError, CommandParser

from anica_app.core.domain.wording import block_wording
from anica_app.core.search.events import CountersEvent
from anica_app.features.campaigns.request import DEFAULT_MINUTES, CampaignConfig
from anica_app.features.families.shell import (
    add_against_options,
    check_against,
    check_against_options,
    family_lines,
)
from anica_app.models import Campaign, Discovery
from inference.core.events import Event, Progress, rate_text
from inference.core.protocols import Json
from inference.features.asking.predictors.kinds import common_isa
from inference.features.asking.predictors.modes import add_mode_option
from inference.features.asking.predictors.query import check_processor, row_on_processor
from inference.features.judging.engine.gate import exit_as_error
from inference.models import PortMapping, Predictor, Run
from inference.runs import lifecycle
from inference.storage.names import by_name
from inference.web.data_command import add_request_options
from inference.web.run_command import RunCommand, add_set_option, named_values

_MAX_LISTED = 20
_REPORT_INTERVAL = 5.0  # seconds of searching


class Command(RunCommand):
    """One campaign from start to end, or the generalisation of one block; see the module."""

    help = "Search for basic blocks on which predictors disagree, and characterise them. Ctrl-C cancels."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--predictor",
            action="append",
            required=True,
            metavar="NAME",
            dest="predictors",
            help="one or two: a name as `manage.py predictors` lists them, or KIND:OPTION=VALUE,…, e.g. "
            "llvm-mca:release=13,cpu=haswell; one alone is searched for crashes",
        )
        parser.add_argument(
            "--processor",
            metavar="NAME",
            default="",
            help="for which tools predict that know several, e.g. 'Zen 3'; one that names its own keeps it "
            "(default: that of this computer)",
        )
        add_mode_option(parser)
        add_request_options(
            parser,
            CampaignConfig,
            preset="default: %(default)s",
            seed="S: default: %(default)s",
            evaluate="N: judge N fresh blocks of four instructions at the end: how much do the families "
            "explain? default: %(default)s; 0 goes by the blocks that the search began with",
        )
        ends = parser.add_argument_group(
            "when it ends",
            f"as soon as one of these is reached; {DEFAULT_MINUTES:g} minutes if none is given",
        )
        ends.add_argument("--minutes", type=float, metavar="M")
        ends.add_argument("--discoveries", type=int, metavar="N", help="not covered by another one")
        ends.add_argument("--blocks", type=int, metavar="N", help="random blocks in all")
        ends.add_argument("--barren", type=int, metavar="N", help="random blocks without a discovery")
        add_set_option(parser, "any setting of the search, of what is interesting, or of the abstract domain")
        parser.add_argument(
            "--schemes", metavar="FILTER", help="schemes of the blocks, as in the scheme table's search box"
        )
        parser.add_argument(
            "--uops", metavar="MAPPING", help="port mapping that gives the numbers of µops, a feature"
        )
        parser.add_argument(
            "--exclude",
            metavar="CAMPAIGN[:N]",
            action="append",
            default=[],
            help="do not find again what that campaign's discovery N, or any of them, includes",
        )
        parser.add_argument(
            "--block", metavar="HEX", help="no search: generalise this one block, given as machine code"
        )
        parser.add_argument(
            "--judge",
            metavar="NAME",
            help="a third predictor, such as a machine, that tells which of the two is right",
        )
        add_against_options(parser)
        parser.add_argument("--name", default="", help="name of the run and of its campaign")
        parser.add_argument("--json", action="store_true", help="end with one line of JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        check_against_options(options)
        run = self.do_run(lambda: self._submit(options))
        if options["json"]:
            self.stdout.write(json.dumps(run.result))
        else:
            self._print_result(run.result)
        if options["against"]:
            check_against(run.result, options["junit"])

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """Exit status 1 for wrong options: 2 means new families."""
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        parser.exit = partial(exit_as_error, parser.exit)  # type: ignore[method-assign]  # argparse has no other way
        return parser

    _reported_seconds = 0.0

    def line(self, event: Event) -> str:
        if isinstance(event, CountersEvent):
            if event.seconds - self._reported_seconds < _REPORT_INTERVAL:
                return ""
            self._reported_seconds = event.seconds
            pace = rate_text(event.rate, "blocks")
            return (
                f"  {event.seconds:.0f} s: {event.sampled:,} blocks sampled, "
                f"{event.interesting:,} interesting, {event.standing} discoveries"
                f"{f'; {pace}' if pace else ''}"
            )
        return "" if isinstance(event, Progress) else super().line(event)

    def _submit(self, options: dict[str, Any]) -> Run:
        rows = [_predictor(name, options["processor"]) for name in options["predictors"]]
        config: Json = {
            "predictors": [row.pk for row in rows],
            "seed": options["seed"],
            "settings": dict(named_values(options["overrides"])),
            "mode": options["mode"],
        }
        if options["block"]:
            config |= {"block": options["block"], "isa": common_isa(config["predictors"])}
            return lifecycle.submit("generalise", config, options["name"])
        config |= {
            "preset": options["preset"],
            "end": {name: options[name] for name in ("minutes", "discoveries", "blocks", "barren")},
            "evaluate": options["evaluate"],
            "excluded": [pk for text in options["exclude"] for pk in _discoveries(text)],
            "against": by_name(Campaign, options["against"]).pk if options["against"] else None,
            "judge": _predictor(options["judge"]).pk if options["judge"] else None,
        }
        if options["schemes"] is not None:
            config["scheme_filter"] = options["schemes"]
        if options["uops"]:
            config["uops"] = by_name(PortMapping, options["uops"]).pk
        return lifecycle.submit("campaign", config, options["name"])

    def _print_result(self, result: Json) -> None:
        self.stdout.write(
            f"campaign {result['name']!r}: {result['discoveries']} discoveries, {result['url']}"
        )
        if result.get("sampled"):
            self.stdout.write(
                f"  {result['interesting']:,} of {result['sampled']:,} random blocks are interesting; "
                f"{result['judged']:,} blocks judged in {result['seconds']:.0f} s"
            )
        for line in family_lines(result):
            self.stdout.write(line)
        rows = Discovery.objects.filter(campaign=result["campaign"], subsumed_by=None)
        for row in rows.order_by("-interestingness", "number")[:_MAX_LISTED]:
            self.stdout.write(f"  {row.number}. {block_wording(row.abstract or {}).line}")
        if explained := result.get("explained"):
            if explained["interesting"]:
                self.stdout.write(
                    f"  of {explained['interesting']:,} interesting ones among {explained['blocks']:,} fresh "
                    f"blocks the discoveries cover {100 * explained['share']:.1f} %, the best "
                    f"{len(explained['top'])} of them {100 * explained['top_share']:.1f} %"
                )
            else:
                self.stdout.write(f"  none of {explained['blocks']:,} fresh blocks is interesting")


def _predictor(name: str, processor: str = "") -> Predictor:
    return row_on_processor(name, check_processor(processor), may_choose=True)


def _discoveries(text: str) -> list[int]:
    """The ids of the discoveries that `CAMPAIGN[:N]` names. Raises `CommandError`."""
    name, colon, number = text.rpartition(":")
    is_numbered = bool(colon) and number.isdigit() and not Campaign.objects.filter(name=text).exists()
    campaign = by_name(Campaign, name if is_numbered else text)
    rows = Discovery.objects.filter(campaign=campaign, abstract__isnull=False)
    rows = rows.filter(number=int(number)) if is_numbered else rows.filter(subsumed_by=None)
    if not rows.exists():
        raise CommandError(f"--exclude {text}: {campaign.name!r} has no such discovery")
    return list(rows.values_list("pk", flat=True))

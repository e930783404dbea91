"""`manage.py coverage`: coverage of interesting blocks by discoveries, and the blocks that are not
covered.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from anica_app.core.search.interestingness import ABSOLUTE, RELATIVE
from anica_app.features.coverage.job import CoverageConfig
from anica_app.features.coverage.query import KIND
from anica_app.models import Campaign
from inference.core.events import Event, Progress
from inference.core.protocols import Json
from inference.isa.blocks import intel_of_bytes, isa_of_fields
from inference.models import BasicBlockSet, Run
from inference.runs import lifecycle
from inference.storage.names import by_name
from inference.web.data_command import add_request_options
from inference.web.run_command import RunCommand

_MAX_LISTED = 20


class Command(RunCommand):
    help = (
        "Which interesting blocks the discoveries of campaigns include: of the campaigns' own random blocks, "
        "or of a basic-block set."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaigns", nargs="+", metavar="CAMPAIGN", help="by its name")
        parser.add_argument("--set", metavar="NAME", dest="block_set", help="a basic-block set")
        parser.add_argument(
            "--columns",
            nargs=2,
            metavar=("FIRST", "SECOND"),
            default=[],
            help="of the set: blocks are interesting where these disagree",
        )
        parser.add_argument("--metric", choices=(RELATIVE, ABSOLUTE), default=RELATIVE)
        parser.add_argument("--threshold", type=float, default=0.5, metavar="D", help="default: 0.5")
        add_request_options(parser, CoverageConfig, blocks="N: at most; default: %(default)s")
        parser.add_argument("--json", action="store_true", help="end with one line of JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        if bool(options["block_set"]) != bool(options["columns"]):
            raise CommandError("--set and --columns belong together")
        run = self.do_run(lambda: _submit(options))
        result = run.result
        if options["json"]:
            self.stdout.write(json.dumps({"run": run.pk, **result}))
            return
        share = f", {100 * result['covered'] / result['blocks']:.1f} %" if result["blocks"] else ""
        self.stdout.write(
            f"{result['covered']:,} of {result['blocks']:,} interesting blocks are included{share}"
        )
        for code in result["uncovered"][:_MAX_LISTED]:
            lines = intel_of_bytes(bytes.fromhex(code), isa_of_fields(result))
            self.stdout.write(f"  not included: {code}  {'; '.join(lines)}")
        n_omitted = len(result["uncovered"]) - _MAX_LISTED
        if n_omitted > 0:
            self.stdout.write(f"  and {n_omitted:,} more; --json lists them")

    def line(self, event: Event) -> str:
        return "" if isinstance(event, Progress) else super().line(event)


def _submit(options: dict[str, Any]) -> Run:
    campaigns = [by_name(Campaign, name) for name in options["campaigns"]]
    row = by_name(BasicBlockSet, options["block_set"]) if options["block_set"] else None
    config: Json = {
        "campaigns": [campaign.pk for campaign in campaigns],
        "block_set": None if row is None else row.pk,
        "columns": list(options["columns"]),
        "interest": {"metric": options["metric"], "threshold": options["threshold"]},
        "blocks": options["blocks"],
    }
    return lifecycle.submit(KIND, config)

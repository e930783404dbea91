"""`manage.py predictors`: the available predictors, and what the others need."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from inference.features.asking.predictors.query import PredictorListing, predictor_listings
from inference.web.data_command import DataCommand


class Command(DataCommand):
    help = "List the available predictors, and what to install or configure for the others."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        listings = predictor_listings()
        if options["json"]:
            document = {"predictors": [_as_json(listing) for listing in listings]}
            self.stdout.write(json.dumps(document, ensure_ascii=False))
            return
        usable = [listing for listing in listings if listing.usable]
        width = max((len(listing.name) for listing in usable), default=0)
        for listing in usable:
            self.stdout.write(f"{listing.name:<{width}}  {listing.kind.name}  {listing.version}".rstrip())
        if len(usable) < len(listings):
            self.stdout.write("\nnot usable here:")
        for listing in listings:
            if not listing.usable:
                self.stdout.write(f"{listing.name or listing.kind.title}: {listing.reason}")


def _as_json(listing: PredictorListing) -> dict[str, Any]:
    return {
        "name": listing.name,
        "kind": listing.kind.name,
        "title": listing.kind.title,
        "version": listing.version,
        "options": listing.options,
        "usable": listing.usable,
        "reason": listing.reason,
        "stored": listing.row is not None,
    }

"""`manage.py predictors`: which predictors can be used here, and what the others need."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from inference.features.asking.predictors.query import Listed, listed
from inference.web.data_command import DataCommand


class Command(DataCommand):
    """The list in the shell; see the module."""

    help = "List the predictors that can be used here, and what to install or to configure for the others."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        found = listed()
        if options["json"]:
            told = {"predictors": [_as_json(one) for one in found]}
            self.stdout.write(json.dumps(told, ensure_ascii=False))
            return
        usable = [one for one in found if one.usable]
        width = max((len(one.name) for one in usable), default=0)
        for one in usable:
            self.stdout.write(f"{one.name:<{width}}  {one.kind.name}  {one.version}".rstrip())
        if len(usable) < len(found):
            self.stdout.write("\nnot usable here:")
        for one in found:
            if not one.usable:
                self.stdout.write(f"{one.name or one.kind.title}: {one.reason}")


def _as_json(one: Listed) -> dict[str, Any]:
    return {
        "name": one.name,
        "kind": one.kind.name,
        "title": one.kind.title,
        "version": one.version,
        "options": one.options,
        "usable": one.usable,
        "reason": one.reason,
        "stored": one.row is not None,
    }

"""`manage.py front`: the mappings that a run found between the most accurate and the most compact one."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from inference.features.learning.inferring.query import front_named, point_with
from inference.models import FrontPoint
from inference.storage.results import pick
from inference.web.data_command import DataCommand


class Command(DataCommand):
    """Fronts in the shell; see the module."""

    help = "List the Pareto front of a run of PMEvo, or make one of its points a port mapping of its own."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="RUN_OR_MAPPING")
        parser.add_argument("--json", action="store_true", help="print one JSON object")
        parser.add_argument(
            "--pick", type=int, metavar="KINDS", help="make the point with so many distinct µops a mapping"
        )
        parser.add_argument(
            "--volume", type=int, metavar="V", help="which point, where several have as many kinds"
        )
        parser.add_argument(
            "--name", default="", dest="new_name", metavar="N", help="what to call the mapping"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the points, or the mapping that one of them has become."""
        for option in ("volume", "new_name"):
            if options[option] and options["pick"] is None:
                raise CommandError(f"--{option.removeprefix('new_')} goes with --pick KINDS")
        front = front_named(options["name"])
        if options["pick"] is not None:
            point = point_with(front, options["pick"], options["volume"])
            self._pick(point, options["new_name"], as_json=options["json"])
            return
        if options["json"]:
            told = {"mapping": front.owner.name, "points": [_as_json(point) for point in front.points]}
            self.stdout.write(json.dumps(told, ensure_ascii=False))
            return
        self.stdout.write(f"{len(front.points)} points, found with the port mapping {front.owner.name!r}:")
        self.stdout.write("  kinds  volume   error     MAPE  mapping")
        for point in front.points:
            mape = "–" if point.mape is None else f"{point.mape:.2f} %"
            name = point.picked.name if point.picked else ""
            line = f"  {point.kinds:5}  {point.volume:6}  {100 * point.error:5.2f} %  {mape:>7}  {name}"
            self.stdout.write(line.rstrip())

    def _pick(self, point: FrontPoint, name: str, *, as_json: bool) -> None:
        row, made = pick(point, name)
        if as_json:
            told = {"mapping": row.name, "url": f"/mappings/{row.pk}/", "made": made, **_as_json(point)}
            self.stdout.write(json.dumps(told, ensure_ascii=False))
            return
        state = "now" if made else "picked before:"
        self.stdout.write(f"{state} the port mapping {row.name!r}, /mappings/{row.pk}/")


def _as_json(point: FrontPoint) -> dict[str, Any]:
    return {
        "kinds": point.kinds,
        "volume": point.volume,
        "error": point.error,
        "mape": point.mape,
        "picked": point.picked.name if point.picked else None,
    }

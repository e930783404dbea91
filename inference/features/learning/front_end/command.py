"""`manage.py front_end`: measures a machine's front end, or prints a measured one."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from inference.features.learning.front_end.query import front_end_of, fusion_json, number_json
from inference.models import Machine, MeasuredFrontEnd
from inference.runs import lifecycle
from inference.storage.names import by_name
from inference.web.run_command import RunCommand


class Command(RunCommand):
    """Runs a measurement of a front end to its end, or prints a stored one."""

    help = "Measure the front end of a machine's core, or show one. Ctrl-C cancels."

    def add_arguments(self, parser: ArgumentParser) -> None:
        source = parser.add_mutually_exclusive_group(required=True)
        source.add_argument("--machine", metavar="NAME", help="machine that measures")
        source.add_argument("--show", metavar="NAME", help="a front end that was measured")
        parser.add_argument("--name", default="", help="name of the run and of its result")
        parser.add_argument("--json", action="store_true", help="end with one line of JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["show"]:
            row = by_name(MeasuredFrontEnd, options["show"])
            self._print(row, {}, as_json=options["json"])
            return
        machine = by_name(Machine, options["machine"])
        config = {"machine": machine.pk}
        run = self.do_run(lambda: lifecycle.submit("front-end", config, options["name"]))
        row = MeasuredFrontEnd.objects.get(pk=run.result["front_end"])
        summary = {key: run.result[key] for key in ("url", "codes", "settled")}
        self._print(row, summary | {"seconds": round(run.busy_seconds, 3)}, as_json=options["json"])

    def _print(self, row: MeasuredFrontEnd, extra_fields: dict[str, Any], *, as_json: bool) -> None:
        front_end = front_end_of(row)
        if as_json:
            numbers = [number_json(number) for number in front_end.numbers]
            issue = None if front_end.issue is None else front_end.issue.text
            parts = {"numbers": numbers, "fusion": fusion_json(front_end), "issue": issue}
            answer = {"front_end": row.name, **extra_fields, **parts}
            self.stdout.write(json.dumps(answer))
            return
        self.stdout.write(f"front end {row.name!r} of {row.machine.name}")
        if front_end.issue is not None:
            self.stdout.write(f"  Instructions issue {front_end.issue.text}")
        for number in front_end.numbers:
            value = "not measured" if number.value is None else f"{number.value:.2f}"
            self.stdout.write(f"  {number.label}: {'at least ' if number.at_least else ''}{value}")

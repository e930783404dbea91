"""`manage.py machines`: the machines and their states."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from inference.core.protocols import Json
from inference.features.machines.machines.query import condition_of, machines
from inference.runs.machines.facts import unsupported_runs
from inference.web.data_command import DataCommand


class Command(DataCommand):
    help = "List the machines with their states, CPUs, and the time of the last message."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="one JSON object per line")

    def handle(self, *args: Any, **options: Any) -> None:
        rows = [_facts(machine) for machine in machines()]
        if options["json"]:
            for row in rows:
                self.stdout.write(json.dumps(row))
            return
        if not rows:
            self.stdout.write("no machines; `manage.py add-machine NAME` adds one")
        for row in rows:
            parts = [
                row["condition"],
                row["note"],
                row["cpu"],
                row["since"] and f"last seen {row['since']}",
                row["unsupported"] and f"not supported: {', '.join(row['unsupported'])}",
            ]
            self.stdout.write(f"{row['name']}: {', '.join(part for part in parts if part)}")


def _facts(machine: Any) -> Json:
    condition = condition_of(machine)
    since = condition.since
    return {
        "name": machine.name,
        "kind": machine.kind,
        "local": machine.local,
        "online": condition.online,
        "condition": condition.word,
        "note": condition.note,
        "cpu": machine.cpu,
        "unsupported": unsupported_runs(machine),
        "last_seen": machine.last_seen and machine.last_seen.isoformat(timespec="seconds"),
        "since": since and since.isoformat(sep=" ", timespec="seconds"),
        "noise": machine.noise,
        "rate": machine.rate,
    }

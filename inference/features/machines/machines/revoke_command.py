"""`manage.py revoke-machine`: revoke all tokens of a machine."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from inference.models import Machine
from inference.runs.machines.sessions import revoke_all
from inference.storage.names import by_name
from inference.web.data_command import DataCommand


class Command(DataCommand):
    help = "Revoke all tokens of a machine; its agent is disconnected. Measurements stay."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME")

    def handle(self, *args: Any, **options: Any) -> None:
        machine = by_name(Machine, options["name"])
        self.stdout.write(f"{revoke_all(machine)} token(s) of {machine.name!r} revoked")

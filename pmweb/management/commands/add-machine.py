"""`manage.py add-machine`: create a machine, and print the command that starts its agent."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import CommandError

from inference.models import Machine
from inference.runs.machines.sessions import add_machine, agent_command, create_token
from inference.storage.names import by_name
from inference.web.data_command import DataCommand
from pmweb.launcher.instance import has_site_address, site_address


class Command(DataCommand):
    """In this app and not in `inference`, since the printed command has the site's address."""

    help = "Add a machine that an agent measures. Prints, once, the line that starts the agent there."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME")
        parser.add_argument(
            "--new-token", action="store_true", help="create another token for an existing machine"
        )
        parser.add_argument(
            "--server",
            metavar="URL",
            help="the site's address as seen from that machine (the running site's)",
        )
        parser.add_argument(
            "--days", type=int, metavar="N", help="days that the token is valid (default: no expiry)"
        )
        parser.add_argument("--json", action="store_true", help="a JSON object: machine, server and token")

    def handle(self, *args: Any, **options: Any) -> None:
        machine = self._machine(options["name"], new_token=options["new_token"])
        server = options["server"].rstrip("/") if options["server"] else site_address()
        token = create_token(machine, timedelta(days=options["days"]) if options["days"] else None)
        if options["json"]:
            self.stdout.write(json.dumps({"machine": machine.name, "server": server, "token": token}))
            return
        self.stdout.write(agent_command(server, token))
        if not (options["server"] or has_site_address()):
            self.stderr.write("pmweb is not running with this data, so its address is a guess.")

    def _machine(self, name: str, *, new_token: bool) -> Machine:
        if not new_token:
            return add_machine(name)
        machine = by_name(Machine, name)
        if machine.kind != Machine.Kind.AGENT:
            raise CommandError(f"{name!r} is a {machine.get_kind_display()}: no agent measures there")
        return machine

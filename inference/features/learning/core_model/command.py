"""`manage.py name-ports MODEL 0=ALU0 1=ALU1`: what the vendor calls the ports of a core model."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from inference.features.learning.core_model.storing import name_ports, ports_of
from inference.models import StoredCoreModel
from inference.storage.names import by_name
from inference.web.data_command import DataCommand


class Command(DataCommand):
    """Port names in the shell; see the module."""

    help = "Say what the vendor calls the ports of a core model, or list its ports. Names not given stay."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="MODEL", help="a core model")
        parser.add_argument(
            "ports", nargs="*", metavar="PORT=NAME", help="a name for a port; none takes it away"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Keep the names, and list the ports."""
        row = by_name(StoredCoreModel, options["name"])
        if options["ports"]:
            name_ports(row, {**row.port_names, **dict(map(_told, options["ports"]))})
        for port in ports_of(row):
            self.stdout.write(f"{port}\t{row.port_names.get(port, '')}")


def _told(text: str) -> tuple[str, str]:
    port, equals, name = text.partition("=")
    if not equals or not port:
        raise CommandError(f"{text!r} is not PORT=NAME")
    return port, name

"""`manage.py name-ports MODEL 0=ALU0 1=ALU1`: sets the vendor's names of a core model's ports."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from inference.features.learning.core_model.storing import name_ports, ports_of
from inference.models import StoredCoreModel
from inference.storage.names import by_name
from inference.web.data_command import DataCommand


class Command(DataCommand):
    help = "Set the vendor's names of a core model's ports, or list its ports. Other names stay."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="MODEL", help="a core model")
        parser.add_argument(
            "ports", nargs="*", metavar="PORT=NAME", help="a name for a port; an empty one removes it"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        row = by_name(StoredCoreModel, options["name"])
        if options["ports"]:
            name_ports(row, {**row.port_names, **dict(map(_port_and_name, options["ports"]))})
        for port in ports_of(row):
            self.stdout.write(f"{port}\t{row.port_names.get(port, '')}")


def _port_and_name(text: str) -> tuple[str, str]:
    port, equals, name = text.partition("=")
    if not equals or not port:
        raise CommandError(f"{text!r} is not PORT=NAME")
    return port, name

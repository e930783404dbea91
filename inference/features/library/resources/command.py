"""`manage.py convert NAME`: the resource mapping that predicts the same as a port mapping."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from inference.core.resources import Conversion, TooManyResourcesError
from inference.models import PortMapping, ResourceMapping
from inference.storage.mappings import convert
from inference.storage.names import by_name, free_name
from inference.web.data_command import DataCommand


class Command(DataCommand):
    """Conversions in the shell; see the module."""

    help = "Convert a port mapping into the resource mapping (Palmed's model) that predicts the same."

    def add_arguments(self, parser: ArgumentParser) -> None:
        limit = Conversion.max_resources
        parser.add_argument("mapping", metavar="NAME", help="port mapping to convert")
        parser.add_argument("--name", default="", help="name of the new resource mapping")
        parser.add_argument(
            "--max-resources", type=int, default=limit, metavar="N", help=f"most resources (default: {limit})"
        )
        parser.add_argument("--note", default="", help="free text kept with it")

    def handle(self, *args: Any, **options: Any) -> None:
        """Convert and store, or say why that cannot be done."""
        row = by_name(PortMapping, options["mapping"])
        name = options["name"] or free_name(ResourceMapping, f"{row.name} as resources")
        try:
            made = convert(row, name, Conversion(options["max_resources"]), options["note"])
        except TooManyResourcesError as error:
            raise CommandError(f"{error} (--max-resources)") from error
        self.stdout.write(f"resource mapping {made.name!r}: {len(made.resources)} resources")

"""`manage.py convert NAME`: converts a port mapping to an equivalent resource mapping."""

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
    help = "Convert a port mapping to an equivalent resource mapping (Palmed's model)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        limit = Conversion.max_resources
        parser.add_argument("mapping", metavar="NAME", help="port mapping to convert")
        parser.add_argument("--name", default="", help="name of the new resource mapping")
        parser.add_argument(
            "--max-resources", type=int, default=limit, metavar="N", help=f"limit (default: {limit})"
        )
        parser.add_argument("--note", default="", help="free text")

    def handle(self, *args: Any, **options: Any) -> None:
        row = by_name(PortMapping, options["mapping"])
        name = options["name"] or free_name(ResourceMapping, f"{row.name} as resources")
        try:
            result = convert(row, name, Conversion(options["max_resources"]), options["note"])
        except TooManyResourcesError as error:
            raise CommandError(f"{error} (--max-resources)") from error
        self.stdout.write(f"resource mapping {result.name!r}: {len(result.resources)} resources")

"""`manage.py export`: a port or resource mapping or an experiment set as a file that `import` reads again."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from inference.exchange.errors import ExchangeError
from inference.exchange.exporting import MAPPING_EXPORTS, RESOURCE_EXPORTS, SET_EXPORTS
from inference.exchange.names import by_name
from inference.management.data_command import DataCommand
from inference.models import ExperimentSet, PortMapping, ResourceMapping

_KINDS: dict[str, tuple[Any, Any]] = {
    "mapping": (PortMapping, MAPPING_EXPORTS),
    "resource-mapping": (ResourceMapping, RESOURCE_EXPORTS),
    "set": (ExperimentSet, SET_EXPORTS),
}


class Command(DataCommand):
    """Exports in the shell; see the module."""

    help = "Write a port mapping (json, pmevo), a resource mapping (json) or the measurements of a set (csv)."
    requires_system_checks = ()  # they would load every page of the site first

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the arguments."""
        parser.add_argument("kind", choices=list(_KINDS))
        parser.add_argument("name", metavar="NAME")
        parser.add_argument(
            "--format", default="", help="mapping: json (default), pmevo; resource-mapping: json; set: csv"
        )
        parser.add_argument("--output", type=Path, metavar="FILE", help="write here instead of to the output")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the export."""
        model, exports = _KINDS[options["kind"]]
        wanted = options["format"] or next(iter(exports))
        if wanted not in exports:
            raise CommandError(
                f"a {options['kind']} cannot be exported as {wanted!r}; known are {', '.join(exports)}"
            )
        try:
            text = exports[wanted].write(by_name(model, options["name"]))
        except ExchangeError as error:
            raise CommandError(str(error)) from error
        if options["output"] is None:
            self.stdout.write(text, ending="")
            return
        try:
            options["output"].write_text(text, encoding="utf-8")
        except OSError as error:
            raise CommandError(f"{options['output']} cannot be written: {error.strerror}") from error

"""`manage.py load-isa`: instruction sets that come with the software, or in a document."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from inference.formats.problems import ExchangeError
from inference.isa.targets import DEFAULT
from inference.models import ISA
from inference.storage.instruction_sets import SUPPLIED, load_document
from inference.web.data_command import DataCommand


class Command(DataCommand):
    """Instruction sets in the shell; see the module."""

    help = (
        "Load an instruction set, or bring it up to date; does nothing where it is. docs/formats.md has the "
        "format of documents."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "sets",
            nargs="*",
            default=[DEFAULT],
            metavar="NAME-OR-FILE",
            help=f"{' or '.join(SUPPLIED)}, or a JSON document (default: {DEFAULT})",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        for wanted in options["sets"] or [DEFAULT]:
            isa, changed = SUPPLIED[wanted]() if wanted in SUPPLIED else (_from_file(wanted), True)
            state = f"{isa.schemes.count()} schemes loaded" if changed else "already up to date"
            self.stdout.write(f"{isa.name}: {state} ({isa.source})")


def _from_file(wanted: str) -> ISA:
    try:
        return load_document(Path(wanted).read_bytes())
    except OSError as error:
        raise CommandError(
            f"{wanted!r} is neither {' nor '.join(SUPPLIED)}, nor a file that can be read: {error.strerror}"
        ) from error
    except ExchangeError as error:
        raise CommandError(f"{wanted}: {error}") from error

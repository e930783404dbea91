"""`manage.py load-isa`: loads supplied instruction sets, or ones from documents."""

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
    help = (
        "Load or update an instruction set; an up-to-date one stays unchanged. docs/formats.md has the "
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
        for source in options["sets"] or [DEFAULT]:
            isa, changed = SUPPLIED[source]() if source in SUPPLIED else (_from_file(source), True)
            state = f"{isa.schemes.count()} schemes loaded" if changed else "already up to date"
            self.stdout.write(f"{isa.name}: {state} ({isa.source})")


def _from_file(path: str) -> ISA:
    try:
        return load_document(Path(path).read_bytes())
    except OSError as error:
        raise CommandError(
            f"{path!r} is neither {' nor '.join(SUPPLIED)}, nor a readable file: {error.strerror}"
        ) from error
    except ExchangeError as error:
        raise CommandError(f"{path}: {error}") from error

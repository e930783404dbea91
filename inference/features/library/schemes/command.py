"""`manage.py load-isa` loads supplied instruction sets, or ones from documents; `learn-encodings` derives
encodings from llvm-mc.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from inference.formats.problems import ExchangeError
from inference.isa.encodings import LearntDocument
from inference.isa.llvm_mc import AssemblerError
from inference.isa.targets import DEFAULT, targets
from inference.models import ISA
from inference.storage.instruction_sets import SUPPLIED, load_document
from inference.web.data_command import DataCommand


class LoadIsaCommand(DataCommand):
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


_MAX_LISTED = 20  # forms that are listed


def _learners() -> dict[str, Callable[[], LearntDocument]]:
    """What learns each document: `AArch64`, or `RISC-V V` of an extension."""
    learners: dict[str, Callable[[], LearntDocument]] = {}
    for target in targets():
        if target.learn_document is not None:
            learners[target.name] = target.learn_document
        learners |= {f"{target.name} {name}": learn for name, learn in target.learn_extensions.items()}
    return learners


class LearnEncodingsCommand(BaseCommand):
    help = (
        "Learn the encodings of an instruction set from llvm-mc, and compare them with its document. "
        "docs/formats.md describes documents."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        names = list(_learners())
        parser.add_argument(
            "isa",
            nargs="?",
            default=names[0],
            choices=names,
            help=f"the instruction set (default: {names[0]})",
        )
        parser.add_argument("--output", metavar="FILE", help="write the document with the learnt encodings")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            learnt = _learners()[options["isa"]]()
        except AssemblerError as error:
            raise CommandError(str(error)) from None
        if options["output"]:
            try:
                Path(options["output"]).write_bytes(learnt.content)
            except OSError as error:
                raise CommandError(f"{options['output']}: {error.strerror}") from None
        self._report(options["isa"], learnt)

    def _report(self, isa: str, learnt: LearntDocument) -> None:
        self.stdout.write(
            f"{isa}: {learnt.forms:,} encodings learnt, {learnt.checked:,} drawn instances agree"
        )
        self.stdout.write(f"{len(learnt.changes):,} differ from the document")
        for text in learnt.changes[:_MAX_LISTED]:
            self.stdout.write(f"  {text}")
        for text, reason in list(learnt.failures.items())[:_MAX_LISTED]:
            self.stderr.write(f"  {text}: {reason}")
        if learnt.failures:
            raise CommandError(f"{len(learnt.failures):,} forms have no encoding")

"""`manage.py learn-encodings`: derives from llvm-mc how instructions are encoded."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from inference.isa.encodings import LearntDocument
from inference.isa.llvm_mc import AssemblerError
from inference.isa.targets import targets

_MAX_LISTED = 20  # forms that are listed


class Command(BaseCommand):
    help = (
        "Learn the encodings of an instruction set from llvm-mc, and compare them with its document. "
        "docs/formats.md describes documents."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        names = [target.name for target in targets() if target.learn_document is not None]
        parser.add_argument(
            "isa",
            nargs="?",
            default=names[0],
            choices=names,
            help=f"the instruction set (default: {names[0]})",
        )
        parser.add_argument("--output", metavar="FILE", help="write the document with the learnt encodings")

    def handle(self, *args: Any, **options: Any) -> None:
        learner = next(target.learn_document for target in targets() if target.name == options["isa"])
        if learner is None:
            raise CommandError(f"encodings of {options['isa']} are not learnt")
        try:
            learnt = learner()
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

"""`manage.py export`: mappings, core models, sets and experiments as files; `import` reads most of them."""

from __future__ import annotations

import io
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from inference.features.library.experiments.query import exegesis_snippet
from inference.formats.other_formats import writer_of, written_kinds
from inference.formats.problems import ExchangeError
from inference.isa.targets import DEFAULT
from inference.models import ISA, ExperimentSet, PortMapping, ResourceMapping, StoredCoreModel
from inference.storage.exporting import (
    CORE_MODEL_EXPORTS,
    MAPPING_EXPORTS,
    RESOURCE_EXPORTS,
    SET_EXPORTS,
    llvm_patch_of,
)
from inference.storage.instruction_sets import read_experiment
from inference.storage.names import by_name
from inference.web.data_command import DataCommand, write_file

_KINDS: dict[str, tuple[Any, Any]] = {
    "mapping": (PortMapping, MAPPING_EXPORTS),
    "resource-mapping": (ResourceMapping, RESOURCE_EXPORTS),
    "set": (ExperimentSet, SET_EXPORTS),
    "model": (StoredCoreModel, CORE_MODEL_EXPORTS),
}
_EXPERIMENT, _EXPERIMENT_FORMATS = "experiment", ("exegesis",)


class Command(DataCommand):
    """Exports in the shell; see the module."""

    help = (
        "Write a port mapping, a resource mapping, a core model, the measurements of a set, or an experiment "
        "such as '2*SCHEME; SCHEME' as a file."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        known = "; ".join(f"{kind}: {', '.join(exports)}" for kind, (_, exports) in _KINDS.items())
        parser.add_argument("kind", choices=[*_KINDS, _EXPERIMENT, *written_kinds()])
        parser.add_argument("name", metavar="NAME", help="its name, or the experiment itself")
        parser.add_argument(
            "--format",
            default="",
            help=f"{known}; {_EXPERIMENT}: {', '.join(_EXPERIMENT_FORMATS)} (the first by default)",
        )
        parser.add_argument(
            "--isa", metavar="NAME", default=DEFAULT, help="instruction set of an experiment (%(default)s)"
        )
        parser.add_argument(
            "--against",
            type=Path,
            metavar="FOLDER-OF-LLVM",
            help="with `model NAME --format llvm-patch`: LLVM's sources (llvm-project/llvm), by default "
            "those of $PMWEB_LLVM_SOURCES; the patch has what differs beyond the noise",
        )
        parser.add_argument(
            "--cpu",
            metavar="NAME",
            default="",
            help="with `llvm-patch`: what LLVM's -mcpu calls the processor (by default, the machine's core)",
        )
        parser.add_argument("--output", type=Path, metavar="FILE", help="write here instead of to the output")

    def handle(self, *args: Any, **options: Any) -> None:
        kind = options["kind"]
        if kind in written_kinds():
            self._write_other(kind, options)
            return
        known = _EXPERIMENT_FORMATS if kind == _EXPERIMENT else tuple(_KINDS[kind][1])
        wanted = options["format"] or known[0]
        if wanted not in known:
            raise CommandError(
                f"{_article(kind)} cannot be exported as {wanted!r}; known are {', '.join(known)}"
            )
        against: Path | None = options["against"]
        if against is not None and (kind != "model" or wanted not in {"llvm", "llvm-patch"}):
            raise CommandError("--against is for core models alone: export model NAME --format llvm-patch")
        patches = against is not None or wanted == "llvm-patch"
        if options["cpu"] and not patches:
            raise CommandError("--cpu is for export model NAME --format llvm-patch alone")
        if patches:
            row = by_name(StoredCoreModel, options["name"])
            text = llvm_patch_of(row, against, options["cpu"])
        else:
            text = _snippet(options) if kind == _EXPERIMENT else _row(kind, options["name"], wanted)
        self.deliver(text, options["output"])

    def _write_other(self, kind: str, options: dict[str, Any]) -> None:
        """A row of another app, in the one format that it has."""
        output: Path | None = options["output"]
        if options["format"]:
            raise CommandError(f"{_article(kind)} is written in one format only: leave --format out")
        made = io.BytesIO()
        writer_of(kind)(options["name"], made)
        if output is None:
            sys.stdout.buffer.write(made.getvalue())
            return
        write_file(output, made.getvalue())


def _article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


def _row(kind: str, name: str, wanted: str) -> str:
    model, exports = _KINDS[kind]
    row = by_name(model, name)
    if not exports[wanted].describes(row.isa.name):
        raise ExchangeError(f"{wanted} has no words for {row.isa.name}, which {name!r} is for")
    text: str = exports[wanted].write(row)
    return text


def _snippet(options: dict[str, Any]) -> str:
    isa = by_name(ISA, options["isa"])
    typed = read_experiment(options["name"], isa)
    if typed.experiment is None:
        near = "".join(f"; did you mean {each.nearest!r}?" for each in typed.suggestions[:1])
        raise ExchangeError("; ".join(typed.problems) + near)
    return exegesis_snippet(typed.experiment, isa)

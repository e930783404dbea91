"""`manage.py export`: writes mappings, core models, sets and experiments as files. `import` reads most
formats.
"""

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
    help = (
        "Write a port mapping, a resource mapping, a core model, the measurements of a set, or an experiment "
        "such as '2*SCHEME; SCHEME' as a file."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        formats = "; ".join(f"{kind}: {', '.join(exports)}" for kind, (_, exports) in _KINDS.items())
        parser.add_argument("kind", choices=[*_KINDS, _EXPERIMENT, *written_kinds()])
        parser.add_argument("name", metavar="NAME", help="its name, or the experiment itself")
        parser.add_argument(
            "--format",
            default="",
            help=f"{formats}; {_EXPERIMENT}: {', '.join(_EXPERIMENT_FORMATS)} (the first by default)",
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
        parser.add_argument(
            "--output", type=Path, metavar="FILE", help="write to this file instead of stdout"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        kind = options["kind"]
        if kind in written_kinds():
            self._write_other(kind, options)
            return
        formats = _EXPERIMENT_FORMATS if kind == _EXPERIMENT else tuple(_KINDS[kind][1])
        format_name = options["format"] or formats[0]
        if format_name not in formats:
            raise CommandError(
                f"{_article(kind)} cannot be exported as {format_name!r}; formats: {', '.join(formats)}"
            )
        against: Path | None = options["against"]
        if against is not None and (kind != "model" or format_name not in {"llvm", "llvm-patch"}):
            raise CommandError("--against applies only to core models: export model NAME --format llvm-patch")
        patches = against is not None or format_name == "llvm-patch"
        if options["cpu"] and not patches:
            raise CommandError("--cpu applies only to export model NAME --format llvm-patch")
        if patches:
            row = by_name(StoredCoreModel, options["name"])
            text = llvm_patch_of(row, against, options["cpu"])
        else:
            text = _snippet(options) if kind == _EXPERIMENT else _row(kind, options["name"], format_name)
        self.write_output(text, options["output"])

    def _write_other(self, kind: str, options: dict[str, Any]) -> None:
        """Writes a row of another app in its only format."""
        output: Path | None = options["output"]
        if options["format"]:
            raise CommandError(f"{_article(kind)} has only one format: omit --format")
        buffer = io.BytesIO()
        writer_of(kind)(options["name"], buffer)
        if output is None:
            sys.stdout.buffer.write(buffer.getvalue())
            return
        write_file(output, buffer.getvalue())


def _article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


def _row(kind: str, name: str, format_name: str) -> str:
    model, exports = _KINDS[kind]
    row = by_name(model, name)
    if not exports[format_name].describes(row.isa.name):
        raise ExchangeError(f"{format_name} cannot describe {row.isa.name}, the instruction set of {name!r}")
    text: str = exports[format_name].write(row)
    return text


def _snippet(options: dict[str, Any]) -> str:
    isa = by_name(ISA, options["isa"])
    typed = read_experiment(options["name"], isa)
    if typed.experiment is None:
        hint = "".join(f"; did you mean {suggestion.nearest!r}?" for suggestion in typed.suggestions[:1])
        raise ExchangeError("; ".join(typed.problems) + hint)
    return exegesis_snippet(typed.experiment, isa)

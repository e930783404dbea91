"""`manage.py import FILE`: imports experiments, mappings or formats of other apps; recognises the format."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, OutputWrapper
from django.db import transaction

from inference.core.explain import SchemeFate
from inference.formats.document import PART
from inference.formats.file_numbers import FileUnit, unit_in_doubt
from inference.formats.import_formats import bytes_to_store, name_list_of, rejects_of
from inference.formats.imported_explanation import ImportedExplanation
from inference.formats.other_formats import importer_of_path, importers
from inference.formats.palmed_json import NameList
from inference.formats.parsing import Parsed
from inference.models import ISA, ExperimentSet
from inference.storage.importing import ImportResult, Preview, commit, doubt_lines, preview
from inference.storage.names import by_name, kind_of
from inference.web.data_command import DataCommand, ReadingProgress

AUTO = "auto"
CANCELLED = 130
"""Exit status of a shell's command that Ctrl-C ended."""


class Command(DataCommand):
    help = (
        "Import experiments (CSV, PMEvo ExperimentList), a port mapping (own JSON, PMEvo Mapping3, published "
        "explainable results, uops.info's JSON or instructions.xml), a resource mapping (own JSON, Palmed), "
        "latencies and throughputs of llvm-exegesis, WINIC, InstLatX64, Agner Fog, rvv-bench or "
        "insn_bench_aarch64, a machine model of OSACA (YAML), "
        "basic blocks (CSV) or a campaign (own zip, AnICA's directory or a zip of it)."
    )
    makes_data = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help="a file, or a directory of AnICA")
        parser.add_argument("--name", default="", help="name of the new set or mapping (default: the file's)")
        parser.add_argument("--isa", default="", help="instruction set of the file (default: the likely one)")
        parser.add_argument(
            "--new-isa",
            default="",
            metavar="NAME",
            help="create a new instruction set with the file's schemes",
        )
        parser.add_argument(
            "--unit",
            choices=[*(unit.value for unit in FileUnit), AUTO],
            default=FileUnit.CYCLES.value,
            help="unit of CSV rows without one (default: cycles); auto: guess it from the numbers",
        )
        parser.add_argument(
            "--take-nearest",
            action="store_true",
            help="replace every unknown scheme name by the nearest known one",
        )
        parser.add_argument(
            "--skip-broken",
            action="store_true",
            help="skip experiments with problems instead of importing nothing",
        )
        parser.add_argument(
            "--names",
            type=Path,
            metavar="FILE",
            help="scheme names for the instructions of a Palmed file, as JSON",
        )
        parser.add_argument(
            "--rejects",
            type=Path,
            nargs="+",
            default=[],
            metavar="FILE",
            help="schemes rejected by the runs that made the file, as JSON, one file per run",
        )
        parser.add_argument(
            "--evidence",
            nargs="+",
            default=[],
            metavar="SET",
            help="experiment sets of the runs that made the file",
        )
        parser.add_argument(
            "--microarchitecture",
            nargs="+",
            default=[""],
            metavar="NAME",
            help="those to read of a file with several, e.g. SKL, or 'SKL measured' for times; "
            "or the parts to read of a file that has several: throughputs, latencies, ports",
        )
        parser.add_argument("--note", default="", help="free text")
        for importer in importers():
            importer.add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """Imports the file, or prints its problems and stores nothing."""
        try:
            self._import_file(options["file"], options)
        except KeyboardInterrupt:
            raise CommandError("cancelled: nothing was imported", returncode=CANCELLED) from None

    def _import_file(self, path: Path, options: dict[str, Any]) -> None:
        other = importer_of_path(path)
        if other is not None:
            progress = {"report": ReadingProgress(self.stderr, path)}
            self.stdout.write("\n".join(other.import_path(path, {**options, **progress})))
            return
        if options["isa"] and options["new_isa"]:
            raise CommandError("--isa and --new-isa exclude each other")
        microarchitectures: list[str] = options["microarchitecture"]
        if options["name"] and len(microarchitectures) > 1:
            raise CommandError("--name needs a single microarchitecture: several are named by the file")
        content = _content(path, self.stderr)
        with transaction.atomic():
            imports = [self._import(content, path.name, options, name) for name in microarchitectures]
        for imported, upload in imports:
            self._report(imported, upload.parsed, upload.explanation)
            for line in (*_decision_lines(upload), *_unread_part_notes(upload, microarchitectures)):
                self.stdout.write(line)

    def _import(
        self, content: bytes, file_name: str, options: dict[str, Any], microarchitecture: str
    ) -> tuple[ImportResult, Preview]:
        upload = preview(
            content,
            file_name,
            isa=_isa(options),
            new_isa_name="" if _isa(options) else options["new_isa"],
            unit=None if options["unit"] == AUTO else FileUnit(options["unit"]),
            names=_names(options["names"]),
            rejects=[rejects_of(_content(file), file.name) for file in options["rejects"]],
            evidence=[by_name(ExperimentSet, set_name) for set_name in options["evidence"]],
            microarchitecture=microarchitecture,
            take_nearest=options["take_nearest"],
            leave_out=options["skip_broken"],
        )
        if not upload.acceptable:
            raise CommandError(
                "\n".join(["nothing was imported", *upload.parsed.lines(), *_advice(upload.parsed)])
            )
        several = len(options["microarchitecture"]) > 1
        name = upload.name if several else options["name"] or upload.own_name
        imported = commit(upload, name, note=options["note"])
        options["isa"] = imported.isa.name  # a new instruction set of the first part is that of the others
        return imported, upload

    def _report(self, done: ImportResult, parsed: Parsed, explanation: ImportedExplanation | None) -> None:
        kind = kind_of(type(done.row))
        unit = "measurements" if isinstance(done.row, ExperimentSet) else "schemes"
        if done.is_new_isa:
            self.stdout.write(f"new instruction set {done.isa.name!r}: {len(parsed.schemes)} schemes")
        self.stdout.write(f"{kind} {done.row.name!r}: {done.rows} {unit}, instruction set {done.isa.name}")
        if explanation is not None:
            outcomes = explanation.outcomes
            counts = ", ".join(f"{outcomes[o]} {o}" for o in SchemeFate if outcomes[o])
            witnesses = sum(len(scheme.witnesses) for scheme in explanation.characterisations)
            self.stdout.write(f"{counts}; {witnesses} witnesses")
        for scheme, names in parsed.merged.items():
            self.stdout.write(f"note: {len(names)} names of the file mean {scheme}: {', '.join(names)}")
        if "instructions" in parsed.facts:
            total = parsed.facts["instructions"]
            matched = parsed.facts.get("matched", total - len(parsed.left_out))
            self.stdout.write(
                f"{matched} of the file's {total} instructions have a scheme in {done.isa.name}"
            )
        if parsed.left_out:
            self.stdout.write(f"{len(parsed.left_out)} skipped:")
        for name, reason in parsed.left_out.items():
            self.stdout.write(f"  {name}: {reason}")


def _advice(parsed: Parsed) -> list[str]:
    """Options that would make the file importable."""
    advice = []
    if any(name.nearest for name in parsed.unknown):
        advice.append("--take-nearest replaces unknown names by the nearest known ones")
    if parsed.can_leave_out:
        advice.append(f"--skip-broken imports {parsed.left} rows without the {parsed.broken} with problems")
    return advice


def _decision_lines(upload: Preview) -> list[str]:
    """Substitutions and skipped rows, and warnings about implausible numbers."""
    parsed = upload.parsed
    lines = [f"note: {name!r} was replaced by {text!r}" for name, text in upload.substitutes.items()]
    if upload.leave_out and parsed.broken:
        lines += [f"skipped: {parsed.broken} rows with problems", *(f"  {line}" for line in parsed.lines())]
    doubt = unit_in_doubt(parsed.facts)
    if doubt:
        lines.append(f"warning: {doubt}; see --unit")
    return [*lines, *(f"warning: {line}" for line in doubt_lines(parsed))]


def _unread_part_notes(upload: Preview, selected: Sequence[str]) -> list[str]:
    facts = upload.parsed.facts
    if PART not in facts:
        return []
    unread = [part for part in facts["microarchitectures"] if part not in {facts[PART], *selected}]
    return [f"note: the file also has {part}: --microarchitecture {part}" for part in unread]


def _isa(options: dict[str, Any]) -> ISA | None:
    return by_name(ISA, options["isa"]) if options["isa"] else None


def _content(path: Path, output: OutputWrapper | None = None) -> bytes:
    """The bytes to read of a file; `output`: for its progress."""
    try:
        report = (lambda done: None) if output is None else ReadingProgress(output, path)
        with path.open("rb") as file:
            return bytes_to_store(file, path.name, report=report)
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}") from error


def _names(path: Path | None) -> NameList | None:
    return None if path is None else name_list_of(_content(path), path.name)

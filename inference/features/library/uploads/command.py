"""`manage.py import FILE`: experiments, a mapping, or what another app reads; the format is recognised."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.db import transaction

from inference.core.explain import SchemeFate
from inference.formats.document import PART
from inference.formats.explaining import ImportedExplanation
from inference.formats.file_numbers import FileUnit, doubts_of, unit_in_doubt
from inference.formats.import_formats import name_list_of, rejects_of, taken_in
from inference.formats.other_formats import importer_of_path, importers
from inference.formats.palmed_json import NameList
from inference.formats.parsing import Parsed
from inference.models import ISA, ExperimentSet
from inference.storage.importing import Imported, Preview, commit, preview
from inference.storage.names import by_name, kind_of
from inference.web.data_command import DataCommand

AUTO = "auto"


class Command(DataCommand):
    """Imports in the shell; see the module."""

    help = (
        "Import experiments (CSV, PMEvo ExperimentList), a port mapping (own JSON, PMEvo Mapping3, published "
        "explainable results, uops.info's JSON or instructions.xml), a resource mapping (own JSON, Palmed), "
        "latencies and throughputs of llvm-exegesis or WINIC, a machine model of OSACA (YAML), "
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
            help="found a new instruction set with the file's schemes",
        )
        parser.add_argument(
            "--unit",
            choices=[*(unit.value for unit in FileUnit), AUTO],
            default=FileUnit.CYCLES.value,
            help="unit of CSV rows that name none (default: cycles); auto: what the numbers seem to be",
        )
        parser.add_argument(
            "--take-nearest",
            action="store_true",
            help="take every unknown scheme name for the known one that comes nearest",
        )
        parser.add_argument(
            "--skip-broken",
            action="store_true",
            help="leave out experiments with a problem instead of importing nothing",
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
            help="what the runs rejected whose result the file is, as JSON, one file per run",
        )
        parser.add_argument(
            "--evidence",
            nargs="+",
            default=[],
            metavar="SET",
            help="experiment sets of the runs whose result the file is",
        )
        parser.add_argument(
            "--microarchitecture",
            nargs="+",
            default=[""],
            metavar="NAME",
            help="those to read of a file with several, e.g. SKL, or 'SKL measured' for times; "
            "or the parts to read of a file that has several: throughputs, latencies, ports",
        )
        parser.add_argument("--note", default="", help="free text kept with it")
        for importer in importers():
            importer.add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """Import the file, or list what is wrong with it and store nothing."""
        path: Path = options["file"]
        other = importer_of_path(path)
        if other is not None:
            self.stdout.write("\n".join(other.import_path(path, options)))
            return
        if options["isa"] and options["new_isa"]:
            raise CommandError("--isa and --new-isa exclude each other")
        wanted: list[str] = options["microarchitecture"]
        if options["name"] and len(wanted) > 1:
            raise CommandError("--name is for one microarchitecture: several are named by the file")
        content = _content(path)
        with transaction.atomic():
            done = [self._import(content, path.name, options, each) for each in wanted]
        for made, seen in done:
            self._tell(made, seen.parsed, seen.explanation)
            for line in (*_decided(seen), *_not_read(seen, wanted)):
                self.stdout.write(line)

    def _import(
        self, content: bytes, file_name: str, options: dict[str, Any], microarchitecture: str
    ) -> tuple[Imported, Preview]:
        seen = preview(
            content,
            file_name,
            isa=_isa(options),
            founding="" if _isa(options) else options["new_isa"],
            unit=None if options["unit"] == AUTO else FileUnit(options["unit"]),
            names=_names(options["names"]),
            rejects=[rejects_of(_content(each), each.name) for each in options["rejects"]],
            evidence=[by_name(ExperimentSet, each) for each in options["evidence"]],
            microarchitecture=microarchitecture,
            take_nearest=options["take_nearest"],
            leave_out=options["skip_broken"],
        )
        if not seen.acceptable:
            raise CommandError(
                "\n".join(["nothing was imported", *seen.parsed.lines(), *_advice(seen.parsed)])
            )
        several = len(options["microarchitecture"]) > 1
        name = seen.name if several else options["name"] or seen.own_name
        made = commit(seen, name, note=options["note"])
        options["isa"] = made.isa.name  # what the first one has founded, the others go to
        return made, seen

    def _tell(self, made: Imported, parsed: Parsed, explanation: ImportedExplanation | None) -> None:
        kind = kind_of(type(made.row))
        unit = "measurements" if isinstance(made.row, ExperimentSet) else "schemes"
        if made.isa_made:
            self.stdout.write(f"new instruction set {made.isa.name!r}: {len(parsed.schemes)} schemes")
        self.stdout.write(f"{kind} {made.row.name!r}: {made.rows} {unit}, instruction set {made.isa.name}")
        if explanation is not None:
            counted = explanation.outcomes
            told = ", ".join(f"{counted[outcome]} {outcome}" for outcome in SchemeFate if counted[outcome])
            witnesses = sum(len(each.witnesses) for each in explanation.characterisations)
            self.stdout.write(f"{told}; {witnesses} witnesses")
        for scheme, names in parsed.merged.items():
            self.stdout.write(f"note: {len(names)} names of the file mean {scheme}: {', '.join(names)}")
        if "instructions" in parsed.facts:
            total = parsed.facts["instructions"]
            matched = total - len(parsed.left_out)
            self.stdout.write(
                f"{matched} of the file's {total} instructions have a scheme in {made.isa.name}"
            )
        if parsed.left_out:
            self.stdout.write(f"left out are {len(parsed.left_out)}:")
        for name, why in parsed.left_out.items():
            self.stdout.write(f"  {name}: {why}")


def _advice(parsed: Parsed) -> list[str]:
    """What could be asked for instead of importing nothing."""
    found = []
    if any(each.nearest for each in parsed.unknown):
        found.append("--take-nearest takes unknown names for the nearest known ones")
    if parsed.can_leave_out:
        found.append(f"--skip-broken imports {parsed.left} rows without the {parsed.broken} with problems")
    return found


def _decided(seen: Preview) -> list[str]:
    """What was decided about the file, and what is hard to believe of it."""
    parsed = seen.parsed
    lines = [f"note: {name!r} was taken for {text!r}" for name, text in seen.taken.items()]
    if seen.leave_out and parsed.broken:
        lines += [f"left out: {parsed.broken} rows with problems", *(f"  {line}" for line in parsed.lines())]
    doubt = unit_in_doubt(parsed.facts)
    if doubt:
        lines.append(f"warning: {doubt}; see --unit")
    for kind in doubts_of(parsed.measured):
        rows = ", ".join(str(each.row) for each in kind.listed[:10])
        lines.append(f"warning: {kind.count} rows {kind.label}: {rows}{' …' if kind.count > 10 else ''}")
    return lines


def _not_read(seen: Preview, wanted: Sequence[str]) -> list[str]:
    """Parts of the file that nobody has asked for."""
    facts = seen.parsed.facts
    if PART not in facts:
        return []
    others = [each for each in facts["microarchitectures"] if each not in {facts[PART], *wanted}]
    return [f"note: the file has {each} as well: --microarchitecture {each}" for each in others]


def _isa(options: dict[str, Any]) -> ISA | None:
    return by_name(ISA, options["isa"]) if options["isa"] else None


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return taken_in(file, path.name)
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}") from error


def _names(path: Path | None) -> NameList | None:
    return None if path is None else name_list_of(_content(path), path.name)

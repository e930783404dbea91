"""Importing a file: look at it first, then store all of it or nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import PurePath
from typing import Any, TypedDict, Unpack

from django.db import transaction

from inference.core.experiment import Measured
from inference.core.metrics import Unit
from inference.core.protocols import Json
from inference.core.texts import count_of
from inference.formats.explaining import ImportedExplanation, explanation_of
from inference.formats.file_numbers import FileUnit
from inference.formats.import_formats import FileContent, ParsedFile, read
from inference.formats.palmed_json import NameList
from inference.formats.parsing import AnyNames, Names, Parsed, resolve
from inference.formats.problems import ExchangeError
from inference.formats.rejects_json import Rejects, quoted_names, with_rejects
from inference.isa.targets import DEFAULT
from inference.models import ISA, ExperimentSet, LatencySet, PortMapping, ResourceMapping, Run
from inference.storage.characterisations import KEY, store_characterisations
from inference.storage.errors import RefusedError
from inference.storage.instruction_sets import code_isa_row, likely_isa, new_isa, vocabulary
from inference.storage.latencies import store_parsed_latencies
from inference.storage.mappings import SOURCE_LENGTH, store_mapping, store_resource_mapping
from inference.storage.names import NAME_LIMIT, free_name, free_or_refuse
from inference.storage.rows import keep_summary, load_measurements, store_measurements

LISTED = 50
"""Problems of rows that were left out that the set keeps in words."""
MEASURED_IN = "measured_in"
"""Where a mapping's report has the ids of the experiment sets that were named as its evidence."""

MadeRow = ExperimentSet | PortMapping | ResourceMapping | LatencySet
"""What a file can become."""
_MODELS: dict[FileContent | None, type[MadeRow]] = {
    FileContent.MAPPING: PortMapping,
    FileContent.RESOURCES: ResourceMapping,
    FileContent.LATENCIES: LatencySet,
}


@dataclass(frozen=True)
class Preview:
    """A parsed file with the instruction set it would go to.

    `isa` is None where the file would found the instruction set `new_isa`. `own_name` is what the file
    says it is called, or its file name. `explanation` is what it says of explainable inference, and
    `evidence` the experiment sets that belong to that. `taken` are the schemes that unknown names were taken
    for, `leave_out` whether rows with problems are to be left out.
    """

    parsed: Parsed
    isa: ISA | None
    new_isa: str
    own_name: str
    explanation: ImportedExplanation | None = None
    evidence: tuple[ExperimentSet, ...] = ()
    microarchitecture: str = ""
    taken: Mapping[str, str] = field(default_factory=dict)
    leave_out: bool = False

    @property
    def model(self) -> type[MadeRow]:
        """What an import would make."""
        return _MODELS.get(self.parsed.content, ExperimentSet)

    @cached_property
    def name(self) -> str:
        """The file's own name, or one like it that nobody has yet."""
        return free_name(self.model, self.own_name)

    @property
    def acceptable(self) -> bool:
        """Whether the file can be imported as it is."""
        return self.parsed.blocking == 0

    @property
    def making(self) -> Json:
        """What its owner decided, as its set will tell it; {} where the file was taken as it is."""
        told: Json = {}
        if self.leave_out and self.parsed.broken:
            told["rows_left_out"] = self.parsed.broken
            told["why"] = self.parsed.lines()[:LISTED]
        if self.taken:
            told["names_taken"] = dict(self.taken)
        return told


@dataclass(frozen=True)
class Imported:
    """What an import has made, and how many measurements or schemes it has."""

    row: MadeRow
    rows: int
    isa: ISA
    isa_made: bool


class Choices(TypedDict, total=False):
    """What is decided about a file besides its unit and which part of it; see `preview_of`."""

    isa: ISA | None
    founding: str
    names: NameList | None
    rejects: Sequence[Rejects]
    evidence: Sequence[ExperimentSet]
    taken: Mapping[str, str] | None
    take_nearest: bool
    leave_out: bool


def preview(
    content: bytes,
    file_name: str,
    *,
    unit: FileUnit | Unit | None = FileUnit.CYCLES,
    microarchitecture: str = "",
    **choices: Unpack[Choices],
) -> Preview:
    """Parse a file; the rest as `preview_of` has it.

    `unit` is that of numbers whose unit the file does not name, None for what they seem to be;
    `microarchitecture` the one to read of a file that has several.
    """
    return preview_of(read(content, file_name, unit, microarchitecture), **choices)


def preview_of(
    reading: ParsedFile,
    *,
    isa: ISA | None = None,
    founding: str = "",
    names: NameList | None = None,
    rejects: Sequence[Rejects] = (),
    evidence: Sequence[ExperimentSet] = (),
    taken: Mapping[str, str] | None = None,
    take_nearest: bool = False,
    leave_out: bool = False,
) -> Preview:
    """Look a file's names up in an instruction set: the given one, a new one `founding`, or the likely one.

    `names` are scheme names for the instructions of a Palmed file, see `name_list_of`; `rejects` what the
    runs rejected of which the file is the result, one list each, see `rejects_of`; `evidence` experiment sets
    of those runs. `taken`: {unknown name: scheme}; `take_nearest`: every unknown name is taken for the scheme
    that comes nearest. `leave_out`: experiments with a problem are left out, and told of.
    Stores nothing and never raises for what the file says; `ExchangeError` where there is no instruction set,
    and where rejects or evidence come with something else than a port mapping of the same instruction set.
    """
    if names:
        reading = reading.translated(names)
    if rejects:
        reading = replace(reading, document=with_rejects(reading.document, rejects))
    if isa is None and not founding:
        isa = likely_isa(reading.scheme_names, reading.document.facts) or _default_isa()
    known: Names = AnyNames() if isa is None or founding else vocabulary(isa)
    taken = dict(taken or {})
    if taken and founding:
        raise ExchangeError("a new instruction set knows all names of its file: none is taken for another")
    _check_taken(taken, known)
    parsed = resolve(reading, known, taken=taken, leave_out=leave_out)
    if take_nearest and parsed.unknown:
        taken |= {each.name: each.nearest[0] for each in parsed.unknown if each.nearest}
        parsed = resolve(reading, known, taken=taken, leave_out=leave_out)
    seen = Preview(
        parsed,
        None if founding else isa,
        founding,
        _name(parsed),
        evidence=tuple(evidence),
        microarchitecture=reading.wanted,
        taken={name: text for name, text in taken.items() if name in reading.scheme_names},
        leave_out=leave_out,
    )
    if parsed.mapping is not None and parsed.verdicts:
        return replace(seen, explanation=_explanation(seen, known, rejects))
    if seen.acceptable and (rejects or evidence):
        raise ExchangeError(
            f"{reading.file_name} has no verdicts on schemes, to which rejects or evidence could belong"
        )
    return seen


def _check_taken(taken: Mapping[str, str], known: Names) -> None:
    for name, text in taken.items():
        if known.resolve(text) is None:
            raise ExchangeError(
                f"{name!r} cannot be taken for {text!r}: the instruction set has no such scheme"
            )


def _explanation(seen: Preview, known: Names, rejects: Sequence[Rejects]) -> ImportedExplanation:
    parsed = seen.parsed
    assert parsed.mapping is not None
    named = {name for each in rejects for name in each}
    named |= {name for each in rejects for why in each.values() for name in quoted_names(why)}
    found = ((name, known.resolve(name)) for name in sorted(named))
    schemes = {name: text for name, text in found if text is not None}
    measured: list[Measured] = []
    for experiment_set in seen.evidence:
        if experiment_set.isa != seen.isa:
            raise ExchangeError(
                f"{experiment_set.name!r} has measurements of {experiment_set.isa.name}, which cannot be "
                f"evidence for a mapping of {seen.new_isa if seen.isa is None else seen.isa.name}"
            )
        measured += load_measurements(experiment_set)
    return explanation_of(parsed.mapping, parsed.verdicts, rejects, schemes, measured)


def _default_isa() -> ISA:
    """The instruction set whose names an unknown file is compared with."""
    isa = code_isa_row() or ISA.objects.order_by("id").first()
    if isa is None:
        raise ExchangeError(f"there is no instruction set yet: load {DEFAULT} with `manage.py load-isa`")
    return isa


def _name(parsed: Parsed) -> str:
    said = parsed.facts.get("name")
    stem = said if isinstance(said, str) and said.strip() else PurePath(parsed.file_name).stem
    return stem.strip()[:NAME_LIMIT] or "import"


@transaction.atomic
def commit(seen: Preview, name: str, *, note: str = "", run: Run | None = None) -> Imported:
    """Store a previewed file under a name, all of it or nothing.

    Raises `RefusedError` for a file with problems, `NameTakenError` for a name in use, and `ExchangeError`
    for one that no row can have.
    """
    parsed = seen.parsed
    if not seen.acceptable or parsed.format is None:
        raise RefusedError(
            f"{parsed.file_name} has {count_of(parsed.problem_count, 'problem')}; nothing was imported"
        )
    source = f"{PurePath(parsed.file_name).name}, {parsed.format.title}"[:SOURCE_LENGTH]
    free_or_refuse(seen.model, name)
    isa = seen.isa or new_isa(seen.new_isa, parsed.schemes, source[:200], parsed.features)
    row, rows = _store(seen, isa, name, source, note, run)
    return Imported(row, rows, isa, seen.isa is None)


def _store(
    seen: Preview, isa: ISA, name: str, source: str, note: str, run: Run | None
) -> tuple[MadeRow, int]:
    """The new row, and how many rows of the file are in it."""
    parsed = seen.parsed
    if parsed.latencies:
        latencies = store_parsed_latencies(parsed, isa, name, source=source, note=note, run=run)
        return latencies, len(parsed.latencies)
    if parsed.resources is not None:
        origin, report = ResourceMapping.Origin.IMPORT, _report_of(parsed)
        resources = store_resource_mapping(
            name, isa, parsed.resources, origin=origin, source=source, report=report, note=note
        )
        return resources, len(parsed.resources.loads)
    if parsed.mapping is not None:
        report = _mapping_report(seen)
        mapping = store_mapping(
            name,
            isa,
            parsed.mapping,
            origin=PortMapping.Origin.IMPORT,
            source=source,
            report=report,
            note=note,
        )
        if seen.explanation is not None:
            store_characterisations(mapping, seen.explanation.characterisations)
        return mapping, len(parsed.schemes)
    row = ExperimentSet.objects.create(
        name=name,
        note=note,
        isa=isa,
        run=run,
        origin=ExperimentSet.Origin.UPLOAD,
        source=source,
        making=seen.making,
    )
    stored = store_measurements(row, parsed.measured)
    keep_summary(row)
    return row, stored


def _mapping_report(seen: Preview) -> dict[str, Any]:
    """What the pages of an imported port mapping tell beside it."""
    report = _report_of(seen.parsed)
    if seen.explanation is not None:
        report[KEY] = seen.explanation.report
        report[MEASURED_IN] = [each.pk for each in seen.evidence]
    return report


def _report_of(parsed: Parsed) -> dict[str, Any]:
    """What the page of an imported mapping tells of a partial file: counts, and what was left out."""
    counts = {key: parsed.facts[key] for key in ("instructions", "classes") if key in parsed.facts}
    return {**counts, "left_out": dict(parsed.left_out)} if counts else {}

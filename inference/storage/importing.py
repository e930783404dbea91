"""Imports a file: a preview that stores nothing, then storing all of it or nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import PurePath
from typing import Any, TypedDict, Unpack

from django.db import transaction

from inference.core.experiment import Measured, Unit
from inference.core.protocols import Json
from inference.core.texts import count_of
from inference.formats.file_formats import FileContent
from inference.formats.file_numbers import FileUnit, doubts_of
from inference.formats.import_formats import ParsedFile, read
from inference.formats.imported_explanation import ImportedExplanation, explanation_of
from inference.formats.palmed_json import NameList
from inference.formats.parsing import AnyNames, Names, Parsed, resolve
from inference.formats.problems import ExchangeError
from inference.formats.rejects_json import Rejects, quoted_names, with_rejects
from inference.isa.targets import DEFAULT
from inference.models import ISA, ExperimentSet, LatencySet, PortMapping, ResourceMapping, Run
from inference.storage.characterisations import KEY, store_characterisations
from inference.storage.errors import RefusedError
from inference.storage.instruction_sets import CORE, code_isa_row, likely_isa, new_isa, vocabulary
from inference.storage.latencies import store_parsed_latencies
from inference.storage.mappings import SOURCE_LENGTH, store_mapping, store_resource_mapping
from inference.storage.names import NAME_LIMIT, check_name_free, free_name
from inference.storage.rows import load_measurements, store_measurements, store_summary

MAX_LISTED = 50
"""Problems of left-out rows that are kept with the set as text."""

MEASURED_IN = "measured_in"
"""Key of a mapping's report: ids of the experiment sets that were named as its evidence."""

DOUBTS = "doubts"
"""Key of what is stored with an imported row: values that are hard to believe, as lines."""

ImportedRow = ExperimentSet | PortMapping | ResourceMapping | LatencySet
"""Kinds of rows that a file is stored as."""

_MODELS: dict[FileContent | None, type[ImportedRow]] = {
    FileContent.MAPPING: PortMapping,
    FileContent.RESOURCES: ResourceMapping,
    FileContent.LATENCIES: LatencySet,
}


@dataclass(frozen=True)
class Preview:
    """A parsed file with the instruction set that it is stored with.

    Attributes:
        isa: None where the import would create the instruction set `new_isa`.
        own_name: The name in the file, or its file name.
        explanation: Results of explainable inference, with the experiment sets `evidence`.
        substitutes: {unknown name: scheme}.
        leave_out: Whether rows with problems are left out.
    """

    parsed: Parsed
    isa: ISA | None
    new_isa: str
    own_name: str
    explanation: ImportedExplanation | None = None
    evidence: tuple[ExperimentSet, ...] = ()
    microarchitecture: str = ""
    substitutes: Mapping[str, str] = field(default_factory=dict)
    leave_out: bool = False
    core: str = ""

    @property
    def model(self) -> type[ImportedRow]:
        return _MODELS.get(self.parsed.content, ExperimentSet)

    @cached_property
    def name(self) -> str:
        """The file's own name, with a number where another row has it."""
        return free_name(self.model, self.own_name)

    @property
    def acceptable(self) -> bool:
        return self.parsed.blocking == 0

    @property
    def making(self) -> Json:
        """Left-out rows, substituted names and the core, as stored with the set; {} where there are none."""
        making: Json = {CORE: self.core} if self.core else {}
        if self.leave_out and self.parsed.broken:
            making["rows_left_out"] = self.parsed.broken
            making["why"] = self.parsed.lines()[:MAX_LISTED]
        if self.substitutes:
            making["names_taken"] = dict(self.substitutes)
        if doubts := doubt_lines(self.parsed):
            making[DOUBTS] = doubts
        return making


@dataclass(frozen=True)
class ImportResult:
    """The row that an import created. `rows`: its measurements or schemes."""

    row: ImportedRow
    rows: int
    isa: ISA
    is_new_isa: bool


class Choices(TypedDict, total=False):
    """Keyword arguments of `preview_of` besides the file, for `preview`."""

    isa: ISA | None
    new_isa_name: str
    names: NameList | None
    rejects: Sequence[Rejects]
    evidence: Sequence[ExperimentSet]
    substitutes: Mapping[str, str] | None
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
    """Parse a file and preview it.

    Args:
        content: The file.
        file_name: Name of the file, for messages, and as a default name.
        unit: Unit of numbers for which the file names none; None concludes it from the numbers.
        microarchitecture: Part of a file with several; "" for the only one.
        choices: See `preview_of`.
    """
    return preview_of(read(content, file_name, unit, microarchitecture), **choices)


def preview_of(
    reading: ParsedFile,
    *,
    isa: ISA | None = None,
    new_isa_name: str = "",
    names: NameList | None = None,
    rejects: Sequence[Rejects] = (),
    evidence: Sequence[ExperimentSet] = (),
    substitutes: Mapping[str, str] | None = None,
    take_nearest: bool = False,
    leave_out: bool = False,
) -> Preview:
    """Resolve a file's names in an instruction set. Stores nothing; problems are listed, not raised.

    Args:
        reading: The file as read.
        isa: Instruction set; None for a new one or the likely one.
        new_isa_name: Name of a new instruction set, made of the file's names; "" for none.
        names: Scheme names of a Palmed file's instructions, see `name_list_of`.
        rejects: Schemes rejected by the runs whose result the file is, one list each, see `rejects_of`.
        evidence: Experiment sets of those runs.
        substitutes: {unknown name: scheme} to use instead.
        take_nearest: Substitute the nearest scheme for every other unknown name.
        leave_out: Leave out experiments with problems.

    Raises:
        ExchangeError: There is no instruction set; a substitute is no scheme; or rejects or evidence
            accompany another file than a port mapping of the same instruction set.
    """
    if names:
        reading = reading.translated(names)
    if rejects:
        reading = replace(reading, document=with_rejects(reading.document, rejects))
    if isa is None and not new_isa_name:
        isa = likely_isa(reading.scheme_names, reading.document.facts) or _default_isa()
    names_of_isa: Names = AnyNames() if isa is None or new_isa_name else vocabulary(isa)
    substitutes = dict(substitutes or {})
    if substitutes and new_isa_name:
        raise ExchangeError("a new instruction set knows all names of its file: none is taken for another")
    _check_substitutes(substitutes, names_of_isa)
    parsed = resolve(reading, names_of_isa, substitutes=substitutes, leave_out=leave_out)
    if take_nearest and parsed.unknown:
        substitutes |= {
            unknown_name.name: unknown_name.nearest[0]
            for unknown_name in parsed.unknown
            if unknown_name.nearest
        }
        parsed = resolve(reading, names_of_isa, substitutes=substitutes, leave_out=leave_out)
    result = Preview(
        parsed,
        None if new_isa_name else isa,
        new_isa_name,
        _name(parsed),
        evidence=tuple(evidence),
        microarchitecture=reading.part,
        substitutes={name: text for name, text in substitutes.items() if name in reading.scheme_names},
        leave_out=leave_out,
        core=str(parsed.facts.get(CORE, "")),
    )
    if parsed.mapping is not None and parsed.verdicts:
        return replace(result, explanation=_explanation(result, names_of_isa, rejects))
    if result.acceptable and (rejects or evidence):
        raise ExchangeError(
            f"{reading.file_name} has no verdicts on schemes, to which rejects or evidence could belong"
        )
    return result


def _check_substitutes(substitutes: Mapping[str, str], names: Names) -> None:
    for name, text in substitutes.items():
        if names.resolve(text) is None:
            raise ExchangeError(
                f"{name!r} cannot be taken for {text!r}: the instruction set has no such scheme"
            )


def _explanation(preview: Preview, names: Names, rejects: Sequence[Rejects]) -> ImportedExplanation:
    parsed = preview.parsed
    assert parsed.mapping is not None
    quoted = {name for run in rejects for name in run}
    quoted |= {name for run in rejects for why in run.values() for name in quoted_names(why)}
    resolved = ((name, names.resolve(name)) for name in sorted(quoted))
    schemes = {name: text for name, text in resolved if text is not None}
    measured: list[Measured] = []
    for experiment_set in preview.evidence:
        if experiment_set.isa != preview.isa:
            raise ExchangeError(
                f"{experiment_set.name!r} has measurements of {experiment_set.isa.name}, which cannot be "
                f"evidence for a mapping of {preview.new_isa if preview.isa is None else preview.isa.name}"
            )
        measured += load_measurements(experiment_set)
    return explanation_of(parsed.mapping, parsed.verdicts, rejects, schemes, measured)


def _default_isa() -> ISA:
    """The instruction set for a file that fits none: x86-64, else the oldest. Raises `ExchangeError`."""
    isa = code_isa_row() or ISA.objects.order_by("id").first()
    if isa is None:
        raise ExchangeError(f"there is no instruction set yet: load {DEFAULT} with `manage.py load-isa`")
    return isa


def doubt_lines(parsed: Parsed) -> list[str]:
    """Values of a file that are hard to believe, a line per kind."""
    return [kind.line() for kind in (*doubts_of(parsed.measured), *parsed.doubts)]


def _name(parsed: Parsed) -> str:
    stated = parsed.facts.get("name")
    stem = stated if isinstance(stated, str) and stated.strip() else PurePath(parsed.file_name).stem
    return stem.strip()[:NAME_LIMIT] or "import"


@transaction.atomic
def commit(preview: Preview, name: str, *, note: str = "", run: Run | None = None) -> ImportResult:
    """Store a previewed file, all or nothing.

    Args:
        preview: Preview of an acceptable file.
        name: Name of what is stored.
        note: Note of the user.
        run: Run that imports it, None for an upload.

    Raises:
        RefusedError: The file has problems.
        NameInUseError: The name is in use.
        ExchangeError: The name is invalid.
    """
    parsed = preview.parsed
    if not preview.acceptable or parsed.format is None:
        raise RefusedError(
            f"{parsed.file_name} has {count_of(parsed.problem_count, 'problem')}; nothing was imported"
        )
    source = f"{PurePath(parsed.file_name).name}, {parsed.format.title}"[:SOURCE_LENGTH]
    check_name_free(preview.model, name)
    isa = preview.isa or new_isa(preview.new_isa, parsed.schemes, source[:200], parsed.features)
    row, rows = _store(preview, isa, name, source, note, run)
    return ImportResult(row, rows, isa, preview.isa is None)


def _store(
    preview: Preview, isa: ISA, name: str, source: str, note: str, run: Run | None
) -> tuple[ImportedRow, int]:
    """(the new row, number of measurements or schemes stored)."""
    parsed = preview.parsed
    if parsed.latencies:
        note = " ".join([note or f"From {source}.", *(f"Doubts: {line}." for line in doubt_lines(parsed))])
        latencies = store_parsed_latencies(
            parsed, isa, name, core=preview.core, source=source, note=note, run=run
        )
        return latencies, len(parsed.latencies)
    if parsed.resources is not None:
        origin, report = ResourceMapping.Origin.IMPORT, _report_of(preview)
        resources = store_resource_mapping(
            name, isa, parsed.resources, origin=origin, source=source, report=report, note=note
        )
        return resources, len(parsed.resources.loads)
    if parsed.mapping is not None:
        report = _mapping_report(preview)
        mapping = store_mapping(
            name,
            isa,
            parsed.mapping,
            origin=PortMapping.Origin.IMPORT,
            source=source,
            report=report,
            note=note,
        )
        if preview.explanation is not None:
            store_characterisations(mapping, preview.explanation.characterisations)
        return mapping, len(parsed.schemes)
    row = ExperimentSet.objects.create(
        name=name,
        note=note,
        isa=isa,
        run=run,
        origin=ExperimentSet.Origin.UPLOAD,
        source=source,
        making=preview.making,
    )
    stored = store_measurements(row, parsed.measured)
    store_summary(row)
    return row, stored


def _mapping_report(preview: Preview) -> dict[str, Any]:
    report = _report_of(preview)
    if preview.explanation is not None:
        report[KEY] = preview.explanation.report
        report[MEASURED_IN] = [experiment_set.pk for experiment_set in preview.evidence]
    return report


def _report_of(preview: Preview) -> dict[str, Any]:
    """Counts and left-out instructions of a partial file, and the core of any file that it is stated of."""
    parsed = preview.parsed
    core = {CORE: preview.core} if preview.core else {}
    counts = {key: parsed.facts[key] for key in ("instructions", "classes") if key in parsed.facts}
    doubts = {DOUBTS: lines} if (lines := doubt_lines(parsed)) else {}
    return {**core, **doubts, **counts, "left_out": dict(parsed.left_out)} if counts else {**core, **doubts}

"""Stores the content of a run's archive except the run: machines, sets, mappings and evaluations."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Annotated

from pydantic import Field

from inference.core.events import Amount, Count
from inference.core.explain.events import BottleneckEvent, check_masks
from inference.core.mapping import PortMapping
from inference.core.protocols import Json
from inference.formats.archived_parts import ABSENT, ArchivedPart, read_shape
from inference.formats.parsing import AnyNames, parse
from inference.formats.problems import ExchangeError
from inference.formats.run_archive import (
    RUN,
    ArchivedEvaluation,
    ArchivedFrontPoint,
    ArchivedMachine,
    ArchivedMapping,
    ArchivedVerdict,
    Numbers,
)
from inference.formats.run_archive_reading import MeasuredSet, RunArchive
from inference.models import (
    ISA,
    Characterisation,
    Evaluation,
    ExperimentSet,
    FrontPoint,
    Machine,
    ResourceMapping,
    Run,
    Witness,
)
from inference.models import PortMapping as PortMappingRow
from inference.storage.characterisations import ExplainedMapping
from inference.storage.evidence import Evidence
from inference.storage.importing import MEASURED_IN
from inference.storage.instruction_sets import SUPPLIED, new_isa
from inference.storage.latencies import published_machine
from inference.storage.mappings import store_mapping, store_resource_mapping
from inference.storage.names import free_name
from inference.storage.results import mapping_json, store_result
from inference.storage.rows import BATCH, complete_ids, scheme_ids, store_measurements, store_summary


class ArchiveImport:
    """The import of one archive. `numbers`: {old id: new id} of the rows stored so far.

    Use it within one transaction. Names in use get a number appended. Raises `ExchangeError`.
    """

    def __init__(self, archive: RunArchive, run: Run, source: str) -> None:
        self._archive = archive
        self._run = run
        self._source = source
        self._isas: dict[str, ISA] = {}
        self._machines: dict[int | None, Machine] = {}
        self.numbers = Numbers()

    def store(self) -> int:
        """Store all rows of the archive; returns the number of measurements."""
        manifest = self._archive.manifest
        for name, texts in self._texts().items():
            self._isas[name] = isa_for(name, texts, self._source)
        self._machines = {number: self._machine(machine) for number, machine in manifest.machines.items()}
        self.numbers.machines = {number: self._machines[number].pk for number in manifest.machines}
        measurements = sum(self._set(archived_set) for archived_set in self._archive.sets)
        for archived in manifest.mappings:
            self._mapping(archived)
        for archived in manifest.resource_mappings:
            self._resource_mapping(archived)
        self.numbers.schemes.update(self._schemes(manifest.schemes))
        return measurements

    def _texts(self) -> dict[str, set[str]]:
        """{instruction set: scheme texts} of everything in the archive."""
        manifest = self._archive.manifest
        texts: dict[str, set[str]] = {entry.isa: set() for entry in manifest.machines.values()}
        for archived_set in self._archive.sets:
            schemes = texts.setdefault(archived_set.description.isa, set())
            schemes.update(text for row in archived_set.measured for text in row.experiment.schemes)
        for archived in manifest.mappings:
            schemes = texts.setdefault(archived.isa, set())
            schemes.update(self._archive.mappings[archived.id].usage)
            schemes.update(entry.scheme for entry in archived.verdicts)
            schemes.update(witness.blocker for entry in archived.verdicts for witness in entry.witnesses)
        for archived in manifest.resource_mappings:
            texts.setdefault(archived.isa, set()).update(self._archive.resource_mappings[archived.id].loads)
        if manifest.schemes:
            texts.setdefault(str(manifest.run.config.get("isa")), set()).update(manifest.schemes.values())
        return texts

    def _machine(self, machine: ArchivedMachine) -> Machine:
        """A machine row that cannot measure; shared with earlier archives of the same machine."""
        isa = self._isas[machine.isa]
        return published_machine(machine.name, self._source, isa=isa, cpu=machine.cpu, facts=machine.facts)

    def _set(self, archived: MeasuredSet) -> int:
        description = archived.description
        row = ExperimentSet.objects.create(
            name=free_name(ExperimentSet, description.name),
            note=description.note,
            isa=self._isas[description.isa],
            machine=self._machines.get(description.machine),
            run=self._run if description.own else None,
            origin=ExperimentSet.Origin.RUN if description.own else ExperimentSet.Origin.UPLOAD,
            source=description.source or self._source,
            identity=description.identity,
        )
        stored = store_measurements(row, archived.measured)
        store_summary(row)
        self.numbers.sets[description.id] = row.pk
        return stored

    def _mapping(self, archived: ArchivedMapping) -> None:
        value = self._archive.mappings[archived.id]
        place = f"{RUN}, report of mapping {archived.id}"
        try:
            masks = read_shape(MappingReport, archived.report, place).masks()
            check_masks([*masks, *archived.masks()], len(value.ports))
        except ValueError as error:
            raise ExchangeError(f"{place}: {error}") from error
        report = dict(archived.report)
        if isinstance(report.get(MEASURED_IN), list):
            measured_in = (self.numbers.sets.get(number) for number in report[MEASURED_IN])
            report[MEASURED_IN] = [number for number in measured_in if number is not None]
        store = store_result if archived.own else partial(store_mapping, origin=PortMappingRow.Origin.IMPORT)
        row = store(
            free_name(PortMappingRow, archived.name),
            self._isas[archived.isa],
            value,
            source=archived.source or self._source,
            machine=self._machines.get(archived.machine),
            run=self._run if archived.own else None,
            report=report,
            note=archived.note,
        )
        self.numbers.mappings[archived.id] = row.pk
        self._verdicts(row, archived.verdicts)
        FrontPoint.objects.bulk_create(
            [self._point(row, point) for point in archived.front], batch_size=BATCH
        )
        self._evaluations(row, archived.evaluations)

    def _resource_mapping(self, archived: ArchivedMapping) -> None:
        read_shape(MappingReport, archived.report, f"{RUN}, report of resource mapping {archived.id}")
        row = store_resource_mapping(
            free_name(ResourceMapping, archived.name),
            self._isas[archived.isa],
            self._archive.resource_mappings[archived.id],
            origin=ResourceMapping.Origin.IMPORT,
            source=archived.source or self._source,
            machine=self._machines.get(archived.machine),
            report=archived.report,
            note=archived.note,
        )
        self.numbers.resource_mappings[archived.id] = row.pk
        self._evaluations(row, archived.evaluations)

    def _evaluations(
        self, row: PortMappingRow | ResourceMapping, evaluations: Iterable[ArchivedEvaluation]
    ) -> None:
        for evaluation in evaluations:
            on = self._set_id(evaluation.experiment_set)
            if on is None and not (isinstance(row, PortMappingRow) and row.run_id == self._run.pk):
                raise ExchangeError(
                    f"{row.name}: only the run's own mapping is judged by what the run held out"
                )
            Evaluation.objects.create(
                mapping=row if isinstance(row, PortMappingRow) else None,
                resource_mapping=row if isinstance(row, ResourceMapping) else None,
                experiment_set_id=on,
                held_out_by=self._run if on is None else None,
                **_numbers(evaluation),
            )

    def _set_id(self, number: int | None) -> int | None:
        return None if number is None else self.numbers.sets[number]

    def _verdicts(self, row: PortMappingRow, verdicts: list[ArchivedVerdict]) -> None:
        schemes = {verdict.scheme for verdict in verdicts} | {
            named_witness.blocker for verdict in verdicts for named_witness in verdict.witnesses
        }
        ids = complete_ids(row.isa, schemes)
        rows = Characterisation.objects.bulk_create(
            [
                Characterisation(
                    mapping=row,
                    scheme_id=ids[verdict.scheme],
                    **verdict.model_dump(mode="json", exclude={"scheme", "witnesses"}),
                )
                for verdict in verdicts
            ],
            batch_size=BATCH,
        )
        Witness.objects.bulk_create(
            [
                Witness(
                    characterisation=stored,
                    blocker_id=ids[witness.blocker],
                    **witness.model_dump(mode="json", exclude={"blocker"}),
                )
                for stored, verdict in zip(rows, verdicts, strict=True)
                for witness in verdict.witnesses
            ],
            batch_size=BATCH,
        )

    def _point(self, row: PortMappingRow, point: ArchivedFrontPoint) -> FrontPoint:
        judged: Json = {}
        if point.judged is not None:
            judged = point.judged.model_dump(mode="json", exclude={"unit"})
            judged["experiment_set"] = self._set_id(point.judged.experiment_set)
        return FrontPoint(
            mapping=row,
            content=mapping_json(_value(point.mapping), scheme_ids(row.isa)),
            judged=judged,
            picked=row if point.own else None,
            **{name: getattr(point, name) for name in ("place", "error", "volume", "kinds", "mape")},
        )

    def _schemes(self, texts: dict[int, str]) -> dict[int, int]:
        """{old id: new id} of the schemes in the run's description."""
        if not texts:
            return {}
        isa = self._isas.get(str(self._archive.manifest.run.config.get("isa")))
        ids = {} if isa is None else scheme_ids(isa)
        return {number: ids[text] for number, text in texts.items() if text in ids}


def isa_for(name: str, texts: Iterable[str], source: str) -> ISA:
    """The instruction set of this name; created from `texts` where there is none."""
    existing = ISA.objects.filter(name=name).first()
    if existing is not None:
        return existing
    return SUPPLIED[name]()[0] if name in SUPPLIED else new_isa(name, sorted(texts), source)


def _numbers(evaluation: ArchivedEvaluation) -> Json:
    return evaluation.model_dump(mode="json", exclude={"experiment_set"})


def _value(document: Json) -> PortMapping:
    """Parse a front point's mapping. Raises `ExchangeError` for its problems."""
    parsed = parse(json.dumps(document).encode(), "front", AnyNames())
    if parsed.mapping is None or parsed.problem_count:
        raise ExchangeError("\n".join(parsed.lines()) or "a point of the front is no port mapping")
    return parsed.mapping


_Positive = Annotated[int, Field(ge=1, le=1_000_000)]


class _ArchivedObjections(ArchivedPart):
    """Objections to a mapping on the archive's site; `conflicts`: {scheme: (name of a result, sentence)}."""

    objections: list[str]
    conflicts: dict[str, list[tuple[str, str]]]


class _Judging(ArchivedPart):
    """Held-out experiments, overall and by scheme, as `inference.storage.judging` reads them."""

    n: Count
    off: Count
    error: Amount | None
    repeats: Amount | None
    elsewhere: _ArchivedObjections = ABSENT
    schemes: dict[str, tuple[Count, Count, Amount | None]]


class MappingReport(ArchivedPart):
    cegar: Evidence = ABSENT
    explain: ExplainedMapping = ABSENT
    judging: _Judging = ABSENT
    congruence_classes: list[Annotated[list[str], Field(min_length=1)]] = []
    assumptions: list[str] = []
    excess: Count = 0
    experiments: Count | None = None
    exhaustive: Count | None = None
    bottleneck: BottleneckEvent | None = None
    instructions: Count | None = None
    left_out: dict[str, str] = {}
    loop_code: list[tuple[_Positive, _Positive, Amount]] = []

    def masks(self) -> Iterator[int]:
        """Every port set that it names, as a mask."""
        for other in self.cegar.alternatives if self.cegar else ():
            yield from (mask for uops in other.usage.values() for mask, _ in uops)
        for blocking in self.explain.classes if self.explain else ():
            yield from blocking.masks

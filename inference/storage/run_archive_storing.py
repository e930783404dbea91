"""Storing what the zip of a run brings beside the run: machines to refer to, sets, mappings, evaluations."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Annotated

from pydantic import Field

from inference.core.events import Amount, Count
from inference.core.explain.events import BottleneckFound, check_masks
from inference.core.mapping import PortMapping
from inference.core.protocols import Json
from inference.formats.archived_parts import ABSENT, ArchivedPart, read_shape
from inference.formats.parsing import AnyNames, parse
from inference.formats.problems import ExchangeError
from inference.formats.run_archive import (
    RUN,
    MachineTold,
    MappingTold,
    Numbers,
    PointTold,
    Scored,
    VerdictTold,
)
from inference.formats.run_archive_reading import ReadSet, RunArchive
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
from inference.storage.rows import BATCH, complete_ids, keep_summary, scheme_ids, store_measurements


class Storing:
    """One archive on its way into the database; `numbers` grows with what has been stored.

    All within one transaction. Names that are taken get a number behind them. Raises `ExchangeError`.
    """

    def __init__(self, archive: RunArchive, run: Run, source: str) -> None:
        self._archive = archive
        self._run = run
        self._source = source
        self._isas: dict[str, ISA] = {}
        self._machines: dict[int | None, Machine] = {}
        self.numbers = Numbers()

    def store(self) -> int:
        """Everything; how many measurements there were."""
        manifest = self._archive.manifest
        for name, texts in self._texts().items():
            self._isas[name] = isa_for(name, texts, self._source)
        self._machines = {number: self._machine(machine) for number, machine in manifest.machines.items()}
        self.numbers.machines = {number: self._machines[number].pk for number in manifest.machines}
        measurements = sum(self._set(each) for each in self._archive.sets)
        for told in manifest.mappings:
            self._mapping(told)
        for told in manifest.resource_mappings:
            self._resource_mapping(told)
        self.numbers.schemes.update(self._schemes(manifest.schemes))
        return measurements

    def _texts(self) -> dict[str, set[str]]:
        """Scheme texts by instruction set."""
        manifest = self._archive.manifest
        found: dict[str, set[str]] = {each.isa: set() for each in manifest.machines.values()}
        for made in self._archive.sets:
            schemes = found.setdefault(made.told.isa, set())
            schemes.update(text for row in made.measured for text in row.experiment.schemes)
        for told in manifest.mappings:
            schemes = found.setdefault(told.isa, set())
            schemes.update(self._archive.mappings[told.id].usage)
            schemes.update(each.scheme for each in told.verdicts)
            schemes.update(witness.blocker for each in told.verdicts for witness in each.witnesses)
        for told in manifest.resource_mappings:
            found.setdefault(told.isa, set()).update(self._archive.resource_mappings[told.id].loads)
        if manifest.schemes:
            found.setdefault(str(manifest.run.config.get("isa")), set()).update(manifest.schemes.values())
        return found

    def _machine(self, machine: MachineTold) -> Machine:
        """One that stands for what was measured elsewhere; that of an earlier archive serves again."""
        isa = self._isas[machine.isa]
        return published_machine(machine.name, self._source, isa=isa, cpu=machine.cpu, facts=machine.facts)

    def _set(self, made: ReadSet) -> int:
        told = made.told
        row = ExperimentSet.objects.create(
            name=free_name(ExperimentSet, told.name),
            note=told.note,
            isa=self._isas[told.isa],
            machine=self._machines.get(told.machine),
            run=self._run if told.own else None,
            origin=ExperimentSet.Origin.RUN if told.own else ExperimentSet.Origin.UPLOAD,
            source=told.source or self._source,
            identity=told.identity,
        )
        stored = store_measurements(row, made.measured)
        keep_summary(row)
        self.numbers.sets[told.id] = row.pk
        return stored

    def _mapping(self, told: MappingTold) -> None:
        value = self._archive.mappings[told.id]
        place = f"{RUN}, report of mapping {told.id}"
        try:
            masks = read_shape(MappingReport, told.report, place).masks()
            check_masks([*masks, *told.masks()], len(value.ports))
        except ValueError as error:
            raise ExchangeError(f"{place}: {error}") from error
        report = dict(told.report)
        if isinstance(report.get(MEASURED_IN), list):
            measured_in = (self.numbers.sets.get(number) for number in report[MEASURED_IN])
            report[MEASURED_IN] = [number for number in measured_in if number is not None]
        store = store_result if told.own else partial(store_mapping, origin=PortMappingRow.Origin.IMPORT)
        row = store(
            free_name(PortMappingRow, told.name),
            self._isas[told.isa],
            value,
            source=told.source or self._source,
            machine=self._machines.get(told.machine),
            run=self._run if told.own else None,
            report=report,
            note=told.note,
        )
        self.numbers.mappings[told.id] = row.pk
        self._verdicts(row, told.verdicts)
        FrontPoint.objects.bulk_create([self._point(row, point) for point in told.front], batch_size=BATCH)
        self._evaluations(row, told.evaluations)

    def _resource_mapping(self, told: MappingTold) -> None:
        read_shape(MappingReport, told.report, f"{RUN}, report of resource mapping {told.id}")
        row = store_resource_mapping(
            free_name(ResourceMapping, told.name),
            self._isas[told.isa],
            self._archive.resource_mappings[told.id],
            origin=ResourceMapping.Origin.IMPORT,
            source=told.source or self._source,
            machine=self._machines.get(told.machine),
            report=told.report,
            note=told.note,
        )
        self.numbers.resource_mappings[told.id] = row.pk
        self._evaluations(row, told.evaluations)

    def _evaluations(self, row: PortMappingRow | ResourceMapping, told: Iterable[Scored]) -> None:
        for each in told:
            on = self._set_id(each.experiment_set)
            if on is None and not (isinstance(row, PortMappingRow) and row.run_id == self._run.pk):
                raise ExchangeError(
                    f"{row.name}: only the run's own mapping is judged by what the run held out"
                )
            Evaluation.objects.create(
                mapping=row if isinstance(row, PortMappingRow) else None,
                resource_mapping=row if isinstance(row, ResourceMapping) else None,
                experiment_set_id=on,
                held_out_by=self._run if on is None else None,
                **_numbers(each),
            )

    def _set_id(self, number: int | None) -> int | None:
        return None if number is None else self.numbers.sets[number]

    def _verdicts(self, row: PortMappingRow, told: list[VerdictTold]) -> None:
        named = {each.scheme for each in told} | {w.blocker for each in told for w in each.witnesses}
        ids = complete_ids(row.isa, named)
        rows = Characterisation.objects.bulk_create(
            [
                Characterisation(
                    mapping=row,
                    scheme_id=ids[each.scheme],
                    **each.model_dump(mode="json", exclude={"scheme", "witnesses"}),
                )
                for each in told
            ],
            batch_size=BATCH,
        )
        Witness.objects.bulk_create(
            [
                Witness(
                    characterisation=made,
                    blocker_id=ids[witness.blocker],
                    **witness.model_dump(mode="json", exclude={"blocker"}),
                )
                for made, each in zip(rows, told, strict=True)
                for witness in each.witnesses
            ],
            batch_size=BATCH,
        )

    def _point(self, row: PortMappingRow, told: PointTold) -> FrontPoint:
        judged: Json = {}
        if told.judged is not None:
            judged = told.judged.model_dump(mode="json", exclude={"unit"})
            judged["experiment_set"] = self._set_id(told.judged.experiment_set)
        return FrontPoint(
            mapping=row,
            content=mapping_json(_value(told.mapping), scheme_ids(row.isa)),
            judged=judged,
            picked=row if told.own else None,
            **{name: getattr(told, name) for name in ("place", "error", "volume", "kinds", "mape")},
        )

    def _schemes(self, texts: dict[int, str]) -> dict[int, int]:
        """Of the schemes that the description lists, from their numbers there to those here."""
        if not texts:
            return {}
        isa = self._isas.get(str(self._archive.manifest.run.config.get("isa")))
        ids = {} if isa is None else scheme_ids(isa)
        return {number: ids[text] for number, text in texts.items() if text in ids}


def isa_for(name: str, texts: Iterable[str], source: str) -> ISA:
    """The instruction set of this name; where there is none, a new one of these schemes."""
    known = ISA.objects.filter(name=name).first()
    if known is not None:
        return known
    return SUPPLIED[name]()[0] if name in SUPPLIED else new_isa(name, sorted(texts), source)


def _numbers(told: Scored) -> Json:
    return told.model_dump(mode="json", exclude={"experiment_set"})


def _value(document: Json) -> PortMapping:
    """A mapping in our own JSON."""

    parsed = parse(json.dumps(document).encode(), "front", AnyNames())
    if parsed.mapping is None or parsed.problem_count:
        raise ExchangeError("\n".join(parsed.lines()) or "a point of the front is no port mapping")
    return parsed.mapping


_Positive = Annotated[int, Field(ge=1, le=1_000_000)]


class _Elsewhere(ArchivedPart):
    """What was said against a mapping where its archive was written: (name of a result, words) by scheme."""

    objections: list[str]
    conflicts: dict[str, list[tuple[str, str]]]


class _Judging(ArchivedPart):
    """What `inference.storage.judging` reads: held-out experiments, all and those with each scheme."""

    n: Count
    off: Count
    error: Amount | None
    repeats: Amount | None
    elsewhere: _Elsewhere = ABSENT
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
    bottleneck: BottleneckFound | None = None
    instructions: Count | None = None
    left_out: dict[str, str] = {}
    loop_code: list[tuple[_Positive, _Positive, Amount]] = []

    def masks(self) -> Iterator[int]:
        """Every port set that it names."""
        for other in self.cegar.others if self.cegar else ():
            yield from (mask for uops in other.usage.values() for mask, _ in uops)
        for blocking in self.explain.classes if self.explain else ():
            yield from blocking.masks

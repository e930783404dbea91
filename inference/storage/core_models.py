"""Loads core models from rows, combining mapping, latencies and front end, and stores their parts."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache

from django.db import transaction

from inference.core.core_model import CoreModel, CoreOverview, FrontEndLimits, MemoryTimes, core_overview
from inference.core.core_model.front_end_limits import front_end_limits
from inference.core.core_model.memory_reading import memory_times
from inference.core.core_model.model import LoopCode
from inference.core.core_model.overview import unit_port_names
from inference.core.core_model.simulated_program import dispatch_width
from inference.core.front_end import read_front_end
from inference.core.latency import IdiomKind
from inference.core.protocols import Json
from inference.formats.core_model_json import CoreModelDocument
from inference.formats.scheduler_json import SchedulerRecord
from inference.isa.domains import STORES, UNIT_CLASSES, UNIT_GROUPS, unit_class
from inference.isa.front_end import Aspect, CodeReading, FrontEndCode, TimedCode
from inference.isa.targets import code_target, target_of
from inference.models import (
    ISA,
    InstructionScheme,
    LatencySet,
    Machine,
    MeasuredFrontEnd,
    Run,
    SchemeConflict,
    StoredCoreModel,
)
from inference.models import PortMapping as PortMappingRow
from inference.storage.described_ports import described_mapping, equivalent_schemes, times_alone
from inference.storage.latencies import (
    NEEDS_NO_PORT,
    WAITS_FOR_NOTHING,
    MeasuredLatencies,
    latencies_of_schemes,
)
from inference.storage.mappings import load_mapping
from inference.storage.names import check_name_free, free_name, lock_names


@transaction.atomic
def store_run_core_model(
    run: Run,
    machine: Machine,
    mapping: PortMappingRow | None,
    latencies: LatencySet | None,
    front_end: MeasuredFrontEnd | None,
    selection: Json | None = None,
) -> StoredCoreModel:
    """Create or update the core model of a run with the parts measured so far; idempotent.

    Args:
        run: It has one core model at most.
        machine: Machine that the run measures.
        mapping: The ports, None while unknown.
        latencies: The latencies, None while unknown.
        front_end: The front end, None while unknown.
        selection: Why this mapping was chosen, as in `StoredCoreModel.selection`.
    """
    row = StoredCoreModel.objects.filter(run=run).first()
    if row is None:
        lock_names(StoredCoreModel)
        name = free_name(StoredCoreModel, run.name)
        row = StoredCoreModel(name=name, isa=machine.isa, machine=machine, run=run)
    row.mapping, row.latencies, row.front_end = mapping, latencies, front_end
    row.selection = selection
    row.save()
    return row


def document_row(core: CoreModelDocument, isa: ISA, name: str, note: str = "") -> StoredCoreModel:
    """The unsaved row of a document.

    Args:
        core: The document, as read from a file.
        isa: Its instruction set.
        name: Name of the core model.
        note: Note of the user; "" for the document's own.
    """
    return StoredCoreModel(
        name=name,
        note=note or core.note,
        isa=isa,
        document=core.model_dump(mode="json", exclude={"port_names", "scheduler"}),
        port_names=core.port_names,
        scheduler=None if core.scheduler is None else {"scheduler": core.scheduler.model_dump(mode="json")},
    )


def core_model_of(row: StoredCoreModel, texts: Collection[str] | None = None) -> CoreModel:
    """The core model of a row. `texts`: only these schemes; None for all (a bounded number of queries)."""
    if row.document is None:
        model = core_model_of_parts(row, texts)
    else:
        model = CoreModelDocument.model_validate(row.document).model()
    return _with_scheduler(model, row)


def _with_scheduler(model: CoreModel, row: StoredCoreModel) -> CoreModel:
    """The model with the row's scheduler, unless it has no ports."""
    if row.scheduler is None or model.mapping is None:
        return model
    record = SchedulerRecord.model_validate(row.scheduler)
    model = with_slots(model, row.isa.name, record.slots)
    if record.scheduler is None or model.mapping is None:
        return model
    scheduler = record.scheduler.scheduler(model.mapping.ports)
    sources = {**model.sources, "scheduler": record.source} if record.source else model.sources
    return replace(model, scheduler=scheduler, sources=sources)


def with_slots(model: CoreModel, isa: str, slots: Mapping[str, int] | None) -> CoreModel:
    """The model with counted slots of schemes, and of those that do the same work and cannot be measured.

    Unchanged where no slots were counted.
    """
    width = dispatch_width(model)
    if model.mapping is None or slots is None or width is None:
        return model
    same_work = code_target(isa).schemes.same_work
    counted = {
        text: sum(slots.get(part, 1) for part in ((text,) if text in slots else same_work(text)))
        for text in model.mapping.usage
    }
    return replace(model, mapping=replace(model.mapping, issue_width=float(width), slots=counted))


def core_model_of_parts(row: StoredCoreModel, texts: Collection[str] | None = None) -> CoreModel:
    """The core model of a row whose value is not a document. `texts`: only these schemes; None for all.

    Missing parts are allowed; predictions report what they lack.
    """
    memory, measured = MemoryTimes(), MeasuredLatencies()
    sources = {}
    mapping, alone = None, {}
    loop_code: LoopCode = {}
    if row.mapping is not None:
        sources["ports and slots"] = row.mapping.name
        loop_code = loop_code_in(row.mapping.report)
        equivalents = equivalent_schemes(row.isa, texts)
        needed_texts = None if texts is None else {*texts, *itertools.chain(*equivalents.values())}
        mapping, alone = (
            described_mapping(row.mapping, needed_texts, equivalents),
            times_alone(row.mapping, needed_texts, equivalents),
        )
        if not equivalents.keys().isdisjoint(mapping.usage):
            sources["push, pop, accumulator forms, legacy SSE"] = "as what does their work"
    if row.latencies is not None:
        sources["latencies"] = row.latencies.name
        memory = memory_times(row.latencies.memory)
        rows = row.latencies.schemes.all()
        if texts is not None:
            rows = rows.filter(scheme__text__in=texts)
        listed = rows.values_list("scheme__text", "pairs", "idioms")
        measured = latencies_of_schemes(listed.iterator(chunk_size=500))
    front_end, issue = None, None
    if row.front_end is not None:
        sources["front end"] = row.front_end.name
        measured_front_end = read_front_end(settled_readings(row.front_end))
        front_end, issue = front_end_limits(measured_front_end), measured_front_end.issue
    return CoreModel(
        mapping,
        measured.latencies,
        measured.bases,
        free=measured.of(WAITS_FOR_NOTHING),
        portless=measured.of(NEEDS_NO_PORT),
        moves=measured.of((IdiomKind.ELIMINATED,)),
        alone=alone,
        memory=memory,
        front_end=front_end,
        sources=sources,
        by_immediate=measured.by_immediate,
        bypasses=measured.bypasses,
        unqueued=measured.unqueued,
        false_dependences=measured.false_dependences,
        loop_code=loop_code,
        issue=issue,
    )


def fused_pairs(machine: int | None) -> frozenset[str] | None:
    """Names of the pairs of an instruction and a jump that a machine fuses; None where not measured.

    `machine`: its id, or None.
    """
    row = MeasuredFrontEnd.objects.filter(machine=machine).first() if machine is not None else None
    return None if row is None else measured_limits(row).fused


def measured_limits(row: MeasuredFrontEnd) -> FrontEndLimits:
    return front_end_limits(read_front_end(settled_readings(row)))


LOOP_CODE = "loop_code"
"""Key of a mapping's report: cycles of loop bodies by size, from its run's experiments."""


def loop_code_rows(code: LoopCode) -> list[list[float]]:
    """`[instructions, bytes, cycles]` of each size, ascending."""
    return [[*size, cycles] for size, cycles in sorted(code.items())]


def loop_code_in(report: Json) -> LoopCode:
    """{(instructions, bytes): cycles} in a mapping's report, {} where there are none."""
    return {(instructions, size): cycles for instructions, size, cycles in report.get(LOOP_CODE, ())}


@transaction.atomic
def store_front_end(
    name: str,
    machine: Machine,
    readings: Sequence[tuple[FrontEndCode, CodeReading]],
    identity: Json,
    *,
    run: Run | None = None,
) -> MeasuredFrontEnd:
    """Store the readings of a front end.

    Args:
        name: Name of the stored front end.
        machine: On which it was measured.
        readings: (code, reading), unsettled ones included.
        identity: Identity of the measurements: machine, CPU and version of the agent.
        run: Run that measured it, None for an import.

    Raises:
        NameInUseError: Another front end has the name.
    """
    check_name_free(MeasuredFrontEnd, name)
    return MeasuredFrontEnd.objects.create(
        name=name,
        isa=machine.isa,
        machine=machine,
        run=run,
        identity=identity,
        readings=[_reading_json(code, reading) for code, reading in readings],
    )


def newest_front_end(machine: Machine, before: datetime) -> MeasuredFrontEnd | None:
    """The newest front end measured on a machine before a time, None for none."""
    return MeasuredFrontEnd.objects.filter(machine=machine, created__lt=before).order_by("-pk").first()


def settled_readings(row: MeasuredFrontEnd) -> list[tuple[FrontEndCode, float]]:
    """(code, cycles) of the settled readings, for `read_front_end`."""
    return [(_reading_code(entry), entry["cycles"]) for entry in row.readings if entry["cycles"] is not None]


def _reading_json(timed: FrontEndCode, reading: CodeReading) -> Json:
    code = timed.code
    return {
        "aspect": str(timed.aspect),
        "name": timed.name,
        "value": timed.value,
        "code": code.code.hex(),
        "instructions": code.instructions,
        "loop": code.loop,
        "copies": code.copies,
        "registers": dict(code.registers),
        "offset": code.offset,
        "cycles": None if reading.cycles is None else round(reading.cycles, 4),
        "spread": round(reading.spread, 4),
        "note": reading.note,
    }


def _reading_code(entry: Json) -> FrontEndCode:
    code = TimedCode(
        bytes.fromhex(entry["code"]),
        entry["instructions"],
        loop=entry["loop"],
        copies=entry["copies"],
        registers=tuple(entry["registers"].items()),
        offset=entry["offset"],
    )
    return FrontEndCode(Aspect(entry["aspect"]), entry["name"], entry["value"], code)


def overview_of(row: StoredCoreModel, model: CoreModel | None = None) -> CoreOverview:
    """Kinds of instructions by port (one query if `model`, the row's value, is given)."""
    model = core_model_of(row) if model is None else model
    mapped_schemes = () if model.mapping is None else model.mapping.usage
    return core_overview(model, _kinds(row.isa.name, mapped_schemes), UNIT_CLASSES, STORES)


def _kinds(isa: str, texts: Collection[str]) -> dict[str, str]:
    schemes = InstructionScheme.objects.filter(isa__name=isa)  # a recorded core has no row of it
    facts = schemes.values_list("text", "mnemonic", "category", "memory")
    return {text: unit_class(text, *columns) for text, *columns in facts if text in texts}


def _kinds_in_catalogue(isa: str, texts: Collection[str]) -> dict[str, str]:
    """{scheme: kind} without a query, for an instruction set whose schemes come with the software."""
    schemes = filter(None, map(target_of(isa).schemes.scheme_of, texts))
    return {
        scheme.text: unit_class(scheme.text, scheme.mnemonic, scheme.category, scheme.memory)
        for scheme in schemes
    }


_CACHED_NAMES = 64
_READABLE = re.compile(r"[A-Za-z]\w*")


def port_labels(row: StoredCoreModel) -> dict[str, str]:
    """{port of the mapping: the name that pages show}: the one that a user gave, else the mapping's own where
    it is the vendor's, else one by what runs there (`ALU0`, `FP1`, `LD0`).
    """
    if row.document is None:
        return {} if row.mapping is None else _labels(_NumberedPorts.of_mapping(row.mapping), row.port_names)
    key = id(row.document) if row.pk is None else (row.pk, row.created)
    return _labels(_NumberedPorts(key, row), row.port_names)


def mapping_port_labels(rows: Iterable[PortMappingRow]) -> dict[int, dict[str, str]]:
    """{id of a mapping: {port: the name that pages show}}, the same as of the core models with the mapping
    (one query, and a few for each mapping that is not cached).
    """
    mappings = {row.pk: row for row in rows}
    named = StoredCoreModel.objects.filter(mapping__in=mappings.keys()).exclude(port_names={})
    names = dict(named.order_by("pk").values_list("mapping", "port_names"))
    return {pk: _labels(_NumberedPorts.of_mapping(row), names.get(pk, {})) for pk, row in mappings.items()}


def _labels(ports: _NumberedPorts, port_names: Mapping[str, str]) -> dict[str, str]:
    """A usual name that a user gave another port is replaced by the mapping's own."""
    users_names = {*port_names.values()}
    return {
        port: port_names.get(port) or (port if name in users_names else name)
        for port, name in _default_names(ports).items()
    }


@dataclass(frozen=True)
class _NumberedPorts:
    """The source of a mapping; equal `key`: the same mapping. It lives as long as its names are cached."""

    key: Hashable
    source: StoredCoreModel | PortMappingRow = field(compare=False)

    @classmethod
    def of_mapping(cls, row: PortMappingRow) -> _NumberedPorts:
        return cls(("mapping", row.pk, row.created), row)


@lru_cache(maxsize=_CACHED_NAMES)
def _default_names(ports: _NumberedPorts) -> dict[str, str]:
    row = ports.source
    if isinstance(row, PortMappingRow):
        if row.origin == PortMappingRow.Origin.IMPORT:
            return {port: port for port in row.ports}
        mapping = load_mapping(row)
    else:
        value = core_model_of(row).mapping
        if value is None:
            return {}
        mapping = value
    kinds = _kinds_in_catalogue(row.isa.name, mapping.usage) or _kinds(row.isa.name, mapping.usage)
    names = unit_port_names(mapping, kinds, UNIT_GROUPS, STORES)
    return {port: port if _READABLE.fullmatch(port) else name for port, name in names.items()}


def unsettled_kinds(row: StoredCoreModel) -> Counter[str]:
    """{kind: number of its schemes that another result of the machine contradicts} (one query)."""
    conflicts = SchemeConflict.objects.filter(mapping=row.mapping_id)
    facts = InstructionScheme.objects.filter(pk__in=conflicts.values("scheme"))
    rows = facts.values_list("text", "mnemonic", "category", "memory")
    return Counter(unit_class(*scheme) for scheme in rows)

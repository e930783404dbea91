"""Core models between rows and values: a core as one value, put together from what was found out about it."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from django.db import transaction
from django.db.models import Q

from inference.core.core_model import CoreModel, FrontEndLimits, MemoryTimes
from inference.core.core_model.memory_reading import memory_times
from inference.core.core_model.model import LoopCode
from inference.core.explain import NotCharacterised
from inference.core.front_end import FrontEnd, read_front_end
from inference.core.latency import IdiomKind
from inference.core.mapping import PortMapping, with_sums
from inference.core.protocols import Json
from inference.formats.core_model_json import CoreModelDocument
from inference.formats.scheduler_json import SchedulerRecord
from inference.isa.exclusions import LEGACY_SSE
from inference.isa.front_end import Aspect, FrontEndCode
from inference.isa.targets import code_target
from inference.isa.timed_code import CodeReading, TimedCode
from inference.models import (
    ISA,
    InstructionScheme,
    LatencySet,
    Machine,
    MeasuredFrontEnd,
    Run,
    StoredCoreModel,
)
from inference.models import PortMapping as PortMappingRow
from inference.storage.measured_latencies import (
    NEEDS_NO_PORT,
    WAITS_FOR_NOTHING,
    MeasuredLatencies,
    latencies_of_schemes,
)
from inference.storage.names import free_name, free_or_refuse, hold_names
from inference.storage.rows import ids_of_schemes, load_mapping, load_part

_AT_FULL_RATE = 1.2
"""Times the cycles of an instruction at the full rate, up to which a scheme alone runs at it."""


@transaction.atomic
def filled_in(
    run: Run,
    machine: Machine,
    mapping: PortMappingRow | None,
    latencies: LatencySet | None,
    front_end: MeasuredFrontEnd | None,
    selection: Json | None = None,
) -> StoredCoreModel:
    """The core model that a run makes, with the parts that there are by now; nothing twice when repeated.

    `selection`: why it is this mapping, as `StoredCoreModel.selection` keeps it.
    """
    row = StoredCoreModel.objects.filter(run=run).first()
    if row is None:
        hold_names(StoredCoreModel)
        name = free_name(StoredCoreModel, run.name)
        row = StoredCoreModel(name=name, isa=machine.isa, machine=machine, run=run)
    row.mapping, row.latencies, row.front_end = mapping, latencies, front_end
    row.selection = selection
    row.save()
    return row


def core_model_of(row: StoredCoreModel, texts: Collection[str] | None = None) -> CoreModel:
    """The value of a row, of all schemes or of those with these texts (a bounded number of queries)."""
    if row.document is None:
        model = core_model_of_parts(row, texts)
    else:
        model = CoreModelDocument.model_validate(row.document).model()
    return _with_scheduler(model, row)


def _with_scheduler(model: CoreModel, row: StoredCoreModel) -> CoreModel:
    """With what was found out of the scheduler, as long as the ports are there that it rests on."""
    if row.scheduler is None or model.mapping is None:
        return model
    record = SchedulerRecord.model_validate(row.scheduler)
    if record.scheduler is None:
        return model
    scheduler = record.scheduler.scheduler(model.mapping.ports)
    sources = {**model.sources, "scheduler": record.source} if record.source else model.sources
    return replace(model, scheduler=scheduler, sources=sources)


def core_model_of_parts(row: StoredCoreModel, texts: Collection[str] | None = None) -> CoreModel:
    """The value of a row without a document, of all schemes or of those with these texts.

    What it lacks is said by its predictions.
    """
    memory, measured = MemoryTimes(), MeasuredLatencies()
    sources = {}
    mapping, alone = None, {}
    loop_code: LoopCode = {}
    if row.mapping is not None:
        sources["ports and slots"] = row.mapping.name
        loop_code = loop_code_in(row.mapping.report)
        same = _same_work(row.isa, texts)
        wanted = None if texts is None else {*texts, *itertools.chain(*same.values())}
        mapping, alone = _mapping(row.mapping, wanted, same), _alone(row.mapping, wanted, same)
        if not same.keys().isdisjoint(mapping.usage):
            sources["push, pop, accumulator forms, legacy SSE"] = "as what does their work"
    if row.latencies is not None:
        sources["latencies"] = row.latencies.name
        memory = memory_times(row.latencies.memory)
        rows = row.latencies.schemes.all()
        if texts is not None:
            rows = rows.filter(scheme__text__in=texts)
        listed = rows.values_list("scheme__text", "pairs", "idioms")
        measured = latencies_of_schemes(listed.iterator(chunk_size=500))
    front_end = None
    if row.front_end is not None:
        sources["front end"] = row.front_end.name
        front_end = _limits(row.front_end)
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
    )


def _same_work(isa: ISA, texts: Collection[str] | None) -> dict[str, tuple[str, ...]]:
    """{scheme: those that do its work} of schemes that cannot be measured themselves."""
    catalogue = code_target(isa.name).schemes
    known = Q(text__in=catalogue.work_of_others) | Q(exclusion__startswith=LEGACY_SSE)
    found = InstructionScheme.objects.filter(known, isa=isa)
    if texts is not None:
        found = found.filter(text__in=texts)
    return {text: catalogue.same_work(text) for text in found.values_list("text", flat=True)}


def _mapping(
    row: PortMappingRow, texts: Collection[str] | None, same: Mapping[str, Sequence[str]]
) -> PortMapping:
    """With what has no µops of its own: schemes that were found to need no port, and those that are known by
    others that do the `same` work."""
    portless = row.characterisations.filter(_needs_no_port(row))
    if texts is None:
        mapping = load_mapping(row)
    else:
        ids = ids_of_schemes(row.isa_id, texts)
        mapping = load_part(row, {pk: text for text, pk in ids.items()})
        portless = portless.filter(scheme__in=ids.values())
    sums = dict.fromkeys(portless.values_list("scheme__text", flat=True), ())
    return with_sums(mapping, {**sums, **same})


def _alone(
    row: PortMappingRow, texts: Collection[str] | None, same: Mapping[str, Sequence[str]]
) -> dict[str, float]:
    """{scheme: cycles of one instance} of those that were measured, but whose ports were not found, and of
    those that do the `same` work as one of them."""
    found = row.characterisations.filter(cycles__isnull=False).exclude(reason="")
    found = found.exclude(_needs_no_port(row))
    if texts is not None:
        found = found.filter(scheme__text__in=texts)
    listed = found.values_list("scheme__text", "cycles")
    times = {text: cycles for text, cycles in listed if cycles is not None}
    as_one = {text: times[first] for text, (first, *more) in same.items() if first in times and not more}
    return {**as_one, **times}


def _needs_no_port(row: PortMappingRow) -> Q:
    """Which characterisations say so: in words, or by delaying no flood and running as fast as can be."""
    found = Q(reason=NotCharacterised.NO_PORTS)
    if row.r_max is not None:
        found |= Q(reason=NotCharacterised.MISSING, cycles__lte=_AT_FULL_RATE / row.r_max)
    return found


def fused_pairs(machine: int | None) -> frozenset[str] | None:
    """The pairs of an instruction and a jump that a machine makes one µop of, None where not measured.

    Args:
        machine: Id of the machine; None for none.
    """
    row = MeasuredFrontEnd.objects.filter(machine=machine).first() if machine is not None else None
    return None if row is None else _limits(row).fused


def _limits(row: MeasuredFrontEnd) -> FrontEndLimits:
    return front_end_limits(read_front_end(settled_readings(row)))


def front_end_limits(found: FrontEnd) -> FrontEndLimits:
    """What core models have of a front end."""
    capacity = found.number("loop_capacity")
    return FrontEndLimits(
        slots=found.number("slots").value,
        straight_instructions=found.number("straight_instructions").value,
        straight_bytes=found.number("straight_bytes").value,
        loop_capacity=None if capacity.at_least else capacity.value,
        taken=found.number("taken").value,
        nops=found.number("nops").value,
        fused=_fused(found) if found.fusion else None,
        by_length=found.straight_lengths,
        kept_flags=found.number("kept_flags").value,
    )


def _fused(front_end: FrontEnd) -> frozenset[str]:
    return frozenset(pair.name for pair in (*front_end.fusion, *front_end.moves) if pair.is_fused)


LOOP_CODE = "loop_code"
"""Where a mapping's report has what the experiments that it was made from say."""


def loop_code_rows(code: LoopCode) -> list[list[float]]:
    """`[instructions, bytes, cycles]` of each size, ascending."""
    return [[*size, cycles] for size, cycles in sorted(code.items())]


def loop_code_in(report: Json) -> LoopCode:
    """What a mapping's report says, {} where it says nothing."""
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
    """A new row of what was timed, of what did not settle as well. Raises `NameTakenError`."""
    free_or_refuse(MeasuredFrontEnd, name)
    return MeasuredFrontEnd.objects.create(
        name=name,
        isa=machine.isa,
        machine=machine,
        run=run,
        identity=identity,
        readings=[_json(asked, reading) for asked, reading in readings],
    )


def newest_front_end(machine: Machine, before: datetime) -> MeasuredFrontEnd | None:
    """What was measured last of a machine until then."""
    return MeasuredFrontEnd.objects.filter(machine=machine, created__lt=before).order_by("-pk").first()


def settled_readings(row: MeasuredFrontEnd) -> list[tuple[FrontEndCode, float]]:
    """What settled, as `read_front_end` wants it."""
    return [(_code(one), one["cycles"]) for one in row.readings if one["cycles"] is not None]


def _json(asked: FrontEndCode, reading: CodeReading) -> Json:
    code = asked.code
    return {
        "aspect": str(asked.aspect),
        "name": asked.name,
        "value": asked.value,
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


def _code(one: Json) -> FrontEndCode:
    code = TimedCode(
        bytes.fromhex(one["code"]),
        one["instructions"],
        loop=one["loop"],
        copies=one["copies"],
        registers=tuple(one["registers"].items()),
        offset=one["offset"],
    )
    return FrontEndCode(Aspect(one["aspect"]), one["name"], one["value"], code)

"""Core models between rows and values: a core as one value, put together from what was found out about it."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from django.db import transaction
from django.db.models import Q

from inference.core.core_model import CoreModel, FrontEndLimits, LatencyBases, MemoryTimes, OperandLatencies
from inference.core.core_model.memory_reading import memory_times
from inference.core.explain import NotCharacterised
from inference.core.front_end import read_front_end
from inference.core.latency import IdiomKind
from inference.core.mapping import PortMapping, with_sums
from inference.core.protocols import Json
from inference.isa.x86.same_work import LEGACY_SSE, WORK_OF_OTHERS, same_work
from inference.models import InstructionScheme, LatencySet, Machine, MeasuredFrontEnd, Run, StoredCoreModel
from inference.models import PortMapping as PortMappingRow
from inference.storage.front_ends import settled_readings
from inference.storage.names import free_name, hold_names
from inference.storage.rows import ids_of_schemes, load_mapping, load_part

_PORTLESS = (IdiomKind.ZEROING, IdiomKind.ELIMINATED)
_WAITS_FOR_OLD_VALUE = (IdiomKind.PARTIAL_REGISTER, IdiomKind.FALSE_DEPENDENCY)
_WAITS_FOR_NOTHING = (IdiomKind.ZEROING, IdiomKind.BREAKING)
HALF_OF_A_SUM = "half of a way there and back"
AT_MOST = "a bound"
_OFF = 0.1
"""Cycles by which a bound may be too small."""
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


def core_model_of_parts(row: StoredCoreModel, texts: Collection[str] | None = None) -> CoreModel:
    """The value of a row without a document, of all schemes or of those with these texts.

    What it lacks is said by its predictions.
    """
    latencies: dict[str, OperandLatencies] = {}
    bases: dict[str, LatencyBases] = {}
    by_immediate: dict[str, dict[int, OperandLatencies]] = {}
    kinds: dict[IdiomKind, set[str]] = {kind: set() for kind in IdiomKind}
    memory = MemoryTimes()
    sources = {}
    mapping, alone = None, {}
    if row.mapping is not None:
        sources["ports and slots"] = row.mapping.name
        same = _same_work(row.isa_id, texts)
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
        for text, pairs, idioms in listed.iterator(chunk_size=500):
            latencies[text], based = operand_latencies(pairs)
            if immediates := latencies_by_immediate(pairs):
                by_immediate[text] = immediates
            if based:
                bases[text] = based
            for idiom in idioms:
                kind = IdiomKind(idiom["kind"])
                kinds[kind].add(text)
                if kind in _WAITS_FOR_OLD_VALUE and idiom["latency"] is not None:
                    old_value = idiom["destination"], idiom["destination"]
                    latencies[text] = {old_value: idiom["latency"], **latencies[text]}
    front_end = None
    if row.front_end is not None:
        sources["front end"] = row.front_end.name
        front_end = _limits(row.front_end)
    return CoreModel(
        mapping,
        latencies,
        bases,
        free=_of(kinds, _WAITS_FOR_NOTHING),
        portless=_of(kinds, _PORTLESS),
        moves=frozenset(kinds[IdiomKind.ELIMINATED]),
        alone=alone,
        memory=memory,
        front_end=front_end,
        sources=sources,
        by_immediate=by_immediate,
    )


def _same_work(isa_id: int, texts: Collection[str] | None) -> dict[str, tuple[str, ...]]:
    """{scheme: those that do its work} of schemes that cannot be measured themselves."""
    known = Q(text__in=WORK_OF_OTHERS) | Q(exclusion__startswith=LEGACY_SSE)
    found = InstructionScheme.objects.filter(known, isa=isa_id)
    if texts is not None:
        found = found.filter(text__in=texts)
    return {text: same_work(text) for text in found.values_list("text", flat=True)}


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


def _of(kinds: dict[IdiomKind, set[str]], wanted: Iterable[IdiomKind]) -> frozenset[str]:
    return frozenset().union(*(kinds[kind] for kind in wanted))


def operand_latencies(pairs: list[Json]) -> tuple[OperandLatencies, LatencyBases]:
    """What is isolated as it is; a sum over two classes of registers halved, since the way back is alike.

    Of other bounds it is the whole cycles: an instruction takes as many, and what is above comes of ports
    that others in the chain need, too. Where values matter, they are the quick ones: a bound holds whatever
    they are.
    """
    found: dict[tuple[str, str], float | None] = {}
    bases: dict[tuple[str, str], str] = {}
    for pair in pairs:
        key = pair["source"], pair["destination"]
        if pair["breaks"]:
            found[key] = None
        elif pair["least"] is not None:
            found[key] = max(pair["least"], 0.0)
        elif pair["at_most"] is not None:
            found[key], bases[key] = _share(pair)
    return found, bases


def latencies_by_immediate(pairs: list[Json]) -> dict[int, OperandLatencies]:
    """The latencies of pairs that depend on it."""
    found: dict[int, dict[tuple[str, str], float | None]] = defaultdict(dict)
    for pair in pairs:
        for one in pair.get("values", ()):
            if "immediate" in one:
                whole = {**pair, **one, "why": pair["why"], "values": ()}
                found[one["immediate"]].update(operand_latencies([whole])[0])
    return dict(found)


def _share(pair: Json) -> tuple[float, str]:
    bounds = [one["at_most"] for one in pair.get("values", ()) if one["at_most"] is not None]
    bound = float(min(bounds, default=pair["at_most"]))
    if all(word in pair["why"] for word in ("general-purpose", "vector")):
        return max((bound + 1) / 2, 1.0), HALF_OF_A_SUM
    return max(float(math.floor(bound + _OFF)), 0.0), AT_MOST


def fused_pairs(machine: int | None) -> frozenset[str] | None:
    """The pairs of an instruction and a jump that a machine makes one µop of, None where not measured.

    Args:
        machine: Id of the machine; None for none.
    """
    row = MeasuredFrontEnd.objects.filter(machine=machine).first() if machine is not None else None
    return None if row is None else _limits(row).fused


def _limits(row: MeasuredFrontEnd) -> FrontEndLimits:
    found = read_front_end(settled_readings(row))
    capacity = found.number("loop_capacity")
    return FrontEndLimits(
        slots=found.number("slots").value,
        straight_instructions=found.number("straight_instructions").value,
        straight_bytes=found.number("straight_bytes").value,
        loop_capacity=None if capacity.at_least else capacity.value,
        taken=found.number("taken").value,
        nops=found.number("nops").value,
        fused=frozenset(pair.name for pair in found.fusion if pair.is_fused) if found.fusion else None,
        by_length=found.straight_lengths,
    )

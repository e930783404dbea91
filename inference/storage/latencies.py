"""Latencies between rows and values."""

from __future__ import annotations

import json
import zlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import groupby

from django.db import transaction

from inference.core.latency import ChainReading, LatencyResult
from inference.core.protocols import Json
from inference.formats.parsing import Parsed
from inference.models import ISA, LatencySet, Machine, Run, SchemeLatencies
from inference.storage.names import NAME_LIMIT, free_name, free_or_refuse


@transaction.atomic
def store_latencies(
    name: str,
    machine: Machine,
    found: LatencyResult,
    identity: Json,
    *,
    run: Run | None = None,
    note: str = "",
) -> LatencySet:
    """A new set of what was found for the schemes of the machine's instruction set.

    Raises `NameTakenError`.
    """
    free_or_refuse(LatencySet, name)
    row = LatencySet.objects.create(
        name=name,
        note=note,
        isa=machine.isa,
        machine=machine,
        run=run,
        identity=identity,
        memory=[one.as_json() for one in found.memory],
        readings=_packed(found.readings),
        connectors={str(link): round(cycles, 3) for link, cycles in found.connectors.items()},
    )
    idioms = defaultdict(list)
    for idiom in found.idioms:
        idioms[idiom.scheme].append(idiom.as_json())
    by_scheme = {text: list(pairs) for text, pairs in groupby(found.pairs, key=lambda pair: pair.link.scheme)}
    ids = dict(machine.isa.schemes.filter(text__in=by_scheme).values_list("text", "pk"))
    rows = [
        _scheme_row(row, ids[text], [pair.as_json() for pair in pairs], idioms.get(text, []))
        for text, pairs in by_scheme.items()
    ]
    SchemeLatencies.objects.bulk_create(rows, batch_size=200)
    return row


def store_parsed_latencies(
    parsed: Parsed,
    isa: ISA,
    name: str,
    *,
    source: str,
    note: str = "",
    machine: Machine | None = None,
    run: Run | None = None,
) -> LatencySet:
    """A new set of what a file says. Raises `NameTakenError`."""
    where = _published(parsed, isa, name, source) if machine is None else machine
    pairs = {text: [pair.as_json() for pair in entry.pairs] for text, entry in parsed.latencies.items()}
    return store_told_latencies(name, where, pairs, run=run, note=note or f"From {source}.")


def _published(parsed: Parsed, isa: ISA, name: str, source: str) -> Machine:
    """What the file says it is about; the same for the parts of one file."""
    said = parsed.facts.get("arch")
    cpu = said if isinstance(said, str) else ""
    known = Machine.objects.filter(kind=Machine.Kind.PUBLISHED, isa=isa, cpu=cpu[:200], facts={})
    there = known.filter(name__startswith=(cpu or name)[:150]).order_by("id").first()
    if there is not None:
        return there
    return Machine.objects.create(
        name=free_name(Machine, (cpu or name)[:NAME_LIMIT]),
        kind=Machine.Kind.PUBLISHED,
        isa=isa,
        cpu=cpu[:200],
        note=f"Told of by {source}.",
    )


@transaction.atomic
def store_told_latencies(
    name: str,
    machine: Machine,
    pairs: Mapping[str, Sequence[Json]],
    *,
    run: Run | None = None,
    note: str = "",
) -> LatencySet:
    """A new set of what somebody else says: {scheme: pairs as `PairLatency.as_json` has them}.

    Raises `NameTakenError`.
    """
    free_or_refuse(LatencySet, name)
    row = LatencySet.objects.create(name=name, note=note, isa=machine.isa, machine=machine, run=run)
    ids = dict(machine.isa.schemes.filter(text__in=pairs).values_list("text", "pk"))
    SchemeLatencies.objects.bulk_create(
        [_scheme_row(row, ids[text], told, []) for text, told in pairs.items()], batch_size=200
    )
    return row


def _scheme_row(row: LatencySet, scheme: int, pairs: Sequence[Json], idioms: list[Json]) -> SchemeLatencies:
    values = [pair for pair in pairs if pair["least"] is not None and pair["most"] is not None]
    return SchemeLatencies(
        latency_set=row,
        scheme_id=scheme,
        pairs=[{name: value for name, value in pair.items() if name != "chains"} for pair in pairs],
        chains=[pair["chains"] for pair in pairs],
        idioms=idioms,
        isolated=len(values),
        least=min((pair["least"] for pair in values), default=None),
        most=max((pair["most"] for pair in values), default=None),
    )


Recorded = dict[tuple[bytes, bool], tuple[float | None, float, str]]
"""{(code, whether it is a loop): (cycles, spread, note)} of chains."""


def recorded_readings(row: LatencySet) -> Recorded:
    """What a set was read from; empty where that was not kept."""
    if row.readings is None:
        return {}
    listed = json.loads(zlib.decompress(bytes(row.readings)))
    return {(bytes.fromhex(code), loop): tuple(reading) for code, loop, *reading in listed}


def _packed(readings: Sequence[ChainReading]) -> bytes:
    listed = [(one.chain.code.hex(), one.chain.loop, one.cycles, one.spread, one.note) for one in readings]
    return zlib.compress(json.dumps(listed, separators=(",", ":")).encode())

"""Latencies between rows and values."""

from __future__ import annotations

import json
import zlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from django.db import transaction

from inference.core.latency import ChainReading, LatencyResult
from inference.core.protocols import Json
from inference.formats.parsing import Parsed
from inference.models import ISA, LatencySet, Machine, Run, SchemeLatencies
from inference.storage.names import free_or_refuse
from inference.storage.published_machines import published_machine


@transaction.atomic
def store_latencies(
    name: str, machine: Machine, found: LatencyResult, identity: Json, *, run: Run | None = None
) -> LatencySet:
    """A new set of what was found for the schemes of the machine's instruction set.

    Raises `NameTakenError`.
    """
    idioms = defaultdict(list)
    for idiom in found.idioms:
        idioms[idiom.scheme].append(idiom.as_json())
    by_scheme = groupby(found.pairs, key=lambda pair: pair.link.scheme)
    return _store(
        {text: [pair.as_json() for pair in pairs] for text, pairs in by_scheme},
        idioms,
        name=name,
        machine=machine,
        run=run,
        identity=identity,
        memory=[one.as_json() for one in found.memory],
        readings=_packed(found.readings),
        connectors={str(link): round(cycles, 3) for link, cycles in found.connectors.items()},
    )


@transaction.atomic
def store_parsed_latencies(
    parsed: Parsed, isa: ISA, name: str, *, source: str, note: str = "", run: Run | None = None
) -> LatencySet:
    """A new set of what a file says. Raises `NameTakenError`."""
    arch = parsed.facts.get("arch")
    cpu = arch if isinstance(arch, str) else ""
    machine = published_machine(cpu or name, source, isa=isa, cpu=cpu[:200], facts={})
    pairs = {text: [pair.as_json() for pair in entry.pairs] for text, entry in parsed.latencies.items()}
    return _store(pairs, {}, name=name, machine=machine, run=run, note=note or f"From {source}.")


def _store(
    pairs: Mapping[str, Sequence[Json]],
    idioms: Mapping[str, list[Json]],
    *,
    name: str,
    machine: Machine,
    **columns: Any,
) -> LatencySet:
    """`pairs`: {scheme: as `PairLatency.as_json` has them}."""
    free_or_refuse(LatencySet, name)
    row = LatencySet.objects.create(name=name, isa=machine.isa, machine=machine, **columns)
    ids = dict(machine.isa.schemes.filter(text__in=pairs).values_list("text", "pk"))
    SchemeLatencies.objects.bulk_create(
        [_scheme_row(row, ids[text], listed, idioms.get(text, [])) for text, listed in pairs.items()],
        batch_size=200,
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

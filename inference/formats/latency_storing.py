"""Latencies of a file as a set: of a machine that stands for what was measured elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from inference.core.protocols import Json
from inference.formats.document import PairEntry
from inference.formats.parsing import Parsed
from inference.models import ISA, LatencySet, Machine
from inference.storage.latencies import store_told_latencies
from inference.storage.names import NAME_LIMIT, free_name

if TYPE_CHECKING:
    from inference.models import Run


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
    pairs = {text: pairs_json(entry.pairs) for text, entry in parsed.latencies.items()}
    return store_told_latencies(name, where, pairs, run=run, note=note or f"From {source}.")


def pairs_json(pairs: Sequence[PairEntry]) -> list[Json]:
    """As `PairLatency.as_json` has them, without chains."""
    return [
        {
            "source": pair.source,
            "destination": pair.destination,
            "least": pair.least,
            "most": pair.most,
            "at_most": pair.at_most,
            "why": pair.why,
            "throughput_limited": False,
            "breaks": pair.breaks,
            "values": [],
            "chains": [],
        }
        for pair in pairs
    ]


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

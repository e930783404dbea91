"""Stores measured and imported latency sets, compares them with documents, and loads them for core models."""

from __future__ import annotations

import json
import math
import zlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby
from typing import Any

from django.db import transaction

from inference.core.core_model import BypassTimes, LatencyBases, OperandLatencies
from inference.core.core_model.dependences import AT_MOST_BASIS
from inference.core.latency import ChainReading, IdiomKind, LatencyResult
from inference.core.protocols import Json
from inference.formats.parsing import Parsed
from inference.isa.chains import ChainLink, Latency
from inference.isa.targets import documented_latencies, documented_latency, latency_source
from inference.models import ISA, LatencySet, Machine, Run, SchemeLatencies
from inference.storage.instruction_sets import CORE, core_name
from inference.storage.names import check_name_free, free_name


@transaction.atomic
def store_latencies(
    name: str, machine: Machine, result: LatencyResult, identity: Json, *, run: Run | None = None
) -> LatencySet:
    """Store the latencies measured on a machine as a new set.

    Args:
        name: Name of the set.
        machine: Machine that measured.
        result: The latencies, with the readings behind them.
        identity: Everything that changes what the machine measures.
        run: Run that measured, None for an import.

    Raises:
        NameInUseError: Another set has the name.
    """
    idioms = defaultdict(list)
    for idiom in result.idioms:
        idioms[idiom.scheme].append(idiom.as_json())
    by_scheme = groupby(result.pairs, key=lambda pair: pair.link.scheme)
    return _store(
        {text: [pair.as_json() for pair in pairs] for text, pairs in by_scheme},
        idioms,
        name=name,
        machine=machine,
        run=run,
        identity=identity,
        memory=[chain.as_json() for chain in result.memory],
        readings=_pack(result.readings),
        connectors={str(link): round(cycles, 3) for link, cycles in result.connectors.items()},
    )


@transaction.atomic
def store_extension(
    name: str, base: LatencySet, result: LatencyResult, identity: Json, *, run: Run | None = None
) -> LatencySet:
    """Store the latencies of `base` with those of further schemes as a new set.

    Schemes that both have keep those of `base`. Bypasses to and from the further schemes are unknown.

    Args:
        name: Name of the new set.
        base: Stays as it is.
        result: Latencies of further schemes.
        identity: Identity of the measurer, as for `store_latencies`.
        run: Run that measured, None for an import.

    Raises:
        NameInUseError: Another set has the name.
    """
    row = store_latencies(name, base.machine, result, identity, run=run)
    earlier = list(base.schemes.order_by("pk"))
    row.schemes.filter(scheme__in=[latencies.scheme_id for latencies in earlier]).delete()
    for latencies in earlier:
        latencies.pk, latencies.latency_set = None, row
    SchemeLatencies.objects.bulk_create(earlier, batch_size=200)
    row.memory = base.memory
    row.connectors = {**row.connectors, **base.connectors}
    if base.readings is not None:
        row.readings = _packed_readings({**recorded_readings(row), **recorded_readings(base)})
    row.note = f"{base.name} with further schemes."
    row.save(update_fields=["memory", "connectors", "readings", "note"])
    return row


@transaction.atomic
def store_parsed_latencies(
    parsed: Parsed,
    isa: ISA,
    name: str,
    *,
    core: str = "",
    source: str,
    note: str = "",
    run: Run | None = None,
) -> LatencySet:
    """Store the latencies of a file as a new set.

    Args:
        parsed: The file's content.
        isa: Instruction set of the latencies.
        name: Name of the set.
        core: Documented name of the measured core, "" if unknown.
        source: Where the latencies are from, in words.
        note: Note of the user.
        run: Run that imports them, None for an upload.

    Raises:
        NameInUseError: Another set has the name.
    """
    arch = parsed.facts.get("arch")
    cpu = arch if isinstance(arch, str) else ""
    machine = published_machine(
        cpu or name, source, isa=isa, cpu=cpu[:200], facts={CORE: core} if core else {}
    )
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
    """`pairs`: {scheme: JSON of `PairLatency`}."""
    check_name_free(LatencySet, name)
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


RecordedReadings = dict[tuple[bytes, bool], tuple[float | None, float, str]]
"""{(code of a chain, whether it is a loop): (cycles, spread, note)}."""


def recorded_readings(row: LatencySet) -> RecordedReadings:
    """The readings of chains that a set was computed from; {} where they were not stored."""
    if row.readings is None:
        return {}
    listed = json.loads(zlib.decompress(bytes(row.readings)))
    return {(bytes.fromhex(code), loop): tuple(reading) for code, loop, *reading in listed}


def _pack(readings: Sequence[ChainReading]) -> bytes:
    return _packed_readings(
        {
            (reading.chain.code, reading.chain.loop): (reading.cycles, reading.spread, reading.note)
            for reading in readings
        }
    )


def _packed_readings(readings: RecordedReadings) -> bytes:
    listed = [(code.hex(), loop, *reading) for (code, loop), reading in readings.items()]
    return zlib.compress(json.dumps(listed, separators=(",", ":")).encode())


def published_machine(name: str, source: str, **columns: Any) -> Machine:
    """The machine row for a file `source`: shared by all files with the same facts about it."""
    columns["kind"] = Machine.Kind.PUBLISHED
    existing = Machine.objects.filter(**columns, name__startswith=name[:150]).order_by("id").first()
    if existing is not None:
        return existing
    return Machine.objects.create(name=free_name(Machine, name), note=f"Told of by {source}.", **columns)


NEAR = 0.1
"""Cycles within which a measured latency agrees with a documented one."""


@dataclass(frozen=True, slots=True)
class DisagreeingPair:
    """A pair of operands whose measured latency differs from the documented one.

    Attributes:
        least, most: Measured cycles, None where there is no value, with the reason `why`.
    """

    scheme_id: int
    scheme: str
    source: str
    destination: str
    least: float | None
    most: float | None
    why: str
    documented_least: float
    documented_most: float


@dataclass(frozen=True, slots=True)
class DocumentedShare:
    """Agreement of a set with documented latencies.

    Attributes:
        pairs: Documented ones.
        within: Within `NEAR` cycles.
        according_to: The document.
        off: Pairs that differ.
    """

    core: str
    according_to: str
    pairs: int
    within: int
    off: tuple[DisagreeingPair, ...]

    def as_json(self) -> Json:
        return asdict(self)


def documented_core(machine: Machine) -> str:
    """The name of the machine's core, "" where no latencies of it are documented."""
    core = core_name(machine)
    return core if documented_latencies(core) else ""


def documented_share(row: LatencySet) -> DocumentedShare | None:
    """Agreement of a set with documented latencies, None where its core has none (one query)."""
    core = documented_core(row.machine)
    if not core:
        return None
    texts = {link.scheme for link in documented_latencies(core)}
    rows = row.schemes.filter(scheme__text__in=texts).order_by("scheme__text")
    return compare_documented(core, rows.values_list("scheme_id", "scheme__text", "pairs"))


def compare_documented(core: str, measured: Iterable[tuple[int, str, Sequence[Json]]]) -> DocumentedShare:
    """Compare measured pairs, (scheme id, text, JSON of `PairLatency`), with the documented ones."""
    count, off = 0, []
    for scheme, text, pairs in measured:
        for pair in pairs:
            link = ChainLink(text, pair["source"], pair["destination"])
            documented = documented_latency(core, link)
            if documented is None:
                continue
            count += 1
            lowest, highest = pair["least"], pair["most"]
            if lowest is None or highest is None or not _overlap((lowest, highest), documented):
                ends = link.source, link.destination
                off.append(DisagreeingPair(scheme, text, *ends, lowest, highest, pair["why"], *documented))
    return DocumentedShare(core, latency_source(core), count, count - len(off), tuple(off))


def _overlap(measured: Latency, documented: Latency) -> bool:
    return measured[0] - NEAR <= documented[1] and documented[0] - NEAR <= measured[1]


NEEDS_NO_PORT = (IdiomKind.ZEROING, IdiomKind.ELIMINATED)
WAITS_FOR_NOTHING = (IdiomKind.ZEROING, IdiomKind.BREAKING)
HALF_OF_A_SUM = "half of a way there and back"
_OFF = 0.1
"""Cycles by which a bound may be too small; added before it is rounded down."""

LatencyRow = tuple[str, list[Json], list[Json]]
"""Scheme, pairs and idioms of a row of `SchemeLatencies`."""


@dataclass
class MeasuredLatencies:
    """Latencies by scheme, as in `CoreModel`. `idioms`: {kind: schemes}."""

    latencies: dict[str, OperandLatencies] = field(default_factory=dict)
    bases: dict[str, LatencyBases] = field(default_factory=dict)
    by_immediate: dict[str, dict[int, OperandLatencies]] = field(default_factory=dict)
    unqueued: dict[str, OperandLatencies] = field(default_factory=dict)
    bypasses: BypassTimes = field(default_factory=BypassTimes)
    false_dependences: dict[str, dict[str, float]] = field(default_factory=dict)
    idioms: dict[IdiomKind, set[str]] = field(default_factory=lambda: {kind: set() for kind in IdiomKind})

    def of(self, kinds: Collection[IdiomKind]) -> frozenset[str]:
        return frozenset().union(*(self.idioms[kind] for kind in kinds))


def latencies_of_schemes(rows: Iterable[LatencyRow]) -> MeasuredLatencies:
    measured = MeasuredLatencies()
    kinds: dict[str, dict[tuple[str, str], int]] = {}
    excess: dict[int, Sequence[float]] = {}
    for text, pairs, idioms in rows:
        latencies, bases = _operand_latencies(pairs)
        for idiom in idioms:
            kind = IdiomKind(idiom["kind"])
            measured.idioms[kind].add(text)
            destination, cycles = idiom["destination"], idiom["latency"]
            if kind is IdiomKind.PARTIAL_REGISTER and cycles is not None:
                latencies = {(destination, destination): cycles, **latencies}
            if kind is IdiomKind.FALSE_DEPENDENCY and cycles is not None:
                measured.false_dependences.setdefault(text, {})[destination] = cycles
        measured.latencies[text] = latencies
        if bases:
            measured.bases[text] = bases
        if by_immediate := _by_immediate(pairs):
            measured.by_immediate[text] = by_immediate
        if unqueued := {_ends(pair): pair["least"] for pair in pairs if "queued" in pair}:
            measured.unqueued[text] = unqueued
        if of_pairs := {_ends(pair): pair["kind"] for pair in pairs if "kind" in pair}:
            kinds[text] = of_pairs
            excess |= {pair["kind"]: pair["beside"] for pair in pairs if "kind" in pair}
    measured.bypasses = BypassTimes(kinds, _matrix(excess))
    return measured


def _matrix(rows: dict[int, Sequence[float]]) -> tuple[tuple[float, ...], ...]:
    """The matrix of excess cycles by kind; zeros for kinds without a scheme."""
    size = max((len(row) for row in rows.values()), default=0)
    return tuple(tuple(rows.get(kind, (0.0,) * size)) for kind in range(size))


def _ends(pair: Json) -> tuple[str, str]:
    return pair["source"], pair["destination"]


def _operand_latencies(pairs: list[Json]) -> tuple[OperandLatencies, LatencyBases]:
    """(latencies, bases of those not measured in isolation).

    A sum over two register classes is halved, assuming that the way back takes as long. Other bounds are
    rounded down to whole cycles, which instructions take; the rest comes from ports that others in the chain
    need. Where latency depends on values, the bound is that of the fastest. Where a queue makes a pair
    slower, the slower number is used, as in most blocks that a chain limits.
    """
    latencies: dict[tuple[str, str], float | None] = {}
    bases: dict[tuple[str, str], str] = {}
    for pair in pairs:
        ends = _ends(pair)
        if pair["breaks"]:
            latencies[ends] = None
        elif pair["least"] is not None:
            latencies[ends] = max(pair["queued"] if "queued" in pair else pair["least"], 0.0)
        elif pair["at_most"] is not None:
            latencies[ends], bases[ends] = _share(pair)
    return latencies, bases


def _by_immediate(pairs: list[Json]) -> dict[int, OperandLatencies]:
    """{immediate or shift count: latencies} of pairs that depend on it."""
    latencies: dict[int, dict[tuple[str, str], float | None]] = defaultdict(dict)
    for pair in pairs:
        for values in pair.get("values", ()):
            number = values.get("immediate", values.get("count"))
            if number is not None:
                as_pair = {**pair, **values, "why": pair["why"], "values": ()}
                latencies[number].update(_operand_latencies([as_pair])[0])
    return dict(latencies)


def _share(pair: Json) -> tuple[float, str]:
    bounds = [values["at_most"] for values in pair.get("values", ()) if values["at_most"] is not None]
    bound = float(min(bounds, default=pair["at_most"]))
    if all(word in pair["why"] for word in ("general-purpose", "vector")):
        return max((bound + 1) / 2, 1.0), HALF_OF_A_SUM
    return max(float(math.floor(bound + _OFF)), 0.0), AT_MOST_BASIS

"""Parts of core models in JSON: operand latencies, what they depend on, and times of memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from inference.core.core_model import BypassTimes, CoreModel, LatencyBases, MemoryTimes, OperandLatencies
from inference.core.core_model.model import ForwardingCase, RenamingConditions, StoreCurve
from inference.core.events import Amount
from inference.core.protocols import Json

_Text = Annotated[str, Field(max_length=200)]
_Kind = Annotated[int, Field(ge=0, lt=1000)]
_Excess = Annotated[float, Field(ge=-1e6, le=1e6)]


class DocumentPart(BaseModel):
    """A part of a document. Keys that are not declared are errors."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class LatencyPart(DocumentPart):
    """Latency from a source operand to a destination; null where the destination does not wait for it.

    `basis`: what the number was derived from, "" where the pair was measured in isolation.
    """

    source: _Text
    destination: _Text
    cycles: Amount | None
    basis: _Text = ""


class LatencyOfImmediatePart(DocumentPart):
    """Latency with one value of the immediate, where it depends on the immediate."""

    immediate: Annotated[int, Field(ge=0, le=255)]
    source: _Text
    destination: _Text
    cycles: Amount | None


class KindPart(DocumentPart):
    """Bypass kind of a pair of operands: index of a row in `BypassesPart.excess`."""

    source: _Text
    destination: _Text
    kind: _Kind


class BypassesPart(DocumentPart):
    kinds: dict[_Text, list[KindPart]] = {}
    excess: list[list[_Excess]] = []

    @model_validator(mode="after")
    def _is_square(self) -> BypassesPart:
        size = len(self.excess)
        if any(len(row) != size for row in self.excess):
            raise ValueError(f"excess has {size} rows: each needs as many numbers")
        largest = max((pair.kind for pairs in self.kinds.values() for pair in pairs), default=-1)
        if largest >= size:
            raise ValueError(f"kind {largest} has no row of excess: there are {size}, from 0")
        return self

    def bypass_times(self) -> BypassTimes:
        kinds = {
            scheme: {(pair.source, pair.destination): pair.kind for pair in pairs}
            for scheme, pairs in self.kinds.items()
        }
        return BypassTimes(kinds, tuple(map(tuple, self.excess)))


def latencies_and_bases(
    schemes: Mapping[str, Sequence[LatencyPart]],
) -> tuple[dict[str, OperandLatencies], dict[str, LatencyBases]]:
    """({scheme: latencies}, {scheme: bases of the pairs that have one})."""
    latencies: dict[str, OperandLatencies] = {}
    bases: dict[str, LatencyBases] = {}
    for scheme, pairs in schemes.items():
        latencies[scheme] = {(pair.source, pair.destination): pair.cycles for pair in pairs}
        if based := {(pair.source, pair.destination): pair.basis for pair in pairs if pair.basis}:
            bases[scheme] = based
    return latencies, bases


def latencies_by_immediate(
    schemes: Mapping[str, Sequence[LatencyOfImmediatePart]],
) -> dict[str, dict[int, OperandLatencies]]:
    by_scheme: dict[str, dict[int, OperandLatencies]] = {}
    for scheme, pairs in schemes.items():
        latencies: dict[int, dict[tuple[str, str], float | None]] = defaultdict(dict)
        for pair in pairs:
            latencies[pair.immediate][pair.source, pair.destination] = pair.cycles
        by_scheme[scheme] = dict(latencies)
    return by_scheme


def latencies_json(model: CoreModel) -> Json:
    """{scheme: a list of `LatencyPart`}."""
    return {
        scheme: [
            {**pair, "basis": basis} if basis else pair
            for pair in _pairs_json(pairs)
            for basis in [model.bases.get(scheme, {}).get((pair["source"], pair["destination"]), "")]
        ]
        for scheme, pairs in sorted(model.latencies.items())
    }


def conditions_json(model: CoreModel) -> Json:
    """What latencies depend on. Empty parts are omitted, so that files of older models do not change."""
    by_immediate: Json = {
        scheme: [
            {"immediate": immediate, **pair}
            for immediate, pairs in sorted(immediates.items())
            for pair in _pairs_json(pairs)
        ]
        for scheme, immediates in sorted(model.by_immediate.items())
    }
    unqueued: Json = {scheme: _pairs_json(pairs) for scheme, pairs in sorted(model.unqueued.items())}
    false_dependences: Json = {
        scheme: dict(cycles) for scheme, cycles in sorted(model.false_dependences.items())
    }
    parts = {
        "by_immediate": by_immediate,
        "unqueued": unqueued,
        "bypasses": _bypasses_json(model.bypasses),
        "false_dependences": false_dependences,
    }
    return {name: part for name, part in parts.items() if part}


def _bypasses_json(bypasses: BypassTimes) -> Json:
    if not bypasses.excess:
        return {}
    kinds = {scheme: _pairs_json(pairs, "kind") for scheme, pairs in sorted(bypasses.kinds.items())}
    return {"kinds": kinds, "excess": [list(row) for row in bypasses.excess]}


def _pairs_json(pairs: Mapping[tuple[str, str], float | None], name: str = "cycles") -> list[Json]:
    return [
        {"source": source, "destination": destination, name: number}
        for (source, destination), number in pairs.items()
    ]


_LinesAndCycles = Annotated[list[Amount], Field(min_length=2, max_length=2)]


class ForwardingPart(DocumentPart):
    """Store-to-load forwarding: bits of the store and the load, and the load's offset in bytes."""

    stored: int
    loaded: int
    offset: int
    vector: bool
    cycles: Amount


class RenamingPart(DocumentPart):
    by_text: bool = True
    rewritten: bool = False
    other_base: bool = False
    computing: bool = True
    stores_between: Annotated[int, Field(ge=0)] | None = None
    forgotten_pairs: Annotated[int, Field(ge=1)] | None = 1
    forgotten_updates: Annotated[int, Field(ge=1)] | None = 1
    update: Amount | None = None
    learned_update: Amount | None = None
    overtaken: Amount | None = None
    forwarded: list[ForwardingPart] = []

    def conditions(self) -> RenamingConditions:
        return RenamingConditions(
            **self.model_dump(exclude={"forwarded"}), forwarded=_forwarding(self.forwarded)
        )


class StoreCurvePart(DocumentPart):
    """Stores of `bits` bits: (cache lines in turn, cycles per store) pairs; see `StoreCurve`."""

    bits: Annotated[int, Field(ge=8, le=4096)]
    in_turn: Annotated[list[_LinesAndCycles], Field(min_length=1)]

    def curve(self) -> StoreCurve:
        return StoreCurve(tuple(sorted((int(lines), cycles) for lines, cycles in self.in_turn)))


class MemoryTimesPart(DocumentPart):
    usual: Amount = MemoryTimes().usual
    indexed: Amount = MemoryTimes().indexed
    relative: Amount = MemoryTimes().relative
    load: Amount = MemoryTimes().load
    blocked: Amount | None = None
    of_one_word: Amount | None = None
    forwarded: list[ForwardingPart] = []
    to_one_line: Amount | None = None
    to_another_line: Amount | None = None
    to_another_half: Amount | None = None
    three_and_one: Amount | None = None
    foreseen: Amount | None = None
    behind_pop: Amount | None = None
    other_page: Amount | None = None
    pop: Amount | None = None
    push: Amount | None = None
    load_beside_pop: Amount = 0.0
    renaming: RenamingPart | None = None
    stores: list[StoreCurvePart] = []

    def times(self) -> MemoryTimes:
        return MemoryTimes(
            _forwarding(self.forwarded),
            **self.model_dump(exclude={"forwarded", "renaming", "stores"}),
            renaming=None if self.renaming is None else self.renaming.conditions(),
            stores={part.bits: part.curve() for part in self.stores},
        )


def _forwarding(parts: Sequence[ForwardingPart]) -> dict[ForwardingCase, float]:
    return {(part.stored, part.loaded, part.offset, part.vector): part.cycles for part in parts}


_SEPARATE_FIELDS = ("forwarded", "other_page", "pop", "push", "load_beside_pop", "renaming", "stores")
"""Fields with a shape of their own, and fields that are omitted where they were not measured."""


def memory_json(memory: MemoryTimes) -> Json:
    return {
        **{name: cycles for name, cycles in vars(memory).items() if name not in _SEPARATE_FIELDS},
        "forwarded": _forwarded_json(memory.forwarded),
        **_stack_json(memory),
        **renaming_and_stores_json(memory),
    }


def _stack_json(memory: MemoryTimes) -> Json:
    """Times of push and pop, omitted where not measured: files of such models do not change."""
    times = {"pop": memory.pop, "push": memory.push, "load_beside_pop": memory.load_beside_pop or None}
    return {name: cycles for name, cycles in times.items() if cycles is not None}


def _forwarded_json(forwarded: Mapping[ForwardingCase, float]) -> list[Json]:
    return [
        {"stored": stored, "loaded": loaded, "offset": offset, "vector": vector, "cycles": cycles}
        for (stored, loaded, offset, vector), cycles in sorted(forwarded.items())
    ]


def renaming_and_stores_json(memory: MemoryTimes) -> Json:
    """Omitted where not measured: files of such models do not change."""
    parts: Json = {} if memory.other_page is None else {"other_page": memory.other_page}
    if memory.renaming is not None:
        parts["renaming"] = {**vars(memory.renaming), "forwarded": _forwarded_json(memory.renaming.forwarded)}
    if memory.stores:
        parts["stores"] = [
            {"bits": bits, "in_turn": [list(point) for point in curve.in_turn]}
            for bits, curve in sorted(memory.stores.items())
        ]
    return parts

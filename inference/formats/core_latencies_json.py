"""The latencies of a core, and what they depend on, as JSON: a part of core models; see docs/formats.md."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import Field, model_validator

from inference.core.core_model import BypassTimes, CoreModel, LatencyBases, OperandLatencies
from inference.core.events import Amount
from inference.core.protocols import Json
from inference.formats.core_memory_json import DocumentPart

_Text = Annotated[str, Field(max_length=200)]
_Kind = Annotated[int, Field(ge=0, lt=1000)]
_Excess = Annotated[float, Field(ge=-1e6, le=1e6)]


class LatencyPart(DocumentPart):
    """From a source operand to a destination; `cycles` is null where the destination does not wait.

    `basis`: what the number rests on, "" where it was measured by itself.
    """

    source: _Text
    destination: _Text
    cycles: Amount | None
    basis: _Text = ""


class LatencyOfImmediatePart(DocumentPart):
    """The same of an instruction with this immediate, where others take another time."""

    immediate: Annotated[int, Field(ge=0, le=255)]
    source: _Text
    destination: _Text
    cycles: Amount | None


class KindPart(DocumentPart):
    """The kind of a pair of operands, beside others."""

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

    def value(self) -> BypassTimes:
        """As core models have it."""
        kinds = {
            scheme: {(pair.source, pair.destination): pair.kind for pair in pairs}
            for scheme, pairs in self.kinds.items()
        }
        return BypassTimes(kinds, tuple(map(tuple, self.excess)))


def latencies_and_bases(
    schemes: Mapping[str, Sequence[LatencyPart]],
) -> tuple[dict[str, OperandLatencies], dict[str, LatencyBases]]:
    """As core models have them."""
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
    """As core models have them."""
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
    """What latencies depend on; without parts that say nothing, so that older files stay as they were."""
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

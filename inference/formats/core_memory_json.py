"""How a core loads and stores, as a part of the product's own JSON for core models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from inference.core.core_model import MemoryTimes
from inference.core.core_model.model import ForwardingCase, RenamingConditions, StoreCurve
from inference.core.events import Amount
from inference.core.protocols import Json

_LinesAndCycles = Annotated[list[Amount], Field(min_length=2, max_length=2)]


class DocumentPart(BaseModel):
    """A part of a document, without any key that is not declared."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class ForwardingTold(DocumentPart):
    """From a stored value to the loaded one: bits of both, and how many bytes behind."""

    stored: int
    loaded: int
    offset: int
    vector: bool
    cycles: Amount


class RenamingPart(DocumentPart):
    by_text: bool = True
    rewritten: bool = False
    other_base: bool = False
    stores_between: Annotated[int, Field(ge=0)] | None = None
    forgotten_pairs: Annotated[int, Field(ge=1)] | None = 1
    forgotten_updates: Annotated[int, Field(ge=1)] | None = 1
    update: Amount | None = None
    learned_update: Amount | None = None
    overtaken: Amount | None = None
    forwarded: list[ForwardingTold] = []

    def conditions(self) -> RenamingConditions:
        return RenamingConditions(
            **self.model_dump(exclude={"forwarded"}), forwarded=_forwarding(self.forwarded)
        )


class StoreCurvePart(DocumentPart):
    """See `StoreCurve`: of stores of so many bits, pairs of lines in turn and cycles per store."""

    bits: Annotated[int, Field(ge=8, le=4096)]
    in_turn: Annotated[list[_LinesAndCycles], Field(min_length=1)]

    def curve(self) -> StoreCurve:
        return StoreCurve(tuple(sorted((int(lines), cycles) for lines, cycles in self.in_turn)))


class MemoryTold(DocumentPart):
    usual: Amount = MemoryTimes().usual
    indexed: Amount = MemoryTimes().indexed
    relative: Amount = MemoryTimes().relative
    load: Amount = MemoryTimes().load
    blocked: Amount | None = None
    of_one_word: Amount | None = None
    forwarded: list[ForwardingTold] = []
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


def _forwarding(listed: Sequence[ForwardingTold]) -> dict[ForwardingCase, float]:
    return {(one.stored, one.loaded, one.offset, one.vector): one.cycles for one in listed}


_LATER = ("forwarded", "other_page", "pop", "push", "load_beside_pop", "renaming", "stores")
"""What has a shape of its own, or is left out where it was not measured."""


def memory_json(memory: MemoryTimes) -> Json:
    return {
        **{name: cycles for name, cycles in vars(memory).items() if name not in _LATER},
        "forwarded": _forwarded_json(memory.forwarded),
        **_stack_json(memory),
        **renaming_and_stores_json(memory),
    }


def _stack_json(memory: MemoryTimes) -> Json:
    """Nothing where it was not measured: files of such models stay as they were."""
    times = {"pop": memory.pop, "push": memory.push, "load_beside_pop": memory.load_beside_pop or None}
    return {name: cycles for name, cycles in times.items() if cycles is not None}


def _forwarded_json(forwarded: Mapping[ForwardingCase, float]) -> list[Json]:
    return [
        {"stored": stored, "loaded": loaded, "offset": offset, "vector": vector, "cycles": cycles}
        for (stored, loaded, offset, vector), cycles in sorted(forwarded.items())
    ]


def renaming_and_stores_json(memory: MemoryTimes) -> Json:
    """Nothing where it was not measured: files of such models stay as they were."""
    found: Json = {} if memory.other_page is None else {"other_page": memory.other_page}
    if memory.renaming is not None:
        found["renaming"] = {
            **vars(memory.renaming),
            "forwarded": _forwarded_json(memory.renaming.forwarded),
        }
    if memory.stores:
        found["stores"] = [
            {"bits": bits, "in_turn": [list(point) for point in curve.in_turn]}
            for bits, curve in sorted(memory.stores.items())
        ]
    return found

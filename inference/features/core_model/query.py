"""What pages, API and shell read of core models: the bounds of a block, and the reason in a sentence."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Max

from inference.core.core_model import BoundKind, CoreBound, CoreModel, CorePrediction, predict_core
from inference.core.core_model.bounds import CodeShape
from inference.core.core_model.dependences import ChainStep
from inference.core.protocols import Json
from inference.isa.x86.blocks import Block
from inference.isa.x86.control_flow import LOOP
from inference.isa.x86.dependences import accesses_of, name_of_location
from inference.models import Machine
from inference.storage.core_models import CoreParts, load_core_model, newest_parts
from inference.storage.instruction_sets import X86

_OTHERS = 2
"""Bounds that a sentence names beside the largest."""


@dataclass(frozen=True)
class BlockReason:
    """How many cycles a block takes on a machine by its core model, and why.

    `chain`: of each instruction (by its place), the cycles that it adds to the critical chain. `sources`:
    {part of the model: what it was taken from}.
    """

    machine: Machine
    prediction: CorePrediction
    sentence: str
    chain: Mapping[int, float]
    sources: Mapping[str, str]

    @property
    def shares(self) -> list[tuple[CoreBound, float]]:
        """The bounds with their share of the largest, in per cent."""
        most = self.prediction.cycles
        return [(bound, 100 * bound.cycles / most if most else 0.0) for bound in self.prediction.bounds]

    def as_json(self) -> Json:
        """For programs."""
        prediction = self.prediction
        return {
            "machine": self.machine.name,
            "cycles": None if prediction.unknown else round(prediction.cycles, 4),
            "why": self.sentence,
            "bounds": [
                {"kind": str(bound.kind), "cycles": round(bound.cycles, 4), "why": bound.why}
                for bound in prediction.bounds
            ],
            "chain": [
                {"instruction": place, "cycles": round(cycles, 4)}
                for place, cycles in sorted(self.chain.items())
            ],
            "unknown": list(prediction.unknown),
            "lacking": list(prediction.lacking),
            "sources": dict(self.sources),
        }


def machines_with_latencies() -> list[Machine]:
    """Of x86-64, those whose latencies were measured, the last one measured first."""
    rows = Machine.objects.filter(isa__name=X86).annotate(newest_set=Max("latency_sets"))
    return list(rows.exclude(newest_set=None).select_related("isa").order_by("-newest_set"))


def reasons_of(
    blocks: Sequence[Block], machine: Machine, without: Collection[BoundKind] = ()
) -> list[BlockReason]:
    """Of each block by what was found out last about a machine; a bounded number of queries."""
    texts = {text for block in blocks for text, _ in block.terms}
    parts: CoreParts = newest_parts(machine)
    model: CoreModel = load_core_model(parts, texts)
    return [_reason(block, machine, model, without) for block in blocks]


def _reason(block: Block, machine: Machine, model: CoreModel, without: Collection[BoundKind]) -> BlockReason:
    shape = CodeShape(len(block.code), block.kind == LOOP)
    found = predict_core(accesses_of(block), shape, model, without)
    chain: dict[int, float] = {}
    for bound in found.bounds:
        if bound.kind is BoundKind.DEPENDENCES and bound is found.bounds[0]:
            for step in bound.chain:
                chain[step.instruction] = chain.get(step.instruction, 0.0) + step.cycles
    return BlockReason(machine, found, _sentence(block, found), chain, model.sources)


def _sentence(block: Block, found: CorePrediction) -> str:
    """`4.0 cycles: the chain rax → imul → rax; ports alone 1.0, front end 0.5`."""
    if not found.bounds:
        return "no bound is asked for"
    largest, *others = found.bounds
    why = _chain_words(block, largest.chain) if largest.chain else f"{largest.kind}, {largest.why}"
    beside = ", ".join(f"{bound.kind} {bound.cycles:.1f}" for bound in others[:_OTHERS])
    beside = f"; {beside}" if beside else ""
    at_least = "at least " if found.unknown else ""
    return f"{at_least}{largest.cycles:.1f} cycles: {why}{beside}"


def _chain_words(block: Block, chain: Sequence[ChainStep]) -> str:
    words = []
    for step in chain:
        mnemonic = block.instructions[step.instruction].text.split()[0]
        place = "memory" if step.location == "memory" else name_of_location(step.location)
        words += [place, mnemonic]
    return f"the chain {' → '.join([*words, words[0]])}"

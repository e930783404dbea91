"""Why a block takes as long as it does: the bounds of a core model, and the sentence that pages show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from inference.core.core_model import Assumptions, CoreBound, CoreModel, CorePrediction
from inference.core.core_model.blocks import CoreModelBlocks
from inference.core.core_model.dependences import ChainStep
from inference.core.protocols import Json
from inference.formats.core_model_json import core_model_of
from inference.isa.blocks import Block
from inference.isa.blocks.accesses import name_of_location
from inference.models import StoredCoreModel

_OTHERS = 2
"""Bounds that a sentence names beside the largest."""


@dataclass(frozen=True)
class BlockReason:
    """How many cycles a block takes by a core model, and why.

    `chain`: of each instruction (by its place), the cycles that it adds to the critical chain. `model`: as
    far as it concerns the block. `mode`: how the block is executed, in words.
    """

    row: StoredCoreModel
    prediction: CorePrediction
    sentence: str
    chain: Mapping[int, float]
    model: CoreModel
    assumed: Assumptions = field(default_factory=Assumptions)
    mode: str = ""

    @property
    def sources(self) -> Mapping[str, str]:
        """See `CoreModel`."""
        return self.model.sources

    @property
    def shares(self) -> list[tuple[CoreBound, float]]:
        """The bounds with their share of the largest, in per cent."""
        most = self.prediction.cycles
        return [(bound, 100 * bound.cycles / most if most else 0.0) for bound in self.prediction.bounds]

    def as_json(self) -> Json:
        """For programs; instructions count from 1."""
        prediction = self.prediction
        bounds = prediction.bounds
        return {
            "model": self.row.name,
            "cycles": None if prediction.unknown else round(prediction.cycles, 4),
            "bound": str(bounds[0].kind) if bounds else None,
            "bounds": {str(bound.kind): round(bound.cycles, 4) for bound in bounds},
            "why": {str(bound.kind): bound.why for bound in bounds},
            "chain": [place + 1 for place in sorted(self.chain)],
            "steps": [
                {
                    "instruction": step.instruction + 1,
                    "through": name_of_location(step.location),
                    "source": step.source,
                    "destination": step.destination,
                    "cycles": round(step.cycles, 4),
                    "basis": step.basis or "measured",
                }
                for step in prediction.chain
            ],
            "text": self.sentence,
            "unknown": list(prediction.unknown),
            "taken": [
                {
                    "scheme": one.scheme,
                    "nearest": one.nearest,
                    "differs": one.differs,
                    "parts": list(one.parts),
                }
                for one in prediction.taken
            ],
            "lacking": list(prediction.lacking),
            "sources": dict(self.sources),
        }


def reasons_of(
    blocks: Sequence[Block], row: StoredCoreModel, assumed: Assumptions | None = None
) -> list[BlockReason]:
    """Of each block by a core model; a bounded number of queries."""
    given = assumed or Assumptions()
    texts = None if given.nearest else {text for block in blocks for text, _ in block.terms}
    explained = CoreModelBlocks(core_model_of(row, texts), given)
    return [_reason(block, row, explained, given) for block in blocks]


def _reason(
    block: Block, row: StoredCoreModel, explained: CoreModelBlocks, assumed: Assumptions
) -> BlockReason:
    found = explained.predict(block)
    chain: dict[int, float] = {}
    for step in found.chain:
        chain[step.instruction] = chain.get(step.instruction, 0.0) + step.cycles
    mode = "as the loop that it is" if block.closing else "in a loop" if assumed.in_loop else "unrolled"
    return BlockReason(row, found, sentence_of(block, found), chain, explained.model, assumed, mode)


def sentence_of(block: Block, found: CorePrediction) -> str:
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
        words += [name_of_location(step.location), mnemonic]
    return f"the chain {' → '.join([*words, words[0]])}"

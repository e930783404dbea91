"""The sentence that says how long a block takes, and why."""

from __future__ import annotations

from inference.core.core_model.prediction import BoundKind
from inference.core.loop.values import LoopAnalysis, LoopBound
from inference.isa.code.block import Block


def verdict_of(block: Block, analysis: LoopAnalysis) -> str:
    """One sentence, as plain text.

    Args:
        block: The analysed block.
        analysis: Of this block.
    """
    if not analysis.bounds:
        return "All bounds are left out."
    largest = analysis.bounds[0]
    cycles = (
        f"{analysis.usual:.1f} cycles"
        if analysis.cycles.is_exact
        else f"At least {analysis.cycles.low:.1f} cycles"
    )
    return f"{cycles}: {_reason(block, largest)}."


def _reason(block: Block, bound: LoopBound) -> str:
    if not bound.chain:
        return f"{bound.kind}, {bound.why}"
    texts = [text.split()[0] for _, text in block.listing]
    words = " → ".join(dict.fromkeys(texts[step.instruction] for step in bound.chain))
    return (
        f"{words} wait for each other" if bound.kind is BoundKind.DEPENDENCES else f"{words} through memory"
    )

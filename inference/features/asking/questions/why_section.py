"""The section of a block's page in which a core model explains its cycles, and a link to the whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from inference.core.loop.values import LoopBound
from inference.features.asking.loop.answer import LoopAnswer, explained
from inference.features.asking.loop.cpus import chosen_cpu, cpus
from inference.features.asking.loop.request import LoopQuestion
from inference.features.asking.questions.query import PredictorAnswer
from inference.isa.blocks import BlocksOfText, Piece
from inference.isa.code.block import Block
from inference.measuring.blocks import LOOP, UNROLLED

SAME_WITHIN = 0.05
"""Relative difference up to which a number counts as equal to a bound."""


def block_explanation(block: Block, mode: str) -> LoopAnswer | None:
    """What the first CPU's core model says about a block; None where there is no CPU.

    Args:
        block: The block.
        mode: The mode of the other predictors' answers.
    """
    cpu = chosen_cpu(cpus(block.isa), "")
    if cpu is None:
        return None
    question = LoopQuestion(
        isa=block.isa, code=block.hex, cpu=cpu.name, mode=UNROLLED if mode == UNROLLED else LOOP
    )
    return explained(question, cpu, BlocksOfText((Piece("", block, 1),)))


def with_closest_bounds(
    lines: Sequence[PredictorAnswer], explanation: LoopAnswer | None
) -> list[PredictorAnswer]:
    """The answers, each with the bound of the core model that is closest to its number."""
    bounds = () if explanation is None else explanation.analysis.bounds
    return [replace(line, closest_bound=closest_bound(bounds, line.cycles)) for line in lines]


def closest_bound(bounds: Sequence[LoopBound], cycles: float | None) -> str:
    """The closest bound as `dependencies, 4.00`, after "≈ " unless equal within `SAME_WITHIN`; "" without
    any."""
    if cycles is None or not bounds:
        return ""
    nearest = min(bounds, key=lambda bound: abs(bound.usual - cycles))
    near = "" if abs(nearest.usual - cycles) <= SAME_WITHIN * cycles else "≈ "
    return f"{near}{nearest.kind}, {nearest.usual:.2f}"

"""How the jump that closes a loop counts in a port mapping."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from inference.isa.blocks import Block, pairs_of

SLOT = "the jump of the loop"
"""Stands in an experiment for a jump that a mapping does not describe: it takes a slot and no port."""


@dataclass(frozen=True)
class LoopBranch:
    """How the branch of a loop counts in a mapping.

    Args:
        scheme: The scheme that counts for the jump, "" where it is fused with the instruction before, which
            counts.
        replaced: The scheme that is fused with the jump and does not count beside it, "" for none.
    """

    scheme: str
    replaced: str = ""


def jump_schemes(block: Block) -> tuple[str, ...]:
    """The schemes of the jump that closes a loop, for short and long distances; () of a straight block."""
    scheme = None if block.closing is None else block.closing.scheme
    if scheme is None:
        return ()
    mnemonic = scheme.partition(" ")[0]
    return tuple(dict.fromkeys((scheme, f"{mnemonic} REL[8]", f"{mnemonic} REL[32]")))


def loop_branch(block: Block, described: Collection[str], fused: Collection[str] | None) -> LoopBranch | None:
    """How the branch of a loop counts, None of a straight block.

    Args:
        block: A block.
        described: The schemes of the mapping.
        fused: Pairs that the core fuses, as `FrontEndLimits.fused`; None where not measured: then comparison
            and jump count separately.
    """
    if block.closing is None:
        return None
    compared = block.instructions[-1].scheme if block.instructions else None
    return branch_of(pairs_of(block)[-1], jump_schemes(block), compared or "", described, fused)


def branch_of(
    pair: str, jumps: Sequence[str], compared: str, described: Collection[str], fused: Collection[str] | None
) -> LoopBranch:
    """As `loop_branch`.

    Args:
        pair: The pair of the jump and the instruction before it, as in `CodeShape.pairs`.
        jumps: `jump_schemes`.
        compared: The scheme of that instruction.
        described: The schemes of the mapping.
        fused: The pairs that the core fuses.
    """
    is_fused = bool(pair) and pair in (fused or ())
    jump = next((scheme for scheme in jumps if scheme in described), "")
    if not jump:
        return LoopBranch("" if is_fused else SLOT)
    # A comparison with memory keeps its load: the scheme of both stays, and the jump is a part of it.
    if is_fused and "mem" in pair:
        return LoopBranch("")
    return LoopBranch(jump, compared if is_fused else "")

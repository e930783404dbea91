"""The branch that closes a loop, as a port mapping counts it: its own µops, or the slot that it takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from inference.core.mapping import PortMapping, with_sums
from inference.isa.blocks import Block, pairs_of

SLOT = "the jump of the loop"
"""Stands in an experiment for a jump that a mapping does not describe: it takes a slot and no port."""


@dataclass(frozen=True)
class LoopBranch:
    """How the branch of a loop counts in a mapping.

    Args:
        scheme: What counts for the jump, "" where it is one µop with the instruction before, which counts.
        replaced: The scheme that is one µop with the jump and does not count beside it, "" for none.
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
        described: The schemes of the mapping.
        fused: Pairs that the core makes one µop of, as `FrontEndLimits.fused`; None where not measured: then
            comparison and jump count by themselves.
    """
    if block.closing is None:
        return None
    pair = pairs_of(block)[-1]
    is_fused = bool(pair) and pair in (fused or ())
    jump = next((scheme for scheme in jump_schemes(block) if scheme in described), "")
    if not jump:
        return LoopBranch("" if is_fused else SLOT)
    compared = block.instructions[-1].scheme or ""
    # A comparison with memory keeps its load: the scheme of both stays, and the jump is a part of it.
    if is_fused and "mem" in pair:
        return LoopBranch("")
    return LoopBranch(jump, compared if is_fused else "")


def iteration_terms(block: Block, branch: LoopBranch | None) -> dict[str, int]:
    """The schemes of one iteration with their multiplicities, the branch of a loop included."""
    terms = Counter(dict(block.terms))
    if branch is not None:
        terms.update(filter(None, [branch.scheme]))
        terms.subtract(filter(None, [branch.replaced]))
    return dict(+terms)


def with_branch_slot(mapping: PortMapping) -> PortMapping:
    """The mapping that knows `SLOT` as well."""
    return with_sums(mapping, {SLOT: ()})

"""Pairs of operands and the chains that show their latencies, of any instruction set that has some."""

from __future__ import annotations

from collections.abc import Iterable

from inference.isa.aarch64 import chains as arm
from inference.isa.bodies import ASSEMBLED, X86, obstacle_to_blocks
from inference.isa.chains import ChainLink, PairChains
from inference.isa.x86 import chains as intel


def obstacle_to_chains(name: str, isa: str) -> str:
    """Why there are no chains for a machine of this instruction set, "" where there are.

    `name` is that of the machine.
    """
    return "" if isa in ASSEMBLED else obstacle_to_blocks(name, isa)


def links_of(isa: str, text: str) -> tuple[ChainLink, ...]:
    """The pairs of source and destination operands of a scheme; () for one that there is not."""
    return intel.links_of(text) if isa == X86 else arm.links_of(text)


def connectors(isa: str) -> tuple[ChainLink, ...]:
    """The links that close chains within a class of registers: their own latencies come first."""
    return intel.connectors() if isa == X86 else arm.connectors()


def pair_chains(isa: str, links: Iterable[ChainLink]) -> list[PairChains]:
    """The chains for each, in their order. Raises `AssemblerError` where the assembler is not there."""
    if isa == X86:
        return [intel.pair_chains(link) for link in links]
    return arm.pair_chains(list(links))

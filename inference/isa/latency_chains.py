"""Pairs of operands and the chains that show their latencies, of any instruction set that has some."""

from __future__ import annotations

from collections.abc import Iterable

from inference.isa.bodies import obstacle_to_blocks
from inference.isa.chains import ChainLink, PairChains
from inference.isa.facets import LatencyChainMaker
from inference.isa.targets import target_of


def chain_maker(isa: str) -> LatencyChainMaker:
    """What makes the chains of an instruction set. Raises `LookupError` where nothing does."""
    maker = target_of(isa).chains
    if maker is None:
        raise LookupError(f"there are no chains for {isa}")
    return maker


def obstacle_to_chains(name: str, isa: str) -> str:
    """Why there are no chains for a machine of this instruction set, "" where there are.

    `name` is that of the machine.
    """
    return obstacle_to_blocks(name, isa) if target_of(isa).chains is None else ""


def links_of(isa: str, text: str) -> tuple[ChainLink, ...]:
    """The pairs of source and destination operands of a scheme; () for one that there is not."""
    return chain_maker(isa).links_of(text)


def connectors(isa: str) -> tuple[ChainLink, ...]:
    """The links that close chains within a class of registers: their own latencies come first."""
    return chain_maker(isa).connectors()


def pair_chains(isa: str, links: Iterable[ChainLink]) -> list[PairChains]:
    """The chains for each, in their order. Raises `AssemblerError` where the assembler is not there."""
    return chain_maker(isa).chains_of_pairs(links)

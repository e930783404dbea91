"""The chain facet of x86-64: pairs of operands, idioms, memory, two instructions in turn."""

from __future__ import annotations

from collections.abc import Iterable

from inference.isa.chains import ChainLink, PairChains
from inference.isa.x86.chains import (
    connectors,
    idioms_of,
    links_of,
    memory_chains,
    pair_chains,
    reference_additions,
)
from inference.isa.x86.chains.mixing import MixedChains

__all__ = [
    "chains_of_pairs",
    "connectors",
    "frame",
    "idioms_of",
    "links_of",
    "memory_chains",
    "mixer",
    "reference_additions",
]


def chains_of_pairs(links: Iterable[ChainLink]) -> list[PairChains]:
    """The chains for each pair of operands, in their order."""
    return [pair_chains(link) for link in links]


def mixer() -> MixedChains:
    """The maker of chains that show bypass delays."""
    return MixedChains()


def frame() -> None:
    """None: chains are measured like blocks."""

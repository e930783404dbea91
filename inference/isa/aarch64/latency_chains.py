"""Chains of AArch64 for latencies: of pairs of operands alone."""

from __future__ import annotations

from collections.abc import Iterable

from inference.isa.aarch64.chains import connectors, frame, links_of, pair_chains
from inference.isa.chains import ChainLink, IdiomChains, MemoryChain, PairChains

__all__ = [
    "chains_of_pairs",
    "connectors",
    "frame",
    "idioms_of",
    "links_of",
    "memory_chains",
    "mixer",
    "plain_additions",
]


def chains_of_pairs(links: Iterable[ChainLink]) -> list[PairChains]:
    """The chains for each pair of operands, in their order. Raises `AssemblerError`."""
    return pair_chains(list(links))


def idioms_of(text: str) -> tuple[IdiomChains, ...]:
    return ()


def plain_additions() -> None:
    """None, as there are no idioms to hold against them."""


def memory_chains() -> tuple[MemoryChain, ...]:
    return ()


def mixer() -> None:
    """None yet."""

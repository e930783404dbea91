"""Chains of instructions each of which waits for the one before: what latencies are read from.

uops.info's definition (Abel and Reineke 2019, section 4.2): the latency from a source operand to a
destination operand is the number of cycles from when the source is ready until the destination is, where all
other sources were ready before.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class ChainLink:
    """The way through one instruction of a chain, from a source operand of its scheme to a destination.

    Operands are named by their place in the scheme's text, from "1", those of memory with what of it is meant
    ("2 address", "2 data"); implicit ones by their register, or "flags".
    """

    scheme: str
    source: str
    destination: str

    def __str__(self) -> str:
        return f"{self.scheme}: {self.source} → {self.destination}"


@dataclass(frozen=True, slots=True)
class DependencyChain:
    """Machine code of one turn of a chain, to be repeated, and the links that a turn passes.

    Other instructions in the code break dependencies that are not meant.
    """

    code: bytes
    links: tuple[ChainLink, ...]

    @property
    def others(self) -> tuple[ChainLink, ...]:
        """The connectors: all links but the first, whose latency is wanted."""
        return self.links[1:]


@dataclass(frozen=True, slots=True)
class PairChains:
    """The chains that show a latency; of one that is not `isolated` they only show sums, `why` says it.

    Without any chain, `why` says what keeps it from being measured.
    """

    link: ChainLink
    chains: tuple[DependencyChain, ...]
    isolated: bool
    why: str = ""

"""Chains for x86-64: pairs of operands of a scheme, and machine code that closes a way through one.

The chain returns from the destination to the source through *connectors*: sign extensions between
general-purpose registers (moves are eliminated), a logical AND of each domain between vector registers.
Between classes of registers, flags and memory a connector's latency is known only in sum with another one's.
All other sources are constant registers, or are overwritten by instructions that read nothing.

| module | |
|---|---|
| `operands` | the operands that a latency can go from and to |
| `connectors` | the instructions that close chains |
| `chain_maker` | the chains of a pair with some values |
| `pairs` | the chains of a pair |
| `idioms` | chains for a choice of operands: one register for all, or the destination's old value |
| `mixing` | two instructions in turn, one among others |
| `memory` | loads, and loads of stored values |
| `renaming` | when a stored value is available at once |
| `store_lines` | stores over cache lines in turn |
"""

from inference.isa.x86.chains.connectors import connectors
from inference.isa.x86.chains.idioms import idioms_of, reference_additions
from inference.isa.x86.chains.memory import memory_chains
from inference.isa.x86.chains.pairs import pair_chains
from inference.isa.x86.link_ends import links_of

__all__ = [
    "connectors",
    "idioms_of",
    "links_of",
    "memory_chains",
    "pair_chains",
    "reference_additions",
]

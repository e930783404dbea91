"""Chains for x86-64: which pairs of operands a scheme has, and machine code that closes a way through one.

The chain goes from the destination back to the source through *connectors*: sign extensions between
general-purpose registers (moves are eliminated), a logical AND of each domain between vector registers.
Between classes of registers, flags and memory a connector's own latency is known only in sum with another
one's. All other sources are registers that nothing writes, or are written anew by instructions that read
nothing.

| module | |
|---|---|
| `operands` | the operands that a latency can go from and to |
| `connectors` | the instructions that close chains |
| `making` | the chains of a pair with some values |
| `pairs` | the chains of a pair |
| `idioms` | chains for a choice of operands: one register for all, or the destination's old value |
| `mixing` | two instructions in turn, one among others |
| `memory` | loads, and loads of what was stored |
| `renaming` | when a stored value is there at once |
| `store_lines` | stores over cache lines in turn |
"""

from inference.isa.x86.chains.connectors import connectors
from inference.isa.x86.chains.idioms import idioms_of, plain_additions
from inference.isa.x86.chains.memory import memory_chains
from inference.isa.x86.chains.pairs import pair_chains
from inference.isa.x86.operand_places import links_of

__all__ = [
    "MixedChains",
    "connectors",
    "idioms_of",
    "links_of",
    "memory_chains",
    "pair_chains",
    "plain_additions",
]

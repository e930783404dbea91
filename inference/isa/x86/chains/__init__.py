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
| `making` | the chains of a pair |
"""

from inference.isa.x86.chains.connectors import connectors
from inference.isa.x86.chains.making import pair_chains
from inference.isa.x86.chains.operands import links_of

__all__ = ["connectors", "links_of", "pair_chains"]

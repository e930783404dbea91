"""Chains for AArch64, as `isa/x86/chains` has them for x86-64.

| module | |
|---|---|
| `operands` | the operands that a latency can go from and to |
| `values` | what operands hold where that matters |
| `making` | the chains of pairs, and the connectors that close them |
"""

from inference.isa.aarch64.chains.making import connectors, frame, pair_chains
from inference.isa.aarch64.chains.operands import links_of

__all__ = ["connectors", "frame", "links_of", "pair_chains"]

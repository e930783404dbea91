"""How many copies of a block are measured, one behind the other, where nobody chose a number."""

from __future__ import annotations

LONGEST = 24 * 1024
"""Bytes of all copies of a block, as the agent takes them."""

_UNROLLED, _IN_LOOP = 1600, 100
"""Instructions. Unrolled, 800 more than in the shorter code: with fewer, the ends of both count. On a Golden
Cove a constant's move took 0.17 cycles with 200, and takes the 0.2 of five ALUs; what a Zen 4 has to decode
took 4 % too little with 800."""
_STORES = 512
"""Of blocks that store often, so many at least in the longer code, and half in the shorter: by then a store
buffer is full (Golden Cove: 112 entries), which first takes stores sooner than the cache does."""
_SELDOM = 6
"""Instructions per store from which something else takes longer."""


def usual_copies(instructions: int, length: int, *, in_loop: bool, stores: int = 0) -> int:
    """Of a block of so many instructions, so many bytes and, unrolled, so many stores; an even number."""
    wanted = -(-(_IN_LOOP if in_loop else _UNROLLED) // instructions)
    if not in_loop and stores * _SELDOM >= instructions:
        wanted = max(wanted, -(-_STORES // stores))
    return max(2, min(wanted + wanted % 2, LONGEST // length))

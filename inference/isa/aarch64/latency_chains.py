"""The latency facet of AArch64 (`inference.isa.facets.LatencyChainMaker`)."""

from __future__ import annotations

from inference.isa.aarch64.chains import (
    CHAINS,
    FROM_VECTOR,
    chains_of_pairs,
    connectors,
    frame,
    links_of,
)
from inference.isa.aarch64.idioms import code_of, idioms_of, reference_additions
from inference.isa.words.chains import ConnectorStep
from inference.isa.words.memory_chains import MemoryRegisters

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

_TO_GENERAL = ConnectorStep("fmov x0, d0", FROM_VECTOR)
memory_chains = MemoryRegisters(
    CHAINS,
    code_of,
    {"general": 0, "vector": 0},
    range(4),
    "vector",
    (128, 64),
    ((128, 128, 0), (64, 64, 0), (128, 64, 0), (128, 64, 8), (64, 128, 0), (128, 128, 8)),
    {128: _TO_GENERAL, 64: _TO_GENERAL},
).chains


def mixer() -> None:
    """None: latencies beside other instructions are not measured."""

"""The latency facet of AArch64; see `inference.isa.facets.LatencyChainMaker`."""

from __future__ import annotations

from inference.isa.aarch64.chains import chains_of_pairs, connectors, frame, links_of
from inference.isa.aarch64.idioms import idioms_of, reference_additions
from inference.isa.aarch64.memory_chains import memory_chains

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


def mixer() -> None:
    """None: latencies beside other instructions are not measured."""

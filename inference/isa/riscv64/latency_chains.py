"""The latency facet of RISC-V (`inference.isa.facets.LatencyChainMaker`)."""

from __future__ import annotations

from inference.isa.riscv64.chains import CHAINS, IDIOMS, code_of, connectors, frame, from_float
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

_VALUE = 5
_TO_GENERAL = {
    bits: ConnectorStep(from_float(bits).line.format(_VALUE, 0), from_float(bits).link) for bits in (64, 32)
}
links_of, chains_of_pairs = CHAINS.links_of, CHAINS.chains_of_pairs
idioms_of, reference_additions = IDIOMS.idioms_of, IDIOMS.reference_additions
memory_chains = MemoryRegisters(
    CHAINS,
    code_of,
    {"general": _VALUE, "float": 0},
    range(_VALUE, 9),
    "float",
    (64, 32),
    ((64, 64, 0), (32, 32, 0), (64, 32, 0), (64, 32, 4), (32, 64, 0)),
    _TO_GENERAL,
).chains


def mixer() -> None:
    """None: latencies beside other instructions are not measured."""

"""Latencies: from every source operand of a scheme to every destination operand, by chains of dependencies.

| module | |
|---|---|
| `reading` | the latency of a pair from its chains: a value with minimum and maximum, or a bound |
| `bypasses` | latencies that depend on the neighbouring instructions |
| `idioms` | special behaviour of a scheme for a choice of operands |
| `memory` | latencies of loads and of store forwarding, from chains through memory |
| `algorithm` | which chains are measured, connectors first, and the latencies that follow |
"""

from inference.core.latency.algorithm import (
    ChainMeasurer,
    LatencyProblem,
    LatencyResult,
    infer_latencies,
)
from inference.core.latency.idioms import Idiom, IdiomKind
from inference.core.latency.memory import Forwarding, MemoryLatency
from inference.core.latency.reading import ChainReading, LatencyOfValues, PairLatency, read_pair

__all__ = [
    "ChainMeasurer",
    "ChainReading",
    "Forwarding",
    "Idiom",
    "IdiomKind",
    "LatencyOfValues",
    "LatencyProblem",
    "LatencyResult",
    "MemoryLatency",
    "PairLatency",
    "infer_latencies",
    "read_pair",
]

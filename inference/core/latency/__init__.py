"""Latencies: from every source operand of a scheme to every destination operand, by chains of dependencies.

| module | |
|---|---|
| `reading` | what the chains of a pair say: a value with minimum and maximum, or a bound |
| `bypasses` | which latencies depend on the instructions beside |
| `idioms` | what a choice of operands makes of a scheme |
| `memory` | what chains through memory say |
| `algorithm` | which chains to measure, connectors first, and the latencies that follow |
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

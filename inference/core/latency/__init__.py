"""Latencies: from every source operand of a scheme to every destination operand, by chains of dependencies.

| module | |
|---|---|
| `reading` | what the chains of a pair say: a value with minimum and maximum, or a bound |
| `algorithm` | which chains to measure, connectors first, and the latencies that follow |
"""

from inference.core.latency.algorithm import LatencyResult, infer_latencies
from inference.core.latency.reading import ChainReading, PairLatency, read_pair

__all__ = ["ChainReading", "LatencyResult", "PairLatency", "infer_latencies", "read_pair"]

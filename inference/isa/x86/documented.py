"""What documents say of cores of x86-64."""

from __future__ import annotations

from inference.isa.x86.textbook import beyond_ports, known_cpi
from inference.isa.x86.textbook_latencies import known_latencies, latency_source

__all__ = ["beyond_ports", "known_cpi", "known_latencies", "latency_source"]

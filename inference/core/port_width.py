"""How many ports the time of a single µop asks for."""

from __future__ import annotations


def natural_width(time: float) -> int:
    """How many ports a single µop must be able to use for this inverse throughput in cycles."""
    return max(1, round(1 / time)) if time < 1 else 1

"""The latencies of a scheme, by what lies at both ends, and in one number: what it adds to a chain."""

from __future__ import annotations

from enum import IntEnum

from inference.core.core_model.model import CoreModel, OperandLatencies


class LatencyEnd(IntEnum):
    """What an end of a latency is, in the order in which chains usually go through it."""

    EXPLICIT = 0
    IMPLICIT = 1
    ADDRESS = 2
    DATA = 3
    FLAGS = 4


def chained_latency(model: CoreModel, text: str) -> float | None:
    """Cycles that a scheme adds to a chain through registers, None where that is not known.

    Of explicit registers where it has any; the largest of several. A store adds none of its own.
    """
    if text in model.moves:
        return 0.0
    known = known_latencies(model.latencies.get(text, {}))
    for target in (LatencyEnd.EXPLICIT, LatencyEnd.IMPLICIT, LatencyEnd.DATA, LatencyEnd.FLAGS):
        for source in LatencyEnd:
            found = [cycles for ends, cycles in known if ends == (source, target)]
            if found:
                return max(found)
    return None


def known_latencies(latencies: OperandLatencies) -> list[tuple[tuple[LatencyEnd, LatencyEnd], float]]:
    """Both ends and the cycles of all pairs of operands of which the one waits for the other."""
    return [
        ((_end(source), _end(target)), cycles)
        for (source, target), cycles in latencies.items()
        if cycles is not None
    ]


def _end(name: str) -> LatencyEnd:
    number, _, part = name.partition(" ")
    if part:
        return LatencyEnd.DATA if part == "data" else LatencyEnd.ADDRESS
    if number.isdecimal():
        return LatencyEnd.EXPLICIT
    return LatencyEnd.FLAGS if name == "flags" else LatencyEnd.IMPLICIT

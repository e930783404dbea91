"""Where documents give other numbers of a form than were measured."""

from __future__ import annotations

from collections.abc import Iterator

from inference.features.library.instruction.cells import AloneTime, FormLatency, OtherNumber
from inference.isa.targets import known_cpi, known_latencies, latency_source
from inference.storage.latencies import compared

NEAR_SHARE = 0.05
"""Of a documented time: a measured one that is as near agrees."""


def documents_of(
    core: str, scheme: int, text: str, alone: AloneTime | None, latency: FormLatency | None
) -> tuple[OtherNumber, ...]:
    """What is documented otherwise for a core, by its name ("" where that is not known)."""
    return (*_cycles(core, text, alone), *_latencies(core, scheme, text, latency))


def _cycles(core: str, text: str, alone: AloneTime | None) -> Iterator[OtherNumber]:
    documented = known_cpi(core).get(text)
    if documented is not None and alone is not None:
        cycles, source = documented
        if abs(cycles - alone.cycles) > NEAR_SHARE * max(cycles, alone.cycles):
            yield OtherNumber(source, "cycles", f"{cycles:.2f}")


def _latencies(core: str, scheme: int, text: str, latency: FormLatency | None) -> Iterator[OtherNumber]:
    if latency is None or not known_latencies(core):
        return
    for off in compared(core, [(scheme, text, latency.pairs)]).off:
        least, most = off.documented_least, off.documented_most
        said = f"{least:.4g}" if least == most else f"{least:.4g}–{most:.4g}"
        yield OtherNumber(latency_source(core), f"latency {off.source} → {off.destination}", said)

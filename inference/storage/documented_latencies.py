"""Measured latencies beside the documented ones of the machine's core."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from inference.core.protocols import Json
from inference.isa.chains import ChainLink, Latency
from inference.isa.targets.textbook import documented_latency, known_latencies, latency_source
from inference.models import LatencySet, Machine
from inference.storage.instruction_sets import core_of

NEAR = 0.1
"""Cycles by which a measured latency may be off."""


@dataclass(frozen=True, slots=True)
class DisagreeingPair:
    """A documented pair of operands that was measured otherwise.

    `least` and `most` are as measured, None where it has no value of its own, and then `why`.
    """

    scheme_id: int
    scheme: str
    source: str
    destination: str
    least: float | None
    most: float | None
    why: str
    documented_least: float
    documented_most: float


@dataclass(frozen=True, slots=True)
class DocumentedShare:
    """Of the `pairs` of a set that are documented for its core, how many are `within` `NEAR` cycles.

    `according_to`: who documents them. `off`: all others.
    """

    core: str
    according_to: str
    pairs: int
    within: int
    off: tuple[DisagreeingPair, ...]

    def as_json(self) -> Json:
        return asdict(self)


def documented_core(machine: Machine) -> str:
    """The name of the machine's core, "" where no latencies are documented of it."""
    core = core_of(machine)
    return core.name if core is not None and known_latencies(core.name) else ""


def documented_share(row: LatencySet) -> DocumentedShare | None:
    """How a set agrees with what is documented; None where that is not known of its core (one query)."""
    core = documented_core(row.machine)
    if not core:
        return None
    texts = {link.scheme for link in known_latencies(core)}
    rows = row.schemes.filter(scheme__text__in=texts).order_by("scheme__text")
    return compared(core, rows.values_list("scheme_id", "scheme__text", "pairs"))


def compared(core: str, measured: Iterable[tuple[int, str, Sequence[Json]]]) -> DocumentedShare:
    """The documented ones among pairs of schemes: (id, text, pairs as `PairLatency.as_json` has them)."""
    count, off = 0, []
    for scheme, text, pairs in measured:
        for pair in pairs:
            link = ChainLink(text, pair["source"], pair["destination"])
            documented = documented_latency(core, link)
            if documented is None:
                continue
            count += 1
            least, most = pair["least"], pair["most"]
            if least is None or most is None or not _overlap((least, most), documented):
                ends = link.source, link.destination
                off.append(DisagreeingPair(scheme, text, *ends, least, most, pair["why"], *documented))
    return DocumentedShare(core, latency_source(core), count, count - len(off), tuple(off))


def _overlap(measured: Latency, documented: Latency) -> bool:
    return measured[0] - NEAR <= documented[1] and documented[0] - NEAR <= measured[1]

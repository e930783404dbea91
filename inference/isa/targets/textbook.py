"""What documents say of a core by its name, whatever its instruction set is."""

from __future__ import annotations

from collections.abc import Mapping

from inference.isa.chains import ChainLink, Latency
from inference.isa.targets import targets


def known_cpi(core: str) -> Mapping[str, tuple[float, str]]:
    """{scheme text: (cycles per instruction, source)}; empty for a core without documents."""
    return next(filter(None, (target.textbook.known_cpi(core) for target in targets())), {})


def known_latencies(core: str) -> Mapping[ChainLink, Latency]:
    """What is documented of the latencies of a core; empty for one without documents."""
    return next(filter(None, (target.textbook.known_latencies(core) for target in targets())), {})


def documented_latency(core: str, link: ChainLink) -> Latency | None:
    """The least and the most cycles that a link takes on a core; None where that is not documented."""
    return known_latencies(core).get(link)


def latency_source(core: str) -> str:
    """Who says so; "" of a core without documents."""
    return next(filter(None, (target.textbook.latency_source(core) for target in targets())), "")

"""What is found out about a processor before a search: schemes like one µop, and the bottleneck's rate."""

from __future__ import annotations

from collections.abc import Mapping

from inference.core.bottleneck import Bottleneck
from inference.core.protocols import Json
from inference.runs.machines.measurer import LogText

MOST_PORTS = 20
_SHOWN = 5
_SLACK = 1.02  # a rate that was measured may be as much above the documented one


def like_one_uop(cycles: float, epsilon: float) -> bool:
    """Whether a scheme that takes so long alone may be one µop: 1/k cycles for k ports, but for ε.

    More µops, and µops that keep their port busy for longer than a cycle, take a cycle or more; more µops
    may also end up between two fractions.
    """
    return any(abs(cycles - 1 / ports) <= epsilon for ports in range(1, MOST_PORTS + 1))


def single_uops(alone: Mapping[str, float], epsilon: float, log: LogText) -> list[str]:
    """Of probes measured alone, {scheme: cycles}, those that look like one µop; the log names the others."""
    others = {scheme: cycles for scheme, cycles in alone.items() if not like_one_uop(cycles, epsilon)}
    if others:
        shown = "; ".join(
            f"{scheme} takes {cycles:.3g} cycles" for scheme, cycles in [*others.items()][:_SHOWN]
        )
        more = " …" if len(others) > _SHOWN else ""
        log(f"{len(others)} left out, not like a single µop: {shown}{more}", "warning")
    return [scheme for scheme in alone if scheme not in others]


def bottleneck_facts(found: Bottleneck, documented: float | None, log: LogText) -> Json:
    """What was found, for the report and the log; a documented rate stands in where none was seen.

    It only does so if nothing exceeded it.
    """
    facts = found.as_json()
    if found.r_max is not None:
        log(
            f"bottleneck: {found.r_max:g} instructions per cycle, seen as {found.highest:.2f} in "
            f"{found.experiment} ({found.experiments} experiments)",
            "info",
        )
    elif documented is not None and found.highest <= _SLACK * documented:
        facts["r_max"] = facts["documented"] = documented
        log(
            f"no bottleneck beside the ports was seen ({found.highest:.2f} instructions per cycle at most); "
            f"the documented one of this core is used, {documented:g}",
            "info",
        )
    else:
        log(
            f"no bottleneck beside the ports was seen: {found.highest:.2f} instructions per cycle at "
            "most, which the ports may explain, so none is modelled",
            "info",
        )
    if found.warning:
        log(found.warning, "warning")
    return facts

"""Which of a scheme's µops cannot evade blocked ports: the formulas of §6.1 and §6.2.2, as pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from inference.core.experiment import Experiment
from inference.core.mapping import Uops

LEAST_COPIES = 10


def copies_to_flood(width: int, cycles: float, uops: int | None, most: int) -> int:
    """Copies of a blocking instruction that keep `width` ports busy beside a scheme.

    `cycles`: what the scheme takes alone; `uops`: how many µops it has, None where nobody knows. The number
    of uops.info's program (§6.1), which for a reasonable number of µops satisfies (6.1): at least
    width · µops, so that no port is free while µops of the scheme could evade.
    """
    by_time = 2 * width * max(1, int(cycles))
    by_uops = width * (uops or 0)
    return min(max(by_time, by_uops, LEAST_COPIES), most)


def flooded(blocker: str, copies: int, scheme: str | None = None) -> Experiment:
    """So many blocking instructions, with one instance of a scheme or alone."""
    schemes = [blocker] * copies
    return Experiment.of(schemes if scheme is None else [*schemes, scheme])


def surplus_by_time(base_cycles: float, cycles: float, width: int) -> float:
    """µops on the blocked ports beside the blocking ones, by the time that they add (§6.2.2)."""
    return (cycles - base_cycles) * width


def surplus_by_counters(counts: Mapping[str, float], ports: Sequence[str], copies: int) -> float:
    """The same by counters of the ports (Alg. 6.1, lines 5 and 6)."""
    return sum(counts[port] for port in ports) - copies


@dataclass(frozen=True)
class Split:
    """A surplus divided: `below` were found on subsets of the port set, `uops` are new; may be negative."""

    below: int
    uops: int


def divided(surplus: int, mask: int, found: Mapping[int, int]) -> Split:
    """Take away what was found on proper subsets (Alg. 6.1, lines 7 to 9)."""
    below = sum(count for other, count in found.items() if other != mask and other & mask == other)
    return Split(below, surplus - below)


def usage_from(surpluses: Mapping[str, int], masks: Mapping[str, int]) -> Uops | None:
    """The µops of a scheme from its surplus beside each blocker, given the ports that each one blocks.

    None where a port set would have fewer µops than its subsets: these ports do not fit the surpluses.
    """
    found: dict[int, int] = {}
    for blocker in sorted(surpluses, key=lambda b: (masks[b].bit_count(), masks[b])):
        uops = divided(surpluses[blocker], masks[blocker], found).uops
        if uops < 0:
            return None
        if uops:
            found[masks[blocker]] = found.get(masks[blocker], 0) + uops
    return tuple(sorted(found.items()))

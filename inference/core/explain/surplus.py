"""Which of a scheme's µops cannot evade blocked ports: the formulas of §6.1 and §6.2.2, as pure functions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from inference.core.experiment import Experiment
from inference.core.explain.problem import Witness
from inference.core.mapping import Uops

LEAST_COPIES = 10

CLEAR = 0.2
"""Off a whole number of µops by no more than that, a rough one will do: the next is four errors away."""

_MOST_CHOICES = 4096


def copies_to_flood(width: int, cycles: float, uops: int | None, most: int) -> int:
    """Copies of a blocking instruction that keep `width` ports busy beside a scheme.

    `cycles`: what the scheme takes alone; `uops`: how many µops it has, None where nobody knows. The number
    of uops.info's program (§6.1), which for a reasonable number of µops satisfies (6.1): at least
    width · µops, so that no port is free while µops of the scheme could evade.
    """
    by_time = 2 * width * max(1, int(cycles))
    by_uops = width * (uops or 0)
    return min(max(by_time, by_uops, LEAST_COPIES), most)


def copies_needed(witness: Witness, witnesses: Iterable[Witness]) -> int:
    """By (6.1) with as many µops as any flood of ports that a witness blocks was delayed by.

    A shorter flood is delayed by µops that evade it too, as these have too few ports for its time.
    """
    delays = (each.surplus for each in witnesses if each.surplus is not None and each.mask & witness.mask)
    return witness.mask.bit_count() * max(0, round(max(delays, default=0.0)))


def is_too_short(witness: Witness, witnesses: Iterable[Witness]) -> bool:
    """Whether a flood that a scheme delays has not enough copies to show µops that cannot evade."""
    delayed = witness.surplus is not None and witness.surplus > CLEAR
    return delayed and witness.copies < copies_needed(witness, witnesses)


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

    Where a port set would have fewer µops than its subsets, some of these are on ports that subsets have in
    common, which nothing blocks alone. None where their number is not certain, or these ports do not fit.
    """
    counts = {masks[blocker]: surplus for blocker, surplus in surpluses.items()}
    usage = _with_common({}, counts)
    return _common_usage(counts) if usage is None else usage


def _with_common(common: Mapping[int, int], counts: Mapping[int, int]) -> Uops | None:
    """The µops where so many are confined to each blocked port set, some of them to `common` ports."""
    usage = dict(common)
    for mask in sorted(counts, key=lambda mask: (mask.bit_count(), mask)):
        usage[mask] = divided(counts[mask], mask, usage).uops
        if usage[mask] < 0:
            return None
    return tuple(sorted((mask, uops) for mask, uops in usage.items() if uops))


def _common_usage(counts: Mapping[int, int]) -> Uops | None:
    """The only usage with µops on ports that blocked port sets have in common; None where there are more."""
    delayed = [mask for mask, count in counts.items() if count > 0]
    common = sorted({a & b for a, b in itertools.combinations(delayed, 2)} - {0, *counts})
    most = [min(counts[mask] for mask in delayed if mask & ports == ports) for ports in common]
    if not common or math.prod(count + 1 for count in most) > _MOST_CHOICES:
        return None
    usages = {
        usage
        for numbers in itertools.product(*(range(count + 1) for count in most))
        if (usage := _with_common(dict(zip(common, numbers, strict=True)), counts)) is not None
    }
    return usages.pop() if len(usages) == 1 else None

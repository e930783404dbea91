"""Formulas for µops that cannot evade blocked ports (§6.1, §6.2.2), as pure functions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from inference.core.experiment import Experiment
from inference.core.explain.problem import Witness
from inference.core.mapping import Uops

MIN_COPIES = 10
"""Copies in a flood at least, as of uops.info's program (§6.1)."""

CLEAR = 0.2
"""Largest distance of a rough surplus from a whole number of µops: the next one is then four errors away."""

_MAX_CHOICES = 4096  # combinations of µops that are tried


def copies_to_flood(width: int, cycles: float, uops: int | None, max_copies: int) -> int:
    """Copies of a blocking instruction that keep `width` ports busy beside a scheme.

    This is the number of uops.info's program (§6.1). It satisfies (6.1), at least width · µops, so that no
    port is free while µops of the scheme could evade.

    Args:
        width: Number of blocked ports.
        cycles: Time of the scheme alone.
        uops: Number of the scheme's µops; None where it is unknown.
        max_copies: Largest number to return.

    Example:
        >>> copies_to_flood(width=4, cycles=3.0, uops=2, max_copies=100)
        24
    """
    by_time = 2 * width * max(1, int(cycles))
    by_uops = width * (uops or 0)
    return min(max(by_time, by_uops, MIN_COPIES), max_copies)


def copies_needed(witness: Witness, witnesses: Iterable[Witness]) -> int:
    """Copies by (6.1) for the largest delay, in µops, of any flood that shares ports with the witness.

    A shorter flood is also delayed by µops that could evade it, as these have too few other ports in its
    time.
    """
    delays = (other.surplus for other in witnesses if other.surplus is not None and other.mask & witness.mask)
    return witness.mask.bit_count() * max(0, round(max(delays, default=0.0)))


def is_too_short(witness: Witness, witnesses: Iterable[Witness]) -> bool:
    """Whether a delayed flood has too few copies to show that the µops cannot evade."""
    delayed = witness.surplus is not None and witness.surplus > CLEAR
    return delayed and witness.copies < copies_needed(witness, witnesses)


def flood_of(blocker: str, copies: int, scheme: str | None = None) -> Experiment:
    """An experiment of many equal blocking instructions, which keep their ports busy.

    Args:
        blocker: The blocking instruction.
        copies: Number of its instances, at least 1.
        scheme: Added once; None for the blocking instructions alone.
    """
    schemes = [blocker] * copies
    return Experiment.of(schemes if scheme is None else [*schemes, scheme])


def surplus_by_time(base_cycles: float, cycles: float, width: int) -> float:
    """The number of µops on the blocked ports besides the blocking ones (§6.2.2); not rounded.

    Args:
        base_cycles: Cycles of the blocking instructions alone.
        cycles: Cycles together with the examined scheme.
        width: Number of blocked ports, each of which executes one µop per cycle.
    """
    return (cycles - base_cycles) * width


def surplus_by_counters(counts: Mapping[str, float], ports: Sequence[str], copies: int) -> float:
    """Surplus µops by counters of the ports (Alg. 6.1, lines 5 and 6)."""
    return sum(counts[port] for port in ports) - copies


@dataclass(frozen=True)
class Split:
    """A surplus in µops: `below` were found on subsets of the port set, `uops`, maybe negative, are new."""

    below: int
    uops: int


def split_surplus(surplus: int, mask: int, uops_by_mask: Mapping[int, int]) -> Split:
    """Subtract the µops found on proper subsets of the blocked ports (Alg. 6.1, lines 7 to 9).

    Args:
        surplus: Number of µops that the blocked ports execute for the scheme.
        mask: The blocked ports.
        uops_by_mask: {mask of ports: number of µops} found so far, in ascending order of the number of ports.
    """
    below = sum(count for other, count in uops_by_mask.items() if other != mask and other & mask == other)
    return Split(below, surplus - below)


def usage_from(surpluses: Mapping[str, int], masks: Mapping[str, int]) -> Uops | None:
    """The µops of a scheme from its surplus beside each blocker.

    Where a port set would have fewer µops than its subsets, some of these are on the intersection of subsets,
    which no blocker blocks by itself.

    Args:
        surpluses: {blocker: surplus in µops}.
        masks: {blocker: port set}.

    Returns:
        None where no µops, or several sets of them, have these surpluses.

    Example:
        >>> usage_from({"narrow": 1, "wide": 3}, {"narrow": 0b01, "wide": 0b11})
        ((1, 1), (3, 2))
    """
    counts = {masks[blocker]: surplus for blocker, surplus in surpluses.items()}
    usage = _with_common({}, counts)
    return _common_usage(counts) if usage is None else usage


def _with_common(common: Mapping[int, int], counts: Mapping[int, int]) -> Uops | None:
    """The µops with these counts confined to each blocked port set, and `common` ones.

    None where one of the numbers would be negative.
    """
    usage = dict(common)
    for mask in sorted(counts, key=lambda mask: (mask.bit_count(), mask)):
        usage[mask] = split_surplus(counts[mask], mask, usage).uops
        if usage[mask] < 0:
            return None
    return tuple(sorted((mask, uops) for mask, uops in usage.items() if uops))


def _common_usage(counts: Mapping[int, int]) -> Uops | None:
    """The only usage with µops on intersections of blocked port sets; None for none or several."""
    delayed = [mask for mask, count in counts.items() if count > 0]
    common = sorted({a & b for a, b in itertools.combinations(delayed, 2)} - {0, *counts})
    upper_bounds = [min(counts[mask] for mask in delayed if mask & ports == ports) for ports in common]
    if not common or math.prod(count + 1 for count in upper_bounds) > _MAX_CHOICES:
        return None
    usages = {
        usage
        for numbers in itertools.product(*(range(count + 1) for count in upper_bounds))
        if (usage := _with_common(dict(zip(common, numbers, strict=True)), counts)) is not None
    }
    return usages.pop() if len(usages) == 1 else None

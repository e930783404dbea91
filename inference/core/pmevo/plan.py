"""The experiments of PMEvo's plan (§5.1.1), and the smoothing of singleton times that it needs.

Mixes are beyond the paper: unlike pairs, they show how three and more schemes share ports.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from inference.core.experiment import Experiment
from inference.core.sampling import random_mixes
from inference.core.throughput import natural_width


def first_ports(alone: Mapping[str, float], domains: Mapping[str, str], max_ports: int) -> int:
    """Number of ports to begin with where it is not given.

    Each part of a core has as many as its quickest scheme shows; schemes for several parts add one, such as
    that of stores. Without parts, the quickest scheme decides.

    Args:
        alone: {scheme: cycles alone}.
        domains: {scheme: the part of the core that it is for}.
        max_ports: Largest number to return.

    Example:
        >>> first_ports({"add": 0.25, "load": 0.5}, {"add": "integer", "load": "memory"}, max_ports=24)
        6
    """
    widest: dict[str | None, int] = {}
    for scheme, cycles in alone.items():
        part = domains.get(scheme)
        widest[part] = max(widest.get(part, 1), natural_width(cycles))
    if len(widest) > 1 and None in widest:
        widest[None] = 1
    return min(max_ports, sum(widest.values()))


MIX_LENGTHS = (3, 4, 5)
"""Instructions in a mix to learn from, a third of the mixes each."""

_LEARNT = 1
"""Random stream of the mixes to learn from; held-out mixes come from another."""


def relative_difference(first: float, second: float) -> float:
    """The symmetric relative difference |t₁ − t₂| / (|t₁ + t₂| / 2) of §5.1.2."""
    return abs(first - second) / (abs(first + second) / 2)


def singletons(schemes: Sequence[str]) -> list[Experiment]:
    """{i ↦ 1} for every scheme."""
    return [Experiment.of({scheme: 1}) for scheme in schemes]


def pairs(times: Mapping[str, float], epsilon: float) -> Iterator[Experiment]:
    """{a ↦ 1, b ↦ 1} for every pair, and {a ↦ 1, b ↦ n}, n = ⌈tp⁻¹(a) / tp⁻¹(b)⌉, where a is slower.

    `times`: cycles of the singletons. They are smoothed first: measured to be 1.003 and 1.001 cycles, two
    schemes would otherwise ask for a spurious 1:2 experiment, and 1.003 against 0.249 for 1:5.
    """
    smooth = smooth_times(times, epsilon)
    for a, b in itertools.combinations(sorted(smooth), 2):
        yield Experiment.of({a: 1, b: 1})
        slow, fast = (a, b) if smooth[a] > smooth[b] else (b, a)
        n = ceiling(smooth[slow] / smooth[fast], epsilon)
        if n > 1:
            yield Experiment.of({slow: 1, fast: n})


def exhaustive(times: Mapping[str, float], epsilon: float) -> int:
    """Number of experiments of the paper's plan for schemes with these times alone, singletons included."""
    sizes = Counter(smooth_times(times, epsilon).values())
    total = len(times) + math.comb(len(times), 2)
    for (first, m), (second, n) in itertools.combinations(sizes.items(), 2):
        if ceiling(max(first, second) / min(first, second), epsilon) > 1:
            total += m * n
    return total


def mixes(
    schemes: Sequence[str], n: int, seed: int, without: Collection[Experiment] = ()
) -> list[Experiment]:
    """Distinct random mixes of three to five instructions, a third each.

    Args:
        schemes: Schemes to mix.
        n: Largest number of mixes; there are fewer if no more exist.
        seed: Seed of the random stream.
        without: Experiments that must not occur.
    """
    experiments: list[Experiment] = []
    for k, length in enumerate(MIX_LENGTHS):
        share = (n + k) // len(MIX_LENGTHS)
        experiments += random_mixes(schemes, share, seed, length, stream=_LEARNT, without=without)
    return experiments


def smooth_times(times: Mapping[str, float], epsilon: float) -> dict[str, float]:
    """Replace every time by the median of its group.

    Groups grow from the smallest time upwards, while the relative difference to their first member is below
    epsilon.
    """
    result: dict[str, float] = {}
    group: list[str] = []

    def close() -> None:
        if group:
            median = statistics.median(times[scheme] for scheme in group)
            result.update(dict.fromkeys(group, median))
            group.clear()

    for scheme in sorted(times, key=lambda name: (times[name], name)):
        if group and relative_difference(times[group[0]], times[scheme]) >= epsilon:
            close()
        group.append(scheme)
    close()
    return result


def ceiling(value: float, epsilon: float) -> int:
    """⌈value⌉ for a measured value: what lies within epsilon of a whole number is that number.

    The tolerance is relative but below half a step, so that it means noise also for large values.
    """
    nearest = max(1, round(value))
    tolerance = min(epsilon * nearest, 0.25)
    return nearest if abs(value - nearest) <= tolerance else max(1, math.ceil(value))

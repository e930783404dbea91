"""Small mappings, shuffled ports, and the slow and obvious ways to the answers of the identity room."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from hypothesis import strategies as st

from inference.core.experiment import Experiment
from inference.core.identity.searching import decimal
from inference.core.mapping import PortMapping, ports_in, uops_of
from inference.core.throughput import work_of
from tests.core.strategies import masks, usages


def mapping(usage: Mapping[str, str], ports: int | None = None, r_max: float | None = None) -> PortMapping:
    """`{"a": "01 + 2"}` is a scheme with a µop for ports 0 and 1 and another for port 2."""
    uops = {
        scheme: uops_of((sum(1 << int(port, 36) for port in kind.strip()), 1) for kind in text.split("+"))
        if text
        else ()
        for scheme, text in usage.items()
    }
    widest = max((mask.bit_length() for kinds in uops.values() for mask, _ in kinds), default=1)
    return PortMapping(tuple(f"p{k}" for k in range(ports or widest)), uops, r_max)


def permuted(value: PortMapping, order: Sequence[int]) -> PortMapping:
    """The mapping with port k called `order[k]`."""
    usage = {
        scheme: uops_of((sum(1 << order[port] for port in ports_in(mask)), count) for mask, count in uops)
        for scheme, uops in value.usage.items()
    }
    return replace(value, usage=usage)


def shuffled(value: PortMapping, seed: int = 0) -> PortMapping:
    order = list(range(len(value.ports)))
    random.Random(seed).shuffle(order)
    return permuted(value, order)


def renamings(n_ports: int) -> Iterator[tuple[int, ...]]:
    return itertools.permutations(range(n_ports))


def exact_cycles(value: PortMapping, experiment: Experiment, r_max: float | None) -> Fraction:
    """The closed form over all port sets (thesis Thm 5.2), in fractions."""
    work = work_of(value, experiment)
    bounds = [
        Fraction(sum(mass for mask, mass in work.items() if mask & ~ports == 0), ports.bit_count())
        for ports in range(1, 1 << len(value.ports))
    ]
    rate = value.r_max if r_max is None else r_max
    if rate is not None:
        bounds.append(experiment.length / decimal(rate))
    if value.issue_width is not None:
        slots = sum(count * value.slots_of(scheme) for scheme, count in experiment.terms)
        bounds.append(slots / decimal(value.issue_width))
    return max(bounds)


def smallest_by_trying_all(
    a: PortMapping, b: PortMapping, max_length: int, noise: float = 0.0, r_max: float | None = None
) -> Experiment | None:
    """The answer that `distinguishing_experiment` must give, from all experiments up to a length."""
    schemes = sorted(a.usage.keys() & b.usage.keys())
    for length in range(1, max_length + 1):
        for chosen in itertools.combinations_with_replacement(schemes, length):
            experiment = Experiment.of(chosen)
            apart = exact_cycles(a, experiment, r_max) - exact_cycles(b, experiment, r_max)
            if abs(apart) > 2 * decimal(noise) * length:
                return experiment
    return None


@st.composite
def two_level(
    draw: st.DrawFn, ports: st.SearchStrategy[int], schemes: str = "abcd", portless: bool = False
) -> PortMapping:
    n_ports = draw(ports)
    one = masks(n_ports).map(lambda mask: ((mask, 1),))
    kinds = st.one_of(one, one, one, st.just(())) if portless else one
    return PortMapping(tuple(f"p{k}" for k in range(n_ports)), {scheme: draw(kinds) for scheme in schemes})


@st.composite
def three_level(draw: st.DrawFn, ports: st.SearchStrategy[int], schemes: str = "abc") -> PortMapping:
    n_ports = draw(ports)
    usage = {scheme: draw(usages(n_ports, max_kinds=3, max_count=2)) for scheme in schemes}
    width = draw(st.sampled_from((None, None, 2.0, 3.5)))
    slots = draw(st.dictionaries(st.sampled_from(schemes), st.integers(1, 4), max_size=2))
    return PortMapping(tuple(f"p{k}" for k in range(n_ports)), usage, None, width, slots)


def edited(draw: st.DrawFn, value: PortMapping) -> PortMapping:
    """The mapping with its ports shuffled and, sometimes, one port of one µop more or less."""
    order = draw(st.permutations(range(len(value.ports))))
    usage = dict(permuted(value, order).usage)
    scheme = draw(st.sampled_from(sorted(usage)))
    flip = draw(st.integers(0, len(value.ports)))
    if usage[scheme] and flip < len(value.ports):
        (mask, count), *rest = usage[scheme]
        usage[scheme] = uops_of([(mask ^ 1 << flip or mask, count), *rest])
    return replace(value, usage=usage)

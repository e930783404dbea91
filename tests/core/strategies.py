"""Random port mappings and experiments."""

from __future__ import annotations

from hypothesis import strategies as st

from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping, Uops, uops_of

SCHEMES = ("a", "b", "c", "d", "e", "f")
RATES = st.one_of(st.none(), st.sampled_from((0.5, 4.0, 5.0)), st.floats(0.25, 8))


def masks(n_ports: int) -> st.SearchStrategy[int]:
    """Port sets of any width, narrow ones as often as wide ones."""
    narrow = st.lists(st.integers(0, n_ports - 1), min_size=1, max_size=3)
    return st.one_of(
        narrow.map(lambda ports: sum(1 << port for port in set(ports))),
        st.integers(1, (1 << n_ports) - 1),
    )


@st.composite
def usages(draw: st.DrawFn, n_ports: int, max_kinds: int, max_count: int) -> Uops:
    pairs = st.tuples(masks(n_ports), st.integers(1, max_count))
    return uops_of(draw(st.lists(pairs, max_size=max_kinds)))


@st.composite
def mappings(
    draw: st.DrawFn, ports: st.SearchStrategy[int], max_kinds: int = 4, max_count: int = 4
) -> PortMapping:
    n_ports = draw(ports)
    usage = {scheme: draw(usages(n_ports, max_kinds, max_count)) for scheme in SCHEMES}
    r_max, issue_width = draw(RATES), draw(RATES)
    slots = draw(st.dictionaries(st.sampled_from(SCHEMES), st.integers(1, 9), max_size=3))
    return PortMapping(tuple(f"p{k}" for k in range(n_ports)), usage, r_max, issue_width, slots)


def experiments(max_schemes: int = 4, max_repeats: int = 100) -> st.SearchStrategy[Experiment]:
    repeats = st.one_of(st.integers(1, 3), st.integers(1, max_repeats))
    terms = st.dictionaries(st.sampled_from(SCHEMES), repeats, min_size=1, max_size=max_schemes)
    return terms.map(Experiment.of)

"""Agreement up to what no judged experiment shows."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from inference.core.experiment import Experiment
from inference.core.identity.comparison import agreement_up_to_hidden, is_hidden
from inference.core.mapping import PortMapping
from inference.core.throughput import inverse_throughput

# Four ports, two slots per cycle; a store's address (on p2 and p3) never outlasts its data (on p3).
FOUND = PortMapping(
    ("p0", "p1", "p2", "p3"),
    {"add": ((0b0011, 1),), "mul": ((0b0001, 1),), "store": ((0b1000, 1), (0b1100, 1))},
    issue_width=2.0,
)
PAIRS = [Experiment.of(pair) for pair in (["add"], ["mul"], ["store"], ["add", "mul"], ["mul", "store"])]
MORE = [*PAIRS, Experiment.of({"add": 2, "store": 1}), Experiment.of({"add": 2, "mul": 1})]


def hidden(mapping: PortMapping, scheme: str, **change: int) -> bool:
    """Whether MORE does not show these µops more, or fewer; `p01=-1`: one less on the ports 0 and 1."""
    judged = [(each, inverse_throughput(mapping, each)) for each in MORE if scheme in each.schemes]
    masks = {sum(1 << int(port) for port in ports[1:]): count for ports, count in change.items()}
    return is_hidden(mapping, scheme, Counter(masks), judged)


def test_what_is_as_wide_as_the_issue_width_is_hidden_and_so_is_the_address_of_a_store() -> None:
    assert hidden(FOUND, "add", p01=-1)
    assert hidden(FOUND, "store", p23=-1)
    assert not hidden(FOUND, "store", p3=-1)
    assert not hidden(FOUND, "mul", p0=-1)
    assert not hidden(FOUND, "mul", p0=1)
    assert hidden(FOUND, "mul", p0123=1)


def test_where_an_experiment_shows_a_uop_it_is_not_hidden() -> None:
    unlimited = replace(FOUND, issue_width=None)
    assert not hidden(unlimited, "add", p01=-1)


def test_mappings_that_differ_in_hidden_uops_alone_agree_up_to_these() -> None:
    other = replace(FOUND, usage={**FOUND.usage, "add": ((0b1111, 1),), "store": ((0b1000, 1),)})
    assert agreement_up_to_hidden(FOUND, other, MORE) == 1
    different = replace(FOUND, usage={**FOUND.usage, "mul": ((0b0001, 2),)})
    assert agreement_up_to_hidden(FOUND, different, MORE) == 2 / 3


def test_only_schemes_that_occur_are_judged() -> None:
    other = replace(FOUND, usage={**FOUND.usage, "mul": ((0b0011, 1),)})
    assert agreement_up_to_hidden(FOUND, other, [Experiment.of(["store"])]) == 1
    both = [Experiment.of(["store"]), Experiment.of(["mul"])]
    assert agreement_up_to_hidden(FOUND, other, both) == 0.5


def test_without_experiments_of_common_schemes_nothing_is_said() -> None:
    assert agreement_up_to_hidden(FOUND, FOUND, []) is None
    assert agreement_up_to_hidden(FOUND, FOUND, [Experiment.of(["unknown"])]) is None
    assert agreement_up_to_hidden(FOUND, PortMapping(("p",), {"div": ((1, 1),)}), MORE) is None

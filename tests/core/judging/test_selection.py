"""Which part of a run over a whole core a core model takes."""

from __future__ import annotations

import numpy as np

from inference.core.experiment import Experiment
from inference.core.judging.selection import merge, select_part
from inference.core.mapping import PortMapping
from inference.core.throughput import inverse_throughput

MEASURED = np.full(10, 2.0)
NOTHING = np.full(10, np.nan)


def off(share: float, covered: int = 10) -> np.ndarray:
    return np.where(np.arange(10) < covered, 2.0 * (1 + share), np.nan)


def test_a_later_part_is_taken_only_if_it_is_nearer() -> None:
    assert select_part(MEASURED, {"ports": off(0.1), "explained": off(0.05)}).name == "explained"
    kept = select_part(MEASURED, {"ports": off(0.05), "explained": off(0.1)})
    assert kept.name == "ports"
    assert kept.why == "explained is no nearer to the held-out mixes than ports"
    assert select_part(MEASURED, {"ports": off(0.1), "explained": off(0.1)}).name == "ports"


def test_coverage_counts_but_never_against_the_mixes_that_both_describe() -> None:
    few, many = off(0.05, covered=2), off(0.3)
    kept = select_part(MEASURED, {"ports": few, "explained": many})
    assert kept.name == "ports"
    assert "farther off on the 2 mixes that ports describes as well: 30.0 % instead of 5.0 %" in kept.why
    both = np.where(np.isnan(few), many, few)
    assert select_part(MEASURED, {"ports": few, "explained": many, "both": both}).name == "both"
    assert select_part(MEASURED, {"ports": off(0.3), "explained": off(0.05, covered=2)}).name == "ports"


def test_what_describes_nothing_gives_way_and_without_mixes_the_first_stays() -> None:
    assert select_part(MEASURED, {"ports": NOTHING, "explained": off(0.4)}).name == "explained"
    assert select_part(np.array([]), {"ports": np.array([]), "explained": np.array([])}).name == "ports"


def test_scores_are_kept_beside_the_choice() -> None:
    told = select_part(MEASURED, {"ports": off(0.1, covered=5)}).as_json()
    assert told["scores"] == [{"name": "ports", "covered": 5, "error": 10.0, "loss": 0.55}]
    assert (told["selected"], told["mixes"]) == ("ports", 10)


def test_what_a_part_lacks_comes_from_another_under_its_port_names() -> None:
    base = PortMapping(("0", "1", "2"), {"a": ((1, 1),), "b": ((2, 1),)}, issue_width=4.0, slots={"a": 2})
    further = PortMapping(
        ("x", "y"), {"a": ((2, 1),), "b": ((1, 1),), "c": ((2, 1),)}, issue_width=4.0, slots={"c": 3}
    )
    found = merge(further, base, [further])
    assert found is not None
    assert found.ports[:2] == ("x", "y")
    assert found.usage["c"] == ((2, 1),)
    assert (found.slots_of("a"), found.slots_of("c")) == (2, 3)
    for terms in (["a", "a"], ["a", "b"]):
        mix = Experiment.of(terms)
        assert inverse_throughput(found, mix) == inverse_throughput(base, mix)
    assert inverse_throughput(found, Experiment.of(["a", "c"])) == 2.0  # `a` and `c` share a port


def test_parts_without_a_common_scheme_are_not_joined() -> None:
    first, second = (PortMapping(("0", "1"), {scheme: ((1, 1),)}) for scheme in "ab")
    assert merge(second, first, [second]) is None


def test_three_parts_are_joined_one_after_another() -> None:
    mappings = [
        PortMapping(("0", "1"), {"a": ((1, 1),), "b": ((2, 1),), own: ((2, 1),)}) for own in ("c", "d", "e")
    ]
    found = merge(mappings[0], mappings[1], [mappings[0], mappings[2]])
    assert found is not None
    assert sorted(found.usage) == ["a", "b", "c", "d", "e"]
    assert found.usage["e"] == found.usage["b"]

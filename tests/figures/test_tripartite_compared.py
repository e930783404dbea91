"""Two mappings in one graph: differences first, nothing lost; what schemes can be filtered by."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from inference.core.identity import compare
from inference.core.mapping import PortMapping
from inference.figures.tripartite import comparison_graph, tripartite, with_facets
from tests.core.strategies import mappings
from tests.drawn import examples

HERE = PortMapping(("0", "1"), {"add": ((3, 1),), "sub": ((3, 1),), "mul": ((1, 2),), "old": ((2, 1),)})
THERE = PortMapping(("x", "y"), {"add": ((3, 1),), "sub": ((3, 1),), "mul": ((1, 1),), "new": ((1, 1),)})


def test_differences_come_first_then_what_only_one_describes():
    graph = comparison_graph(compare(HERE, THERE))
    kinds = [(group["kind"], group["schemes"]) for group in graph["groups"]]
    assert kinds == [
        ("different", ["mul"]),
        ("only-first", ["old"]),
        ("only-second", ["new"]),
        ("equal", ["add", "sub"]),
    ]
    assert graph["counts"] == {"different": 1, "only-first": 1, "only-second": 1, "equal": 2}
    mul, old, new, same = graph["groups"]
    assert [(use["count"], use["there"]) for use in mul["uops"]] == [(2, 1)]
    assert [(use["count"], use["there"]) for use in old["uops"]] == [(1, 0)]
    assert [(use["count"], use["there"]) for use in new["uops"]] == [(0, 1)]
    assert [(use["count"], use["there"]) for use in same["uops"]] == [(1, 1)]
    assert mul["usage"] == "here 2×[0], there 1×[0]"
    assert old["usage"] == "here 1×[1], there not described"


@examples(40)
@given(mappings(st.sampled_from((3, 6))), mappings(st.sampled_from((3, 6))))
def test_both_mappings_can_be_read_off_the_graph(a: PortMapping, b: PortMapping):
    comparison = compare(a, b)
    graph = json.loads(json.dumps(comparison_graph(comparison)))
    masks = [int(uop["mask"], 16) for uop in graph["uops"]]
    said = {each.scheme: each.uops for each in comparison.schemes}
    seen = set()
    for group in graph["groups"]:
        both = [
            tuple(sorted((masks[use["uop"]], use[side]) for use in group["uops"] if use[side]))
            for side in ("count", "there")
        ]
        for scheme in group["schemes"]:
            assert both == [tuple(sorted(uops or ())) for uops in said[scheme]]
            seen.add(scheme)
    assert seen == set(said)


def test_facets_are_places_in_sorted_values():
    facts = {"add": ("BASE", "arithmetic", ""), "sub": ("BASE", "arithmetic", "R"), "mul": ("X64", "mul", "")}
    graph = with_facets(tripartite(HERE, facts), facts)
    assert graph["facets"] == {
        "extension": ["BASE", "X64"],
        "category": ["arithmetic", "mul"],
        "memory": ["", "R"],
    }
    told = {
        text: found
        for group in graph["groups"]
        for text, found in zip(group["schemes"], group["facets"], strict=True)
    }
    assert told == {"add": [0, 0, 0], "sub": [0, 0, 1], "mul": [1, 1, 0]}

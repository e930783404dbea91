"""Families over planted cores: who belongs together, what they are called, how much they explain."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anica_app.core.block_domain import BlockDomain
from anica_app.core.discovery_selection import fresh_blocks
from anica_app.core.domain.abstract import AbstractBlock, AbstractInstruction
from anica_app.core.families.campaign_families import UngroupedDiscovery, families_of, wilson
from anica_app.core.families.causes import ChainKind, DifferingBound, ToolAccess, WitnessCause
from anica_app.core.families.culprits import CulpritInstructions, culprits_of, instruction_class
from anica_app.core.families.grouping import (
    FamilyIdentity,
    FamilyMember,
    group_members,
    matched_families,
    names_of,
    nearest_family,
)
from anica_app.core.search.interestingness import Disagreement, InterestSettings
from inference.isa.block_changes import Carrier, CarrierKind, CarrierRole
from inference.isa.x86.scheme_set import scheme_and_form
from inference.predictors.protocol import Answer
from tests.anica.core.families.cores import PlantedCore
from tests.anica.core.search.planted import few_schemes
from tests.drawn import examples

FAULTY = PlantedCore("faulty", latency={"imul": 9.0, "popcnt": 9.0}, busy={"bsf": 7.0, "bsr": 7.0})
PLAIN = PlantedCore("plain")
WITNESSES = {
    "48 0f bc c3": "bsf",
    "48 0f bd d1": "bsr",
    "0f bc c3": "bsf",
    "48 0f af c3": "imul",
    "0f af c8": "imul",
    "f3 48 0f b8 c0": "popcnt",
}


def both(codes):
    return list(zip(FAULTY.predict(codes), PLAIN.predict(codes), strict=True))


@cache
def domain():
    return BlockDomain.of(among=few_schemes())


def discoveries(witnesses=tuple(WITNESSES)):
    """Each is any block of instructions with the witness's mnemonic."""
    found = []
    for number, digits in enumerate(witnesses):
        block = domain().block_of_code(bytes.fromhex(digits))
        exact = domain().represent(block)
        names = domain().vocabulary.names
        values = zip(names, exact.instructions[0].values, strict=True)
        kept = [value if name == "mnemonic" else None for name, value in values]
        abstract = AbstractBlock((AbstractInstruction(tuple(kept)),), exact.aliasing)
        found.append(UngroupedDiscovery(number, abstract, block, "difference"))
    return found


@cache
def disagreements():
    judge = Disagreement(InterestSettings())
    blocks = fresh_blocks(domain(), 150)
    answers = both([domain().code(one) for one in blocks])
    return [one for one, given in zip(blocks, answers, strict=True) if judge.verdict(given).interesting]


def found(order=None, questions=200):
    known = discoveries()
    known = [known[place] for place in order] if order else known
    tools = ["faulty", "plain"]
    return families_of(domain(), known, disagreements(), ToolAccess(both), tools, questions)


def test_planted_causes_are_families_with_names():
    families = found()
    said = {
        one.name: {list(WITNESSES.values())[number] for number in one.members} for one in families.families
    }
    assert said == {
        "bsf, bsr: throughput": {"bsf", "bsr"},
        "imul: dependency through the destination": {"imul"},
        "popcnt: dependency through the destination": {"popcnt"},
    }
    assert 0 < families.questions <= 200


def test_a_family_has_its_smallest_witness_the_range_of_predictions_and_what_it_explains():
    families = found()
    scans = next(one for one in families.families if one.name.startswith("bsf"))
    assert scans.witness.code == bytes.fromhex("0fbcc3")
    assert scans.predictions == ((7.0, 7.0), (1.0, 1.0))
    assert scans.bound is DifferingBound.PORTS
    assert 0 < scans.interval[0] < scans.share < scans.interval[1] < 1
    assert families.disagreements == len(disagreements())
    assert max(len(one.blocks) for one in families.families) <= families.explained <= families.disagreements
    assert sum(one.own for one in families.families) == families.explained


@examples(4)
@given(seed=st.integers(0, 1000))
def test_the_order_of_discoveries_does_not_matter(seed):
    order = list(range(len(WITNESSES)))
    Random(seed).shuffle(order)
    one, other = found(order), found()
    assert [(x.name, x.members, x.share) for x in one.families] == [
        (x.name, x.members, x.share) for x in other.families
    ]


def test_without_questions_there_are_families_without_a_cause():
    families = found(questions=0)
    bounds = {one.bound: len(one.members) for one in families.families}
    assert bounds[DifferingBound.DEPENDENCIES] == 1, "popcnt insists on reading what it writes"
    assert set(bounds) == {DifferingBound.UNKNOWN, DifferingBound.DEPENDENCIES}
    assert sorted(number for one in families.families for number in one.members) == list(range(6))


def member(number, classes, bound="ports", weight=0):
    cause = WitnessCause(DifferingBound(bound), (Answer(cycles=1.0), Answer(cycles=2.0)), 2)
    culprits = CulpritInstructions(tuple(classes), tuple((each, each) for each in classes), False, False)
    return FamilyMember(number, b"\x90", "difference", 1, cause, culprits, weight)


@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=3, unique=True),
            st.sampled_from(["ports", "dependencies", "memory", "unknown"]),
        ),
        max_size=60,
    ),
    st.integers(4, 30),
)
def test_every_discovery_is_in_one_of_few_groups(described, most):
    members = [member(number, classes, bound) for number, (classes, bound) in enumerate(described)]
    groups = group_members(members, most)
    assert len(groups) <= most
    assert sorted(one.number for group in groups for one in group.members) == list(range(len(members)))
    for group in groups:
        assert all(one.way == group.way for one in group.members)
        assert all(set(one.classes) & set(group.classes) for one in group.members)


def test_the_class_that_most_are_about_gets_those_about_several():
    groups = group_members([member(0, "ab"), member(1, "b"), member(2, "b"), member(3, "ac"), member(4, "c")])
    assert [(group.classes, [one.number for one in group.members]) for group in groups] == [
        (("b",), [0, 1, 2]),
        (("c",), [3, 4]),
    ]


def test_a_discovery_about_any_of_a_class_is_called_by_the_class_of_most():
    shifts = BlockDomain.of()
    block = shifts.block_of_code(bytes.fromhex("d3d0"))  # rcl eax, cl
    abstract = shifts.read({"instructions": [{"operands": ["cl:R"]}]})
    assert culprits_of(shifts, abstract, block).classes == ("shift or rotate by cl",)


def waiting(number, name, chain="", role=CarrierRole.BETWEEN):
    """About one class, with a dependency through a register that has this role."""
    one = member(number, [name], "dependencies")
    register = Carrier(CarrierKind.REGISTER, "rax", role, (0,))
    return replace(one, cause=replace(one.cause, carriers=(register,), chain=ChainKind(chain)))


def test_who_waits_without_need_is_no_family_with_who_has_to():
    members = [waiting(0, "move", "result", CarrierRole.RESULT), waiting(1, "move")]
    groups = group_members(members)
    assert sorted(len(group.members) for group in groups) == [1, 1]
    assert set(names_of(groups, ["one", "other"])) == {
        "move: false dependency on the result",
        "move: dependency through registers",
    }


def test_loads_within_chains_are_one_family_whatever_the_instructions():
    members = [
        waiting(0, "move", "load"),
        waiting(1, "FMA", "load"),
        waiting(2, "bit scan", "load", CarrierRole.RESULT),
    ]
    (group,) = group_members([*members])
    assert group.members == tuple(members)
    assert names_of([group], ["one", "other"]) == ["memory operands: load latency within a dependency chain"]


@pytest.mark.parametrize("chain", ["result", "load"])
def test_what_could_not_be_asked_about_is_in_the_family_of_its_class(chain):
    groups = group_members([waiting(0, "move", chain, CarrierRole.RESULT), member(1, ["move"], "unknown")])
    assert [len(group.members) for group in groups] == [2]


def test_a_false_dependency_is_recognised_by_that_in_another_campaign():
    groups = group_members([waiting(0, "move", "result", CarrierRole.RESULT), waiting(1, "move")])
    known = [identity(group.classes, "dependencies", group.way.slower) for group in groups]
    assert matched_families(known, known) == {0: 0, 1: 1}


def test_what_could_not_be_asked_about_goes_where_its_class_is():
    groups = group_members([member(0, "a", "ports"), member(1, "a", "unknown"), member(2, "b", "unknown")])
    assert [(group.way.bound.value, len(group.members)) for group in groups] == [("ports", 2), ("unknown", 1)]


def identity(classes, bound="ports", slower=1, others=""):
    return FamilyIdentity("difference", slower, bound, frozenset(classes), frozenset(others))


def test_a_family_is_the_same_by_class_and_bound():
    old = [identity("a"), identity("bc"), identity("d", "dependencies")]
    new = [identity("c"), identity("a", "dependencies"), identity("d", "dependencies", 2), identity("a")]
    assert matched_families(new, old) == {0: 1, 3: 0}
    assert matched_families([identity("ab"), identity("ad"), identity("e", others="b")], old) == {0: 0}
    assert nearest_family(identity("e", others="b"), old) == 1
    assert nearest_family(identity("e"), old) is None
    assert [FamilyIdentity.read(one.as_json()) for one in old] == old


@given(st.integers(1, 500), st.data())
def test_an_interval_holds_its_share(of, data):
    count = data.draw(st.integers(0, of))
    low, high = wilson(count, of)
    assert 0 <= low <= count / of + 1e-12
    assert count / of - 1e-12 <= high <= 1


def test_nothing_is_known_of_a_share_of_nothing():
    assert wilson(0, 0) is None


def test_wilson_is_as_in_the_books():
    assert wilson(10, 100) == pytest.approx((0.0552, 0.1744), abs=1e-3)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("shl GPR[32]:RW, 0x0", "shift or rotate by 0"),
        ("ror GPR[32]:RW, 0x0", "shift or rotate by 0"),
        ("shl GPR[32]:RW, cl:R", "shift or rotate by cl"),
        ("shl GPR[32]:RW, IMM[8]:R", "shift"),
        ("rcl GPR[32]:RW, 0x0", "rotate through carry"),
        ("rcl GPR[32]:RW, cl:R", "rotate through carry"),
    ],
)
def test_shifts_and_rotations_by_0_are_a_class_of_their_own(text, expected):
    assert instruction_class(scheme_and_form(text)[0]) == expected

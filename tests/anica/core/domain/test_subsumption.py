"""Subsumption held against the letter of Definition 8.7, and the thesis's examples."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anica_app.core.domain.abstract import AbstractBlock
from anica_app.core.domain.space import Dependency, SampledBlock
from inference.isa.blocks import block_of_text
from inference.isa.operand_slots import OperandPlace
from tests.anica.core.small import above, random_abstract, random_block, small_domain
from tests.drawn import examples

DOMAIN = small_domain()
SEEDS = st.integers(0, 2**32)
NOP = DOMAIN.sampler.instance(DOMAIN.space.by_text["nop"])


def by_definition(general: AbstractBlock, special: AbstractBlock) -> bool:
    meaning = DOMAIN.table.meaning
    count, places = len(general), len(special)
    for mapping in product(range(places), repeat=count):
        distinct = len(set(mapping)) == count
        fitting = distinct and all(
            not meaning(special.instructions[mapping[k]]) & ~meaning(general.instructions[k])
            for k in range(count)
        )
        if fitting and constrained(general, special, mapping) and rotated(mapping, places):
            return True
    return False


def constrained(general: AbstractBlock, special: AbstractBlock, mapping: tuple[int, ...]) -> bool:
    there = special.aliasing.value
    for (one, other), wanted in general.aliasing.pairs:
        left = OperandPlace(mapping[one.instruction], one.kind, one.number)
        right = OperandPlace(mapping[other.instruction], other.kind, other.number)
        if there.get((left, right), there.get((right, left))) is not wanted:
            return False
    return all(
        Dependency(mapping[one.writer], mapping[one.reader], one.kind) in special.dependencies
        for one in general.dependencies
    )


def rotated(mapping: tuple[int, ...], places: int) -> bool:
    """C4: nothing that is mapped to lies between what two neighbours are mapped to, around the end."""
    for k, begin in enumerate(mapping):
        end = mapping[(k + 1) % len(mapping)]
        between = (begin + 1) % places
        while between != end:
            if between in mapping and len(mapping) > 1:
                return False
            between = (between + 1) % places
    return True


@examples(150)
@given(SEEDS)
def test_the_search_finds_a_mapping_exactly_if_the_definition_has_one(seed: int) -> None:
    random = Random(seed)
    special = DOMAIN.represent(random_block(DOMAIN, random, 5))
    general = above(DOMAIN, special, random)
    picked = sorted(random.sample(range(len(special)), min(4, random.randint(1, len(special)))))
    turn = random.randrange(len(picked))
    if random.random() < 0.5:
        random.shuffle(picked)
    part = picked[turn:] + picked[:turn]
    chosen = restricted(general, part)
    assert DOMAIN.subsumes(chosen, special) == by_definition(chosen, special)
    other = random_abstract(DOMAIN, random)
    assert DOMAIN.subsumes(chosen, other) == by_definition(chosen, other)


def restricted(abstract: AbstractBlock, part: list[int]) -> AbstractBlock:
    """The instructions in this order, with the constraints among them."""
    numbers = {old: new for new, old in enumerate(part)}
    aliasing = [
        [
            tuple(
                sorted(OperandPlace(numbers[place.instruction], place.kind, place.number) for place in pair)
            )
            for pair in pairs
            if all(place.instruction in numbers for place in pair)
        ]
        for pairs in (abstract.aliasing.must, abstract.aliasing.must_not)
    ]
    return AbstractBlock(
        tuple(abstract.instructions[k] for k in part),
        type(abstract.aliasing)(*map(frozenset, aliasing)),
        frozenset(
            Dependency(numbers[one.writer], numbers[one.reader], one.kind)
            for one in abstract.dependencies
            if one.writer in numbers and one.reader in numbers
        ),
    )


@examples(60)
@given(SEEDS, st.integers(0, 5), st.integers(0, 5))
def test_rotation_and_further_instructions_change_nothing(seed: int, turn: int, at: int) -> None:
    random = Random(seed)
    block = random_block(DOMAIN, random)
    abstract = above(DOMAIN, DOMAIN.represent(block), random)
    turn %= len(block)
    turned = SampledBlock(block.instructions[turn:] + block.instructions[:turn])
    assert DOMAIN.subsumes(abstract, DOMAIN.represent(turned))
    further = random_block(DOMAIN, random, 1).instructions
    longer = SampledBlock(turned.instructions[:at] + further + turned.instructions[at:])
    without = replace(abstract, dependencies=frozenset())  # what is new may overwrite what was to be read
    assert DOMAIN.subsumes(without, DOMAIN.represent(longer))
    nothing = SampledBlock(turned.instructions[:at] + NOP.instructions + turned.instructions[at:])
    assert DOMAIN.subsumes(abstract, DOMAIN.represent(nothing))
    assert not DOMAIN.subsumes(DOMAIN.represent(longer), DOMAIN.represent(block))


def represented(text: str) -> AbstractBlock:
    block = DOMAIN.block_of_code(block_of_text(text).code)
    assert block is not None
    return DOMAIN.represent(block)


AB1 = {
    "instructions": [
        {"mnemonic": {"base": "mov", "edits": 0}, "memory": ["R"]},
        {"mnemonic": {"base": "add", "edits": 0}, "category": "arithmetic", "memory": ["R", "W"]},
    ],
    "aliasing": [["1.register.1", "2.register.1", "same"]],
}


def test_the_examples_of_the_thesis_are_subsumed() -> None:
    general = DOMAIN.read(AB1)
    assert DOMAIN.subsumes(general, represented("mov rbx, [rdx + 42]\nlock add [r8], rbx"))
    assert DOMAIN.subsumes(general, represented("lock add [r8], rbx\nmov rbx, [rdx + 42]"))
    assert DOMAIN.subsumes(general, represented("mov rbx, [rdx + 42]\nnop\nlock add [r8], rbx"))


def test_what_lacks_an_instruction_or_a_constraint_is_not_subsumed() -> None:
    general = DOMAIN.read(AB1)
    assert not DOMAIN.subsumes(general, represented("mov rbx, [rdx + 42]"))
    assert not DOMAIN.subsumes(general, represented("mov rbx, [rdx + 42]\nlock add [r8], rcx"))
    free = DOMAIN.read({**AB1, "aliasing": []})
    assert DOMAIN.subsumes(free, general)
    assert not DOMAIN.subsumes(general, free)


@pytest.mark.parametrize("between", ["", "nop\n", "nop\nnop\n"])
def test_three_instructions_in_the_other_order_round_are_another_block(between: str) -> None:
    first = represented("xchg rcx, rax\nmul rcx\npush rdx")
    assert DOMAIN.subsumes(first, represented(f"mul rcx\n{between}push rdx\nxchg rcx, rax"))
    assert not DOMAIN.subsumes(first, represented(f"xchg rcx, rax\npush rdx\n{between}mul rcx"))
    assert not DOMAIN.subsumes(first, represented(f"xchg rcx, rax\npush rdx\nmul rcx\n{between}nop"))


def test_no_instruction_stands_for_two() -> None:
    twice = DOMAIN.read({"instructions": [{}, {"memory": ["W"]}, {"memory": ["R"]}]})
    assert not DOMAIN.subsumes(twice, represented("nop\nlock add [r8], rbx\nnop\nnop"))
    assert DOMAIN.subsumes(twice, represented("nop\nlock add [r8], rbx\nnop\nlock add [r8], rbx"))

"""The eight conditions of Definition 8.2, on random values over a small instruction set."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from anica_app.core.domain.abstract import AbstractBlock
from tests.anica.core.small import above, random_abstract, random_block, small_domain
from tests.drawn import examples

DOMAIN = small_domain()
SEEDS = st.integers(0, 2**32)
PATIENT = examples(60)


def related(seed: int) -> tuple[AbstractBlock, AbstractBlock]:
    random = Random(seed)
    special = random_abstract(DOMAIN, random)
    return special, above(DOMAIN, special, random)


@PATIENT
@given(SEEDS)
def test_the_order_is_reflexive_transitive_and_antisymmetric(seed: int) -> None:
    low, middle = related(seed)
    high = above(DOMAIN, middle, Random(seed + 1))
    assert DOMAIN.is_below(low, low)
    assert DOMAIN.is_below(low, middle)
    assert DOMAIN.is_below(middle, high)
    assert DOMAIN.is_below(low, high)
    assert DOMAIN.is_below(middle, low) == (middle == low)
    assert DOMAIN.is_below(high, low) == (high == low)


@PATIENT
@given(SEEDS, SEEDS)
def test_blocks_that_have_nothing_to_do_with_each_other_are_ordered_in_one_direction_at_most(
    one: int, other: int
) -> None:
    left, right = related(one)[0], related(other)[1]
    if DOMAIN.is_below(left, right) and DOMAIN.is_below(right, left):
        assert left == right
    if len(left) != len(right):
        assert not DOMAIN.is_below(left, right)


@PATIENT
@given(SEEDS)
def test_every_chain_of_expansions_ends_at_the_top(seed: int) -> None:
    random = Random(seed)
    abstract = DOMAIN.represent(random_block(DOMAIN, random))
    longest = sum(len(DOMAIN.expansions(abstract)) + 40 for _ in range(len(abstract)))
    for _ in range(longest):
        expansions = DOMAIN.expansions(abstract)
        if not expansions:
            break
        abstract = DOMAIN.expand(abstract, random.choice(expansions))
    assert abstract == DOMAIN.unconstrained(len(abstract))


@PATIENT
@given(SEEDS)
def test_expansions_are_strictly_ascending_distinct_and_always_the_same(seed: int) -> None:
    abstract = random_abstract(DOMAIN, Random(seed))
    expansions = DOMAIN.expansions(abstract)
    assert expansions == DOMAIN.expansions(abstract)
    assert len(set(expansions)) == len(expansions)
    for expansion in expansions:
        successor = DOMAIN.expand(abstract, expansion)
        assert successor != abstract
        assert DOMAIN.is_below(abstract, successor)


@PATIENT
@given(SEEDS)
def test_every_way_up_begins_with_an_expansion(seed: int) -> None:
    special, general = related(seed)
    if special != general:
        steps = [DOMAIN.expand(special, expansion) for expansion in DOMAIN.expansions(special)]
        assert any(DOMAIN.is_below(step, general) for step in steps)


@PATIENT
@given(SEEDS)
def test_nothing_lies_between_a_block_and_its_expansion(seed: int) -> None:
    random = Random(seed)
    special = random_abstract(DOMAIN, random)
    for expansion in DOMAIN.expansions(special):
        successor = DOMAIN.expand(special, expansion)
        between = above(DOMAIN, special, random)
        if DOMAIN.is_below(between, successor):
            assert between in (special, successor)


@PATIENT
@given(SEEDS)
def test_expansions_are_monotone(seed: int) -> None:
    special, general = related(seed)
    for expansion in set(DOMAIN.expansions(special)) & set(DOMAIN.expansions(general)):
        assert DOMAIN.is_below(DOMAIN.expand(special, expansion), DOMAIN.expand(general, expansion))


@PATIENT
@given(SEEDS)
def test_small_expansions_lead_to_more_blocks_and_are_monotone(seed: int) -> None:
    special, general = related(seed)
    offered = DOMAIN.small_expansions(special)
    assert offered == DOMAIN.small_expansions(special)
    for expansion in offered:
        successor = DOMAIN.expand(special, expansion)
        assert successor != special
        assert DOMAIN.is_below(special, successor)
        assert DOMAIN.subsumes(successor, special)
        block = DOMAIN.sample(special, Random(seed))
        assert block is None or DOMAIN.contains(successor, block)
    for expansion in set(offered) & set(DOMAIN.small_expansions(general)):
        assert DOMAIN.is_below(DOMAIN.expand(special, expansion), DOMAIN.expand(general, expansion))


@PATIENT
@given(SEEDS)
def test_what_is_more_general_represents_at_least_the_same_blocks(seed: int) -> None:
    special, general = related(seed)
    for low, high in zip(special.instructions, general.instructions, strict=True):
        assert not DOMAIN.table.meaning(low) & ~DOMAIN.table.meaning(high)
    random = Random(seed)
    for _ in range(5):
        block = DOMAIN.sample(special, random)
        if block is not None:
            assert DOMAIN.contains(special, block)
            assert DOMAIN.contains(general, block)


@PATIENT
@given(SEEDS)
def test_what_represents_a_block_represents_it(seed: int) -> None:
    block = random_block(DOMAIN, Random(seed))
    assert DOMAIN.contains(DOMAIN.represent(block), block)


@PATIENT
@given(SEEDS)
def test_a_block_belongs_to_an_abstract_one_exactly_if_its_representative_is_below(seed: int) -> None:
    """Of what a block's representative leaves out: values above it, by the letter of Equation (8.5)."""
    random = Random(seed)
    abstract, block = random_abstract(DOMAIN, random), random_block(DOMAIN, random)
    if DOMAIN.is_below(DOMAIN.represent(block), abstract):
        assert DOMAIN.contains(abstract, block)


@PATIENT
@given(SEEDS)
def test_the_same_meaning_is_seen_where_an_expansion_changes_nothing(seed: int) -> None:
    random = Random(seed)
    abstract = random_abstract(DOMAIN, random)
    for expansion in DOMAIN.expansions(abstract):
        successor = DOMAIN.expand(abstract, expansion)
        if DOMAIN.same_meaning(abstract, successor):
            block = DOMAIN.sample(successor, random)
            assert block is None or DOMAIN.contains(abstract, block)


@PATIENT
@given(SEEDS)
def test_the_order_of_aliasing_is_that_of_its_equation(seed: int) -> None:
    """Equation (8.14), for two values that nothing but their block has in common."""
    random = Random(seed)
    most_special = DOMAIN.represent(random_block(DOMAIN, random))
    one, other = (above(DOMAIN, most_special, random).aliasing for _ in range(2))
    said = all(one.value.get(pair) is wanted for pair, wanted in other.pairs)
    assert one.is_below(other) == said

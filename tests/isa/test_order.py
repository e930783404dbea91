"""Loop bodies whose instructions stand in the order that was asked for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core.experiment import Experiment, OrderedExperiment
from inference.isa.x86 import schemes
from inference.isa.x86.assembling import unroll, unroll_in_order
from tests.drawn import examples
from tests.isa.decoding import decoded, scheme_sequence

DEFAULT = [scheme.text for scheme in schemes() if not scheme.exclusion]
orders = st.lists(st.sampled_from(DEFAULT), min_size=1, max_size=12)


@examples(40)
@given(orders)
def test_every_copy_has_the_instructions_in_the_order_asked(order):
    code = unroll_in_order(order)
    body = decoded(code.code)
    assert code.copies == max(2, -(-100 // len(order)))
    assert scheme_sequence([(text, 1) for text in order], body) == code.copies * order


def test_another_order_is_other_code_and_the_usual_one_is_one_of_them():
    add, imul, load = "add GPR[64]:RW, GPR[64]:R", "imul GPR[64]:RW, GPR[64]:R", "mov GPR[64]:W, MEM[64]:R"
    usual = unroll([(add, 1), (imul, 1), (load, 1)])
    assert usual == unroll_in_order(sorted([add, imul, load]))
    assert unroll_in_order([load, imul, add]).code != usual.code


def test_a_sequence_of_nothing_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        unroll_in_order([])


def test_an_ordered_experiment_keeps_its_order():
    drawn = OrderedExperiment.in_order(["b", "a", "b"])
    assert (drawn.order, drawn.length, drawn.multiset) == (("b", "a", "b"), 3, Experiment.of("abb"))

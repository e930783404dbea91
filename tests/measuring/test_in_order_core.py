"""Simulated cores that issue in order: told from others, with blocks predicted in both orders."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache

import pytest

from inference.core.core_model import BoundKind, CorePrediction, predict_core
from inference.core.core_model.prediction import shape_of
from inference.core.front_end import read_front_end
from inference.formats.core_model_json import core_model_json, core_model_text, read_core_model
from inference.isa.blocks import accesses_of, block_of_bytes
from inference.isa.bodies import front_end_maker
from inference.isa.front_end import Aspect
from inference.isa.targets import AARCH64
from inference.measuring.blocks import item_for_code
from inference.measuring.simulated_core.core import SimulatedCore
from inference.measuring.simulated_core.sampled import sampled_core

SEEDS = range(4)
COPIES = 20
BLOCKS = 12
MULTIPLY, ADD, LOAD = 0x9B007C00, 0x8B000000, 0xF9400000
"""mul, add, ldr of x0: registers are added in."""

core_of = cache(sampled_core)


def block_in_two_orders(dice: random.Random) -> tuple[bytes, bytes]:
    """Results and their uses: each use at once, and all uses behind all results."""
    results = [dice.choice((MULTIPLY, LOAD, ADD | 7 << 5 | 7 << 16)) | k for k in range(1, 5)]
    uses = [dice.choice((MULTIPLY, ADD)) | k << 5 | k << 16 | k + 8 for k in range(1, 5)]
    words = [word for pair in zip(results, uses, strict=True) for word in pair], [*results, *uses]
    first, second = (b"".join(word.to_bytes(4, "little") for word in order) for order in words)
    return first, second


def predicted(core: SimulatedCore, code: bytes) -> CorePrediction:
    block = block_of_bytes(code, core.isa)
    return predict_core(accesses_of(block, equal_start=True), shape_of(block, in_loop=True), core.model)


def measured(core: SimulatedCore, code: bytes) -> float:
    return core._iteration(code * COPIES, is_loop=True, in_blocks=True) / COPIES


@pytest.mark.parametrize("in_order", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_probe_tells_cores_in_order_from_others(seed: int, in_order: bool) -> None:
    core = core_of(AARCH64, seed, in_order=in_order)
    codes = [
        code
        for code in front_end_maker(AARCH64).front_end_codes(offsets=False)
        if code.aspect is Aspect.ORDER
    ]
    timed = [(code, core.cycles(*item_for_code(code.code, (), AARCH64))) for code in codes]
    issue = read_front_end(timed).issue
    assert issue is not None
    assert issue.in_order == in_order


@pytest.mark.parametrize("seed", SEEDS)
def test_both_orders_of_blocks_take_what_the_bound_says(seed: int) -> None:
    core = core_of(AARCH64, seed, in_order=True)
    dice = random.Random(seed)
    for _ in range(BLOCKS):
        for code in block_in_two_orders(dice):
            prediction = predicted(core, code)
            assert prediction.cycles == pytest.approx(measured(core, code), rel=0.03)
            order = next(bound for bound in prediction.bounds if bound.kind is BoundKind.ORDER)
            assert order.cycles == prediction.cycles


def test_a_core_out_of_order_has_no_bound_by_order() -> None:
    core = core_of(AARCH64, 0)
    early, _ = block_in_two_orders(random.Random(1))
    assert BoundKind.ORDER not in {bound.kind for bound in predicted(core, early).bounds}


def test_the_bound_names_what_waits_and_can_be_left_out() -> None:
    core = core_of(AARCH64, 1, in_order=True)
    code = b"".join(word.to_bytes(4, "little") for word in (MULTIPLY | 1, ADD | 1 << 5 | 2, LOAD | 3))
    block = block_of_bytes(code, AARCH64)
    shape, accesses = shape_of(block, in_loop=True), accesses_of(block, equal_start=True)
    bounds = {bound.kind: bound for bound in predict_core(accesses, shape, core.model).bounds}
    assert "`add` and all behind it wait" in bounds[BoundKind.ORDER].why
    without = predict_core(accesses, shape, core.model, (BoundKind.ORDER,))
    assert BoundKind.ORDER not in {bound.kind for bound in without.bounds}
    assert without.cycles < bounds[BoundKind.ORDER].cycles


def test_files_keep_the_order_of_issue() -> None:
    model = core_of(AARCH64, 0, in_order=True).model
    assert model.issue is not None
    model = replace(model, issue=replace(model.issue, stages={"b": 1, "a": 2}))
    text = core_model_text(core_model_json(model, name="small", isa=AARCH64))
    assert read_core_model(text).model().issue == model.issue

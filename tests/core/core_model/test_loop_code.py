"""Sizes of loops that fetching holds up: seen in experiments, used in predictions, not known of others."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest

from inference.core.core_model import CodeShape, FrontEndLimits, predict_core
from inference.core.core_model.bounds import UNMEASURED_LOOP_SIZE
from inference.core.core_model.loop_code import code_bounds, measured_loop_code
from inference.core.core_model.prediction import BoundKind, shape_of
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping
from inference.formats.core_model_json import core_model_json, read_core_model
from inference.isa.blocks import accesses_of, read_blocks
from inference.isa.machine_bodies import CannotMeasureError, LoopSize
from tests.core.core_model.small_core import CORE

ANY = ((0b111111, 1),)
PORTS = PortMapping(
    tuple("012345"),
    {"a": ANY, "like a": ANY, "as a": ANY, "b": ((0b011111, 1),), "c": ((0b111110, 1),), "slow": ((0b1, 1),)},
    r_max=8.0,
)
PAIRS = [Experiment.of([first, "nop"]) for first in ("a", "b", "c")]
COPIES = 50
QUICK = {Experiment.of({"nop": 1}): 0.125, Experiment.of({"a": 1}): 0.17}
"""What shows how quick the core is: 8 per cycle."""


def of_one_size(experiment: Experiment) -> LoopSize:
    if experiment in QUICK:
        return LoopSize(100, 500, 100)
    return LoopSize(COPIES * experiment.length, 350, COPIES)


def sizes(cycles: Mapping[Experiment, float]) -> dict[tuple[int, int], float]:
    """`cycles` of whole loops."""
    measured = {experiment: total / COPIES for experiment, total in cycles.items()}
    return measured_loop_code(QUICK | measured, of_one_size, PORTS)


def test_several_unexplained_loops_that_take_one_whole_number_of_cycles_are_held_up() -> None:
    assert sizes(dict.fromkeys(PAIRS, 14.02)) == {(100, 350): 14.0}


def test_two_are_not_enough() -> None:
    assert sizes(dict.fromkeys(PAIRS[:2], 14.0)) == {}


def test_experiments_of_one_kind_may_waste_as_much_by_chance() -> None:
    alike = [Experiment.of([scheme, "nop"]) for scheme in ("a", "like a", "as a")]
    assert sizes(dict.fromkeys(alike, 14.0)) == {}
    assert sizes(dict.fromkeys([*alike, Experiment.of(["b", "nop"])], 14.0)) == {(100, 350): 14.0}


def test_what_needs_no_port_wastes_none() -> None:
    portless = [Experiment.of(["nop", other]) for other in ("endbr64", "clc", "wait")]
    alone = {Experiment.of({scheme: 1}): 0.13 for scheme in ("endbr64", "clc", "wait")}
    measured = QUICK | alone | dict.fromkeys(portless, 13.0 / COPIES)

    def size_of(experiment: Experiment) -> LoopSize:
        return of_one_size(experiment) if experiment in portless else LoopSize(100, 500, 100)

    assert measured_loop_code(measured, size_of, PORTS) == {(100, 350): 13.0}


def test_a_quicker_loop_of_that_size_shows_that_something_else_held_them_up() -> None:
    assert sizes({**dict.fromkeys(PAIRS, 14.0), Experiment.of(["b", "c"]): 13.0}) == {}


def test_what_takes_no_whole_number_of_cycles_waits_for_something_else() -> None:
    assert sizes(dict.fromkeys(PAIRS, 14.4)) == {}


def test_what_ports_allow_needs_no_other_reason() -> None:
    mixes = [Experiment.of(["slow", other]) for other in ("a", "b", "nop")]
    assert sizes(dict.fromkeys(mixes, 50.0)) == {}


def test_what_a_scheme_wastes_alone_needs_no_other_reason() -> None:
    """Like `add r, r` of a Zen 5, which takes 19 cycles per hundred, whatever the bytes of them are."""
    alone = {Experiment.of({scheme: 1}): 0.19 for scheme in ("a", "like a", "b", "c")}
    mixes = {Experiment.of(["a", other]): 19.0 / COPIES for other in ("like a", "b", "c")}
    measured = {Experiment.of({"nop": 1}): 0.125, **mixes, **alone}
    assert measured_loop_code(measured, of_one_size, PORTS) == {}


def test_loops_far_from_the_rate_of_the_core_wait_for_results() -> None:
    assert sizes(dict.fromkeys(PAIRS, 30.0)) == {}


def test_what_was_measured_elsewhere_counts_for_nothing() -> None:
    def unknown(experiment: Experiment) -> LoopSize:
        raise CannotMeasureError(str(experiment), "of another instruction set")

    assert measured_loop_code(dict.fromkeys(PAIRS, 14.0 / COPIES), unknown, PORTS) == {}


(BLOCK,) = read_blocks("4801d84801cb", 1)  # add rax, rbx; add rbx, rcx
SHAPE = shape_of(BLOCK, in_loop=True)
HELD = replace(
    CORE, loop_code={(2 * SHAPE.copies, 6 * SHAPE.copies): 300.0, (50, 150): 200.0, (50, 200): 150.0}
)


@pytest.mark.parametrize("shape", [SHAPE, shape_of(BLOCK)])
def test_only_loops_of_just_that_size_take_so_long(shape: CodeShape) -> None:
    found = predict_core(accesses_of(BLOCK, equal_start=True), shape, HELD)
    front_end = next(bound for bound in found.bounds if bound.kind is BoundKind.FRONT_END)
    assert (front_end.cycles == 300.0 / SHAPE.copies) is shape.copied
    assert (front_end.why == "loops of 100 instructions in 300 bytes take 300 cycles") is shape.copied
    assert UNMEASURED_LOOP_SIZE not in found.lacking


@pytest.mark.parametrize(("size", "unknown"), [(7, True), (9, False), (5, False)])
def test_of_sizes_that_were_not_measured_it_is_said_where_it_may_matter(size: int, unknown: bool) -> None:
    found = predict_core(accesses_of(BLOCK, equal_start=True), replace(SHAPE, size=size), HELD)
    assert (UNMEASURED_LOOP_SIZE in found.lacking) is unknown


@pytest.mark.parametrize(("fused", "slots"), [(None, 1), (frozenset(), 2), (frozenset({"dec reg + je"}), 1)])
def test_what_closes_a_loop_of_copies_takes_slots(fused: frozenset[str] | None, slots: int) -> None:
    core = replace(CORE, mapping=None, front_end=FrontEndLimits(slots=0.5, fused=fused))
    found = predict_core(accesses_of(BLOCK, equal_start=True), SHAPE, core)
    assert found.cycles == pytest.approx(2 * (2 + slots / SHAPE.copies))


def test_sizes_travel_with_the_core_model() -> None:
    document = core_model_json(HELD, name="mine", isa="x86-64")
    assert read_core_model(json.dumps(document)).model().loop_code == HELD.loop_code
    assert "loop_code" not in core_model_json(CORE, name="mine", isa="x86-64")


def test_code_of_one_length_shows_nothing_about_lengths() -> None:
    measured = {Experiment.of({f"a{k}": 1}): 0.5 for k in range(20)}
    assert code_bounds(measured, dict.fromkeys(measured, 4.0)) == {}
    longer = {Experiment.of({f"b{k}": 1}): 0.25 for k in range(20)}
    sizes = dict.fromkeys(measured, 4.0) | dict.fromkeys(longer, 6.0)
    assert set(code_bounds(measured | longer, sizes).values()) == {0.5, 0.25}

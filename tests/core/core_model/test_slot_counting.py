"""Slots of schemes are counted beside instructions without a port."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from inference.core.core_model import CoreModel, FrontEndLimits
from inference.core.core_model.slot_counting import (
    counted_slots,
    filler_experiments,
    quickest_filler,
    slot_experiments,
)
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping
from inference.measuring.simulated import SimulatedProcessor

MOVE, NOP = "mov GPR[64]:W, GPR[64]:R", "nop"
WIDTH = 6
SCHEMES = ("a", "b", "c", "d")


def model(slots: Sequence[int], *, moves: bool = True, slots_per_cycle: float = WIDTH) -> CoreModel:
    usage = {**dict.fromkeys(SCHEMES, ((0b1111, 1),)), MOVE: (), NOP: ()}
    counts = dict(zip(SCHEMES, slots, strict=True))
    mapping = PortMapping(("0", "1", "2", "3"), usage, issue_width=slots_per_cycle, slots=counts)
    return CoreModel(
        mapping,
        moves=frozenset({MOVE} if moves else ()),
        front_end=FrontEndLimits(slots=WIDTH, nops=2 * WIDTH),
    )


def counted(core: CoreModel, *, noise: float = 0.0) -> dict[str, int] | None:
    assert core.mapping is not None
    processor = SimulatedProcessor(core.mapping, noise=noise, seed=1)

    def times(experiments: Sequence[Experiment]) -> dict[Experiment, float]:
        return {one.experiment: one.cycles for one in processor.measure(experiments) if one.cycles}

    filler = quickest_filler(times(filler_experiments(core, core.mapping.usage)), WIDTH)
    if filler is None:
        return None
    experiments = slot_experiments(core, filler[0], core.mapping.usage)
    return counted_slots(experiments, times([*experiments.values()]), filler[1])


@given(st.tuples(*[st.integers(1, 8)] * len(SCHEMES)))
def test_each_scheme_has_the_slots_that_it_takes(slots: tuple[int, ...]) -> None:
    several = {scheme: number for scheme, number in zip(SCHEMES, slots, strict=True) if number > 1}
    assert counted(model(slots)) == several
    assert counted(model(slots), noise=0.003) == several


def test_nothing_is_counted_beside_instructions_that_are_slower_than_dispatch() -> None:
    assert counted(model((1, 2, 1, 1), slots_per_cycle=4.0)) is None
    assert counted(model((1, 2, 1, 1), moves=False)) is None  # NOPs share slots


def test_a_scheme_that_was_not_measured_is_not_counted() -> None:
    experiments = slot_experiments(model((2, 2, 2, 2)), MOVE, SCHEMES)
    assert counted_slots(experiments, {}, WIDTH) == {}

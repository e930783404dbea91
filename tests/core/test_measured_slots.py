"""Slots that padding shows, on simulated cores."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping
from inference.core.measured_slots import MeasuredSlots, Padding, read_slots
from inference.measuring.simulated import SimulatedProcessor

PADDING = Padding("mov", "xchg")
CORE = PortMapping(
    ("0", "1", "2", "3"),
    {
        "mov": (),
        "xchg": (),
        "add": ((0b0011, 1),),
        "swap": ((0b0011, 1),),
        "load": ((0b0100, 1),),
        "div": ((0b1000, 12),),
    },
    r_max=5.0,
    issue_width=6.0,
    slots={"xchg": 2, "swap": 3, "load": 2},
)
SCHEMES = ("add", "swap", "load", "div")


def told(core: PortMapping, padding: Padding = PADDING, noise: float = 0.0) -> MeasuredSlots | None:
    asked = padding.calibration() + [each for scheme in SCHEMES for each in padding.around(scheme)]
    found = SimulatedProcessor(core, noise=noise, seed=3).measure(asked)
    return read_slots({each.experiment: each.cycles for each in found if each.cycles}, padding)


@pytest.mark.parametrize("noise", [0.0, 0.005])
def test_padding_shows_slots_that_instructions_do_not(noise: float) -> None:
    found = told(CORE, noise=noise)
    assert found is not None
    assert found.moves == pytest.approx(5.0, rel=0.02)
    assert found.width == pytest.approx(6.0, rel=0.06)
    assert found.readings["swap"].number == 3
    assert found.readings["load"].number == 2
    assert found.readings["add"].number == 1


def test_where_every_slot_holds_an_instruction_moves_alone_do() -> None:
    core = replace(CORE, r_max=None, issue_width=4.0)
    for padding in (PADDING, Padding("mov")):
        found = told(core, padding)
        assert found is not None
        assert (found.moves, found.width) == (pytest.approx(4.0), pytest.approx(4.0))
        numbers = {scheme: found.readings[scheme] for scheme in ("add", "swap", "load")}
        assert {scheme: each.number for scheme, each in numbers.items()} == {"add": 1, "swap": 3, "load": 2}
        assert all(each.exact for each in numbers.values())


def test_what_its_ports_hold_up_is_a_bound() -> None:
    found = told(CORE)
    assert found is not None
    assert not found.readings["div"].exact
    assert found.readings["div"].number >= 1


def test_an_exchange_that_waits_for_ports_says_nothing() -> None:
    core = replace(CORE, usage={**CORE.usage, "xchg": ((0b1000, 3),)})
    found = told(core)
    assert found is not None
    assert found.width == pytest.approx(5.0), "as wide as the moves show"
    assert all("xchg" not in each.experiment.schemes for each in found.readings.values())


def test_nothing_is_told_without_moves_or_with_moves_that_are_free() -> None:
    assert read_slots({}, PADDING) is None
    assert read_slots({Experiment.of(["mov"]): 0.02}, PADDING) is None


def test_the_padding_is_not_padded() -> None:
    assert PADDING.around("mov") == PADDING.around("xchg") == []
    assert len(set(PADDING.around("add"))) == len(PADDING.around("add"))

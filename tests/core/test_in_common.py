"""What experiments have in common."""

from __future__ import annotations

import pytest

from inference.core.experiment import Experiment
from inference.core.misfits import common_part

DIV = "vdivps XMM:W, XMM:R, XMM:R"
DIV256 = "vdivps YMM:W, YMM:R, YMM:R"
ADD = "add GPR[64]:RW, GPR[64]:R"


def test_a_scheme_that_all_contain_is_named_with_what_it_takes_here() -> None:
    found = common_part([(Experiment.of({DIV: 2, ADD: 1}), 6.0), (Experiment.of({DIV: 1}), 2.5)])
    assert found is not None
    assert (found.name, found.containing, found.total, found.is_in_all) == (DIV, 2, 2, True)
    assert found.median_cycles == pytest.approx(2.75)


def test_a_mnemonic_stands_for_schemes_that_differ_in_their_operands() -> None:
    found = common_part([(Experiment.of({DIV: 1, ADD: 1}), 3.0), (Experiment.of({DIV256: 1}), 5.0)])
    assert found is not None
    assert (found.name, found.schemes) == ("vdivps", (DIV, DIV256))


def test_a_coincidence_is_nothing_in_common() -> None:
    assert common_part([(Experiment.of({DIV: 1}), 3.0)]) is None
    alone = [(Experiment.of({scheme: 1}), 1.0) for scheme in (DIV, ADD, "imul a", "mov b", "lea c")]
    assert common_part(alone) is None
    assert common_part([]) is None


def test_most_of_them_are_enough_and_are_counted() -> None:
    with_div = [(Experiment.of({DIV: 1, f"s{number} x": 1}), 4.0) for number in range(3)]
    found = common_part([*with_div, (Experiment.of({"other y": 1}), 1.0)])
    assert found is not None
    assert (found.containing, found.total, found.is_in_all) == (3, 4, False)

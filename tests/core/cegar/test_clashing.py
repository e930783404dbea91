"""Measurements that no port mapping explains."""

from __future__ import annotations

import pytest

from inference.core.cegar import CegarProblem, CegarSettings, ClashError, infer
from inference.core.experiment import Experiment, Measured
from inference.measuring.recorded import RecordedMeasurer
from tests.core.pmevo.small import Listener

ZEN_PLUS = [
    ({"add r": 1}, 0.25),
    ({"imul r": 1}, 1.0),
    ({"add r": 4, "imul r": 1}, 1.5),
    ({"load m": 1}, 0.5),
    ({"add r": 1, "load m": 1}, 0.5),
    ({"imul m": 1}, 1.0),
]
"""§6.3.4: together, imul and add are slower than any ports would make them."""


def found(on_clash: str = "stop", listener: Listener | None = None):  # type: ignore[no-untyped-def]
    measured = [Measured(Experiment.of(counts), cycles) for counts, cycles in ZEN_PLUS]
    schemes = tuple(sorted({scheme for counts, _ in ZEN_PLUS for scheme in counts}))
    problem = CegarProblem(schemes, CegarSettings(ports=7, on_clash=on_clash, alternatives=2))
    return infer(problem, RecordedMeasurer(measured), listener or Listener(), 0)


def test_the_smallest_set_that_contradicts_is_told_in_words() -> None:
    with pytest.raises(ClashError) as caught:
        found()
    clash = caught.value.clash
    assert clash.experiments == ((Experiment.of({"add r": 4, "imul r": 1}), 1.5),)
    assert clash.alone == (("add r", 0.25), ("imul r", 1.0))
    assert str(caught.value) == (
        "add r alone 0.25, imul r alone 1, 4*add r; imul r 1.5 cycles: no assignment of 7 ports gives that"
    )
    assert clash.dropped == ()


@pytest.mark.parametrize(
    ("on_clash", "dropped"), [("drop-scheme", ("imul r",)), ("drop-mnemonic", ("imul m", "imul r"))]
)
def test_a_scheme_that_clashes_can_be_left_out(on_clash: str, dropped: tuple[str, ...]) -> None:
    listener = Listener()
    result = found(on_clash, listener)
    assert [clash.dropped for clash in result.clashes] == [dropped]
    assert set(result.mapping.usage) == {"add r", "imul r", "imul m", "load m"} - set(dropped)
    assert "contradiction" in listener.kinds()


def test_each_measurement_of_a_clash_is_needed() -> None:
    measured = [
        Measured(Experiment.of(counts), cycles)
        for counts, cycles in (
            ({"a": 1}, 1.0),
            ({"b": 1}, 1.0),
            ({"c": 1}, 1.0),
            ({"a": 1, "b": 1}, 2.0),
            ({"b": 1, "c": 1}, 2.0),
            ({"a": 1, "c": 1}, 1.0),  # but a and c share the one port of b
        )
    ]
    with pytest.raises(ClashError) as caught:
        infer(CegarProblem(("a", "b", "c"), CegarSettings()), RecordedMeasurer(measured), Listener(), 0)
    clashing = {experiment for experiment, _ in caught.value.clash.experiments}
    assert {m.experiment for m in measured if m.experiment.length == 2} <= clashing

"""Measurements that no port mapping explains."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from inference.core.cegar import CegarProblem, CegarSettings, ClashError, infer
from inference.core.cegar.clashes import minimal_clash
from inference.core.cegar.formula import Formula
from inference.core.cegar.shape import Observation, Shape
from inference.core.errors import InvalidInputError
from inference.core.experiment import Experiment, Measured
from inference.core.mapping import PortMapping
from inference.measuring.recorded import RecordedMeasurer
from inference.measuring.simulated import SimulatedProcessor
from tests.core.pmevo.small import Listener
from tests.drawn import examples

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
        infer(
            CegarProblem(("a", "b", "c"), CegarSettings(on_clash="stop")),
            RecordedMeasurer(measured),
            Listener(),
            0,
        )
    clashing = {experiment for experiment, _ in caught.value.clash.experiments}
    assert {m.experiment for m in measured if m.experiment.length == 2} <= clashing


@examples(15)
@given(st.lists(st.sampled_from([0.5, 1.0, 1.5, 2.0]), min_size=6, max_size=6))
def test_a_clash_is_never_empty_and_can_be_explained_without_any_one_measurement(cycles: list[float]) -> None:
    shape = Shape(("a", "b", "c"), (1, 1, 2), 2, 0.02)
    asked = [{"a": 1}, {"b": 1}, {"c": 1}, {"a": 1, "b": 1}, {"b": 1, "c": 1}, {"a": 2, "c": 1}]
    seen = [Observation.of(shape, Experiment.of(e), t) for e, t in zip(asked, cycles, strict=True)]
    explaining = [
        {k for k, each in enumerate(seen) if each.holds(candidate)}
        for candidate in itertools.product(range(1, 4), repeat=4)
    ]
    assume(set(range(6)) not in explaining)
    clash = {seen.index(each) for each in minimal_clash(shape, seen, 1, 0, lambda: None)}
    assert clash
    assert not any(clash <= explained for explained in explaining)
    assert all(any(clash - {one} <= explained for explained in explaining) for one in clash)


def test_what_is_said_beforehand_may_be_impossible_without_any_measurement() -> None:
    problem = CegarProblem(("a", "b"), CegarSettings(ports=2), widths={"a": 3})
    truth = PortMapping(("0", "1"), {"a": ((0b11, 1),), "b": ((0b01, 1),)})
    with pytest.raises(InvalidInputError, match="whatever is measured"):
        infer(problem, SimulatedProcessor(truth), Listener(), 0)


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({"uops": {"c": 1}}, "not one of the schemes"),
        ({"uops": {"a": 0}}, "1 to"),
        ({"uops": {"a": True}}, "1 to"),
        ({"widths": {"a": 0}}, "ports ≥ 1"),
        ({"uops": {"a": 2}, "widths": {"a": 1}}, "several µops"),
        ({"uops": {"a": 2, "b": 2}, "improper": ("a",)}, "there is none"),
        ({"known": {"c": 1}}, "not one of the schemes"),
        ({"known": {"a": 4}}, "some of 2 ports"),
        ({"known": {"a": 0}}, "some of 2 ports"),
        ({"known": {"a": True}}, "some of 2 ports"),
        ({"known": {"a": 3}, "widths": {"a": 1}}, "not its width"),
        ({"known": {"a": 3}, "uops": {"a": 2}}, "several µops"),
    ],
)
def test_what_cannot_be_known_of_schemes_is_refused(known: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        CegarProblem(("a", "b"), CegarSettings(ports=2), **known)


def test_a_solver_that_names_no_contradiction_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Formula, "satisfiable", lambda self, *assumptions: True)
    monkeypatch.setattr(Formula, "candidate", lambda self: (1, 1, 1, 1))
    monkeypatch.setattr(Formula, "holds", lambda self, literal: True)
    shape = Shape(("a",), (1,), 2, 0.02)
    wrong = [Observation.of(shape, Experiment.of({"a": 1}), 0.5)]
    with pytest.raises(AssertionError, match="does not explain"):
        minimal_clash(shape, wrong, 1, 0, lambda: None)

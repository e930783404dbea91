"""Several sets merged, with every choice, and taken away as files."""

from __future__ import annotations

import pytest

from inference.core.experiment import Experiment, Measured, MeasurementState
from inference.features.library.sets.merging import Conflicts, plan_merging, store_merged
from inference.formats.experiment_csv import write_experiment_csv
from inference.formats.parsing import AnyNames, parse
from inference.formats.problems import ExchangeError
from inference.models import ISA, ExperimentSet
from inference.storage.errors import NameInUseError
from inference.storage.exporting import SET_EXPORTS
from inference.storage.rows import load_measurements, store_measurements
from tests.rows.library import ADD, IMUL, LOAD, isa, scheme

__all__ = ["isa", "scheme"]


def made(isa: ISA, name: str, *measured: Measured) -> ExperimentSet:
    """A set of these."""
    row = ExperimentSet.objects.create(name=name, isa=isa, origin="upload")
    store_measurements(row, measured)
    return row


def seen(cycles: float | None, *schemes: str, **more: object) -> Measured:
    """One measurement."""
    return Measured(Experiment.of(schemes), cycles, **more)  # type: ignore[arg-type]


def failed(*schemes: str) -> Measured:
    """One that gave no number."""
    return seen(None, *schemes, state=MeasurementState.FAILED, note="crashed")


def test_sets_that_cannot_be_merged_are_refused(isa: ISA) -> None:
    first = made(isa, "a", seen(1.0, ADD))
    other = made(ISA.objects.create(name="other"), "b")
    with pytest.raises(ExchangeError, match="one instruction set"):
        plan_merging([first, other], Conflicts.FIRST, 5.0)
    with pytest.raises(ExchangeError, match="once"):
        plan_merging([first, first], Conflicts.FIRST, 5.0)
    with pytest.raises(ExchangeError, match="2 to 20"):
        plan_merging([first], Conflicts.FIRST, 5.0)


@pytest.fixture
def three(isa: ISA) -> list[ExperimentSet]:
    """Sets that agree on an experiment, contradict each other on one, and have some alone."""
    return [
        made(isa, "old", seen(1.0, ADD), seen(2.0, IMUL), seen(2.2, IMUL), seen(5.0, ADD, ADD)),
        made(isa, "middle", seen(1.02, ADD), seen(3.0, IMUL), failed(LOAD), seen(7.0, LOAD, LOAD)),
        made(isa, "new", seen(1.6, IMUL), failed(LOAD), seen(4.0, LOAD)),
    ]


@pytest.mark.parametrize(
    ("conflicts", "kept"),
    [
        (Conflicts.FIRST, [2.0, 2.2]),
        (Conflicts.NEWEST, [1.6]),
        (Conflicts.SMALLEST, [1.6]),
        (Conflicts.MEDIAN, [2.1]),
        (Conflicts.KEEP, [1.6, 2.0, 2.2, 3.0]),
        (Conflicts.LEAVE_OUT, []),
    ],
)
def test_conflicts_are_resolved_as_chosen_and_the_new_set_says_so(
    three: list[ExperimentSet], conflicts: Conflicts, kept: list[float]
) -> None:
    merging = plan_merging(three, conflicts, 5.0)
    row = store_merged("all", three, merging, conflicts, 5.0)
    found: dict[str, list[float | None]] = {}
    for each in load_measurements(row):
        found.setdefault(str(each.experiment), []).append(each.cycles)
    assert sorted(number for number in found.pop(IMUL, []) if number is not None) == pytest.approx(kept)
    # what agrees is taken from the first set, what only one has settled from that one
    assert found == {ADD: [1.0], f"2*{ADD}": [5.0], LOAD: [4.0], f"2*{LOAD}": [7.0]}
    assert row.making == {
        "merged": [{"id": each.pk, "name": each.name} for each in three],
        "conflicts": conflicts.value,
        "tolerance": 5.0,
        "experiments": 5,
        "in_several": 2,
        "conflicting": 1,
        "left_out": int(conflicts is Conflicts.LEAVE_OUT),
    }
    assert all(each.measurements.count() == n for each, n in zip(three, (4, 4, 3), strict=True))


def test_a_tolerance_decides_what_a_conflict_is(three: list[ExperimentSet]) -> None:
    assert plan_merging(three, Conflicts.FIRST, 1.0).conflicting == 2
    assert plan_merging(three, Conflicts.FIRST, 100.0).conflicting == 0


def test_a_taken_name_stops_a_merge_before_anything_is_stored(three: list[ExperimentSet]) -> None:
    merging = plan_merging(three, Conflicts.KEEP, 5.0)
    with pytest.raises(NameInUseError):
        store_merged("old", three, merging, Conflicts.KEEP, 5.0)
    assert ExperimentSet.objects.count() == 3


@pytest.mark.parametrize("key", list(SET_EXPORTS))
def test_an_exported_set_reads_back_the_same(isa: ISA, key: str) -> None:
    measured = [
        seen(1.25, ADD, ADD, IMUL, annotations={"IACA": 1.5}),
        seen(
            0.25, ADD, note="first" if key == "csv" else "", counters={"uops": 1.0} if key == "pmevo" else {}
        ),
        failed(LOAD),
    ]
    row = made(isa, "mine", *measured)
    text = SET_EXPORTS[key].write(row)
    assert "made by" in text
    parsed = parse(text.encode(), "f", AnyNames())
    assert parsed.lines() == []
    assert list(parsed.measured) == measured[:2]


def test_tools_may_be_named_so_that_measurements_are_looked_at_once() -> None:
    once = iter([seen(1.0, ADD, annotations={"x": 2.0}), seen(2.0, IMUL)])
    text = write_experiment_csv(once, tools=["x"])
    assert text.splitlines()[0] == "experiment,cycles,unit,note,tool:x"
    assert len(text.splitlines()) == 3

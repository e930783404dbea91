"""Two sets compared and several merged: against a plain computation, and with every choice."""

from __future__ import annotations

import random
from statistics import mean, median

import pytest

from inference.core.experiment import Experiment, Measured, MeasurementState
from inference.features.library.sets.comparing import (
    TOLERANCES,
    LengthAgreement,
    SetReport,
    compare_sets,
    keep_comparison,
    kept_comparison,
)
from inference.features.library.sets.comparison_query import pairs_of
from inference.features.library.sets.merging import Conflicts, plan_merging, store_merged
from inference.formats.experiment_csv import write_experiment_csv
from inference.formats.parsing import AnyNames, parse
from inference.formats.problems import ExchangeError
from inference.models import ISA, ExperimentSet
from inference.storage.exporting import SET_EXPORTS
from inference.storage.names import NameTakenError
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


def scattered(isa: ISA, name: str, seed: int) -> ExperimentSet:
    """Mixes of three schemes with repeats, some of them in every such set."""
    dice = random.Random(seed)
    found = []
    for adds in range(4):
        for imuls in range(4):
            for loads in range(3):
                if adds + imuls + loads and dice.random() < 0.8:
                    mix = [ADD] * adds + [IMUL] * imuls + [LOAD] * loads
                    times = dice.choice((1, 1, 2, 3))
                    found += [seen(round(len(mix) * dice.uniform(0.9, 1.1), 3), *mix) for _ in range(times)]
    dice.shuffle(found)
    return made(isa, name, *found)


def plain(first: ExperimentSet, second: ExperimentSet) -> dict[Experiment, tuple[float, float]]:
    """The medians of what both have, one by one."""
    numbers: list[dict[Experiment, list[float]]] = [{}, {}]
    for place, row in enumerate((first, second)):
        for each in load_measurements(row):
            if each.usable and each.cycles is not None:
                numbers[place].setdefault(each.experiment, []).append(each.cycles)
    common = numbers[0].keys() & numbers[1].keys()
    return {each: (median(numbers[0][each]), median(numbers[1][each])) for each in common}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_comparison_is_what_one_by_one_gives(isa: ISA, seed: int) -> None:
    first, second = scattered(isa, "a", seed), scattered(isa, "b", seed + 100)
    report = compare_sets(first, second)
    expected = plain(first, second)
    apart = {each: 100 * abs(b - a) / a for each, (a, b) in expected.items()}
    assert report.n == len(expected)
    assert report.median == pytest.approx(median(apart.values()), abs=1e-4)
    assert report.scores.mape == pytest.approx(mean(apart.values()))
    assert report.within == tuple(sum(far <= x for far in apart.values()) for x in TOLERANCES)
    for length in report.lengths:
        those = [far for each, far in apart.items() if each.length == length.length]
        assert (length.n, length.mean) == (len(those), pytest.approx(mean(those), abs=1e-4))
    by_scheme = {each.scheme: each for each in report.schemes}
    for text in (ADD, IMUL, LOAD):
        those = [far for each, far in apart.items() if text in each.schemes]
        assert by_scheme[text].n == len(those)
        assert by_scheme[text].absolute == pytest.approx(mean(those), abs=1e-3)
    assert sum(map(sum, report.heat_map.counts)) + report.heat_map.outside == report.n
    worst = pairs_of(first, second, report.listing.worst)
    assert [abs(each.difference) for each in worst] == pytest.approx(
        sorted(apart.values(), reverse=True)[:50]
    )
    assert {each.experiment: (each.first, each.second) for each in worst}.items() <= expected.items()


def test_shares_within_tolerances_are_per_cent_of_the_experiments_of_a_length() -> None:
    agreement = LengthAgreement(length=3, n=8, mean=2.0, within=(0, 1, 2, 4, 6, 8, 8))
    assert [agreement.share(tolerance) for tolerance in TOLERANCES] == [0, 12.5, 25, 50, 75, 100, 100]


def test_a_kept_comparison_is_the_same_until_a_set_changes(isa: ISA) -> None:
    first, second = scattered(isa, "a", 5), scattered(isa, "b", 6)
    assert kept_comparison(first, second) is None
    kept = keep_comparison(first, second)
    assert kept_comparison(first, second) == SetReport.from_json(kept.report) == compare_sets(first, second)
    store_measurements(second, [seen(9.0, *[ADD] * 9)])
    assert kept_comparison(first, second) is None


def test_sets_without_a_common_experiment_have_nothing_to_say(isa: ISA) -> None:
    report = compare_sets(made(isa, "a", seen(1.0, ADD), failed(IMUL)), made(isa, "b", seen(1.0, IMUL)))
    assert (report.n, report.only, report.median, report.share(5.0)) == (0, (1, 1), None, None)


def test_a_set_is_not_compared_with_itself_nor_with_one_of_another_isa(isa: ISA) -> None:
    first = made(isa, "a", seen(1.0, ADD))
    other = made(ISA.objects.create(name="other"), "b")
    for second, fault in ((first, "with itself"), (other, "different instruction sets")):
        with pytest.raises(ExchangeError, match=fault):
            compare_sets(first, second)
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
    with pytest.raises(NameTakenError):
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

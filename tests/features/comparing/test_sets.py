"""Two experiment sets side by side: against a plain computation, and at every door."""

from __future__ import annotations

import csv
import json
import random
from statistics import mean, median

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from inference.core.experiment import Experiment, Measured, MeasurementState
from inference.features.judging.comparing import sets
from inference.features.judging.comparing.sets import ComparedSets, compared_sets
from inference.features.judging.engine.differences_view import TOLERANCES, Closeness
from inference.features.judging.engine.query import (
    FULL_COMPARISON,
    PredictedExperiment,
    heat_map_of,
    items_in_bin,
)
from inference.formats.problems import ExchangeError
from inference.models import ISA, ExperimentSet, Run
from inference.runs.errors import ConfigError
from inference.runs.lifecycle import submit
from inference.storage.rows import load_measurements, store_measurements
from pmweb.models import Scope
from tests.doors import printed
from tests.rows.library import ADD, IMUL, LOAD, experiment_set, isa, scheme, visitor
from tests.rows.programs import program_of
from tests.work import work_off

__all__ = ["experiment_set", "isa", "scheme", "visitor"]
MAX_QUERIES = 24


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


def compared(first: ExperimentSet, second: ExperimentSet) -> ComparedSets:
    made_now = compared_sets(first, second, at_once=True)
    assert made_now is not None
    return made_now


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_comparison_is_what_single_experiments_give(isa: ISA, seed: int) -> None:
    first, second = scattered(isa, "a", seed), scattered(isa, "b", seed + 100)
    report, expected = compared(first, second), plain(first, second)
    apart = {each: 100 * abs(b - a) / a for each, (a, b) in expected.items()}
    assert report.closeness is not None
    assert report.n == len(expected)
    assert report.figures()["median"] == pytest.approx(median(apart.values()), abs=1e-4)
    assert report.figures()["mape"] == pytest.approx(mean(apart.values()))
    assert report.closeness.within == tuple(sum(far <= x for far in apart.values()) for x in TOLERANCES)
    for length, close in report.lengths.items():
        those = [far for each, far in apart.items() if each.length == length]
        assert (close.n, close.mean) == (len(those), pytest.approx(mean(those), abs=1e-4))
    by_scheme = {each.scheme: each for each in report.schemes}
    for text in (ADD, IMUL, LOAD):
        those = [far for each, far in apart.items() if text in each.schemes]
        assert by_scheme[text].n == len(those)
        assert by_scheme[text].absolute == pytest.approx(mean(those), abs=1e-3)
    heat = heat_map_of(report.question.column, FULL_COMPARISON)
    assert sum(map(sum, heat.counts)) + heat.outside == report.n
    worst = [
        row
        for row in items_in_bin(report.question.column, FULL_COMPARISON, None)[0]
        if isinstance(row, PredictedExperiment)
    ]
    assert [abs(row.difference) for row in worst] == pytest.approx(sorted(apart.values(), reverse=True)[:50])
    pairs = {row.stored.value.experiment: (row.measured, row.predicted) for row in worst}
    assert pairs.items() <= expected.items()


def test_shares_within_tolerances_are_per_cent_of_the_experiments() -> None:
    close = Closeness(n=8, mean=2.0, within=(0, 1, 2, 4, 6, 8, 8))
    assert [close.share(tolerance) for tolerance in TOLERANCES] == [0, 12.5, 25, 50, 75, 100, 100]


def test_a_stored_comparison_counts_until_a_set_changes(isa: ISA) -> None:
    first, second = scattered(isa, "a", 5), scattered(isa, "b", 6)
    anew = compared(first, second)
    assert anew.row.unsaved is not None
    run = work_off(submit("compare-sets", two(first, second), "a run"))
    stored = compared(first, second)
    assert stored.row.run == run
    for name in ("only", "closeness", "lengths", "schemes"):
        assert getattr(stored, name) == getattr(anew, name), name
    assert stored.figures() == anew.figures()
    store_measurements(second, [seen(9.0, *[ADD] * 9)])
    assert compared(first, second).row.unsaved is not None


def test_sets_without_a_common_experiment_have_nothing_to_say(isa: ISA) -> None:
    report = compared(made(isa, "a", seen(1.0, ADD), failed(IMUL)), made(isa, "b", seen(1.0, IMUL)))
    assert (report.n, report.only, report.figures()["median"], report.closeness) == (0, (1, 1), None, None)


def test_a_set_is_not_compared_with_itself_nor_with_one_of_another_isa(isa: ISA) -> None:
    first = made(isa, "a", seen(1.0, ADD))
    other = made(ISA.objects.create(name="other"), "b")
    for second, fault in ((first, "with itself"), (other, "different instruction sets")):
        with pytest.raises(ExchangeError, match=fault):
            compared_sets(first, second)


@pytest.fixture
def again(experiment_set: ExperimentSet) -> ExperimentSet:
    """The same experiments, one of them quite different, and one more."""
    row = ExperimentSet.objects.create(name="again", isa=experiment_set.isa, origin="upload")
    first, second, third = load_measurements(experiment_set)
    assert third.cycles is not None
    store_measurements(
        row,
        [first, second, Measured(third.experiment, third.cycles * 1.3), Measured(Experiment.of([IMUL]), 1.0)],
    )
    return row


def two(first: ExperimentSet, second: ExperimentSet) -> dict[str, int]:
    return {"first": first.pk, "second": second.pk}


def text_of(visitor: Client, name: str, query: dict[str, object] | dict[str, int]) -> str:
    with CaptureQueriesContext(connection) as queries:
        answer = visitor.get(reverse(name), query)
    assert answer.status_code == 200, answer.content
    assert len(queries) <= MAX_QUERIES, [query["sql"][:90] for query in queries]
    return str(answer.content.decode()).replace("\N{NO-BREAK SPACE}", " ")


def test_the_page_leads_from_no_set_to_one_to_two(
    visitor: Client, experiment_set: ExperimentSet, again: ExperimentSet
) -> None:
    assert "No sets chosen" in text_of(visitor, "sets-compare", {})
    assert "Choose the other set" in text_of(visitor, "sets-compare", {"first": again.pk})
    text = text_of(visitor, "sets-compare", two(experiment_set, again))
    assert "66.67 %" in text  # two of three are within 5 %
    assert "+30.0 %" in text
    assert reverse("sets-merge") in text
    assert visitor.get(reverse("sets-compare"), {"first": 99999}).status_code == 404
    assert visitor.get(reverse("sets-compare"), {"first": again.pk, "second": "x"}).status_code == 400


def test_a_bin_of_the_map_lists_its_experiments(
    visitor: Client, experiment_set: ExperimentSet, again: ExperimentSet
) -> None:
    report = compared_sets(experiment_set, again)
    assert report is not None
    counts = heat_map_of(report.question.column, FULL_COMPARISON).counts
    (row, column), *_ = [(r, c) for r in range(35) for c in range(35) if counts[r][c] == 1 and r != c]
    query = {**two(experiment_set, again), "bin": f"{row},{column}"}
    text = text_of(visitor, "sets-compare", query)
    assert "1 of the experiments in this bin" in text
    assert "Largest errors" in text
    assert visitor.get(reverse("sets-compare"), {**query, "bin": "35,0"}).status_code == 400


def test_views_keep_both_sets_and_are_of_the_schemes_that_are_searched(
    visitor: Client, experiment_set: ExperimentSet, again: ExperimentSet
) -> None:
    query: dict[str, object] = {**two(experiment_set, again)}
    text = text_of(visitor, "sets-compare", {**query, "view": "differences"})
    assert f"first={experiment_set.pk}&amp;second={again.pk}&amp;view=within" in text
    csv_address = f"{reverse('sets-compare-csv')}?first={experiment_set.pk}&amp;second={again.pk}"
    assert f"{csv_address}&amp;view=differences" in text
    assert "1 of 3 experiments" in text_of(visitor, "sets-compare", {**query, "q": "imul"})
    assert "0 of 3 experiments" in text_of(visitor, "sets-compare", {**query, "q": "paddb"})
    wrong = visitor.get(reverse("sets-compare"), {**query, "q": "ext:"})
    assert wrong.status_code == 400
    assert 'role="alert"' in wrong.text


@pytest.mark.parametrize(("by", "rows"), [("schemes", 3), ("lengths", 2)])
def test_both_tables_are_files(
    visitor: Client, experiment_set: ExperimentSet, again: ExperimentSet, by: str, rows: int
) -> None:
    answer = visitor.get(reverse("sets-compare-csv"), {**two(experiment_set, again), "by": by})
    assert answer["Content-Type"].startswith("text/csv")
    lines = [line for line in answer.text.splitlines() if not line.startswith("#")]
    assert len(list(csv.reader(lines))) == rows + 1


def test_large_sets_are_compared_by_a_run_once(
    visitor: Client, experiment_set: ExperimentSet, again: ExperimentSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sets, "STORED_FROM", 1)
    query = two(experiment_set, again)
    assert "Not compared yet" in text_of(visitor, "sets-compare", query)
    assert visitor.get(reverse("sets-compare-csv"), query).status_code == 400
    for _ in range(2):  # pressed twice, there is one run
        answer = visitor.post(reverse("sets-compare-start"), query)
        assert answer["Location"].endswith(f"?first={experiment_set.pk}&second={again.pk}")
    (run,) = Run.objects.filter(kind="compare-sets")
    assert f'data-waits-for="{run.pk}"' in text_of(visitor, "sets-compare", query)
    result = {**query, "name": "small and again", "n": 3, "within_5": 66.67}
    assert work_off(run).result.items() >= result.items()
    assert "66.67 %" in text_of(visitor, "sets-compare", query)
    assert reverse("comparison", args=[run.pk]) in visitor.get(reverse("run", args=[run.pk])).text
    assert visitor.get(reverse("comparison", args=[run.pk])).status_code == 200
    assert "small and again" in visitor.get(reverse("comparisons"), {"kind": "compare-sets"}).text


def test_runs_of_earlier_versions_lead_to_where_the_sets_are_compared(
    visitor: Client, experiment_set: ExperimentSet, again: ExperimentSet
) -> None:
    query = two(experiment_set, again)
    run = submit("compare-sets", query, "an old run")
    Run.objects.filter(pk=run.pk).update(state=Run.State.DONE, result={**query, "name": "old", "n": 3})
    page = visitor.get(reverse("run", args=[run.pk])).text
    assert f"{reverse('sets-compare')}?first={experiment_set.pk}&amp;second={again.pk}" in page


@pytest.mark.parametrize(
    ("config", "fault"),
    [
        ({"first": 1}, "second is missing"),
        ({"first": 2**70, "second": 1}, "no experiment set"),
        ({"third": 1}, "no field 'third'"),
    ],
)
def test_descriptions_of_such_runs_are_checked(
    experiment_set: ExperimentSet, config: dict[str, object], fault: str
) -> None:
    with pytest.raises(ConfigError, match=fault):
        submit("compare-sets", config, "a run")


def test_the_api_tells_the_same(
    administrator: User, experiment_set: ExperimentSet, again: ExperimentSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = program_of(administrator, Scope.READ)
    path = f"/sets/{experiment_set.pk}/comparisons/{again.pk}"
    found = program.get(path)
    assert (found["n"], found["only_second"], found["median"]) == (3, 1, 0.0)
    assert {each["tolerance"]: each["n"] for each in found["within"]}[5.0] == 2
    worst = program.get(f"{path}/experiments")[0]
    assert (worst["experiment"], round(worst["difference"])) == (f"3*{LOAD}", 30)
    assert program.get(f"{path}/schemes")["items"][0]["scheme"] == LOAD
    assert program("GET", f"{path}/experiments?row=1")[0] == 422
    itself = program("GET", f"/sets/{again.pk}/comparisons/{again.pk}")
    assert itself[0] == 422
    monkeypatch.setattr(sets, "STORED_FROM", 1)
    status, problem = program("GET", path)
    assert status == 409
    assert "compare-sets" in problem["problems"][0]["right"]


def test_the_shell_compares(experiment_set: ExperimentSet, again: ExperimentSet) -> None:
    out = printed("compare-sets", "small", "again")
    assert "3 experiments in both sets, 0 only in 'small', 1 only in 'again'" in out
    assert "66.7 % within 5 %" in out
    answer = json.loads(printed("compare-sets", "small", "again", "--json"))
    assert (answer["first"], answer["only_second"], answer["within"]["5.0"]) == ("small", 1, 2)
    assert set(answer["lengths"]["1"]) == {"n", "mean", "within"}
    assert answer["schemes"][0]["scheme"] == LOAD
    with pytest.raises(CommandError, match="itself"):
        call_command("compare-sets", "small", "small")

"""Pages on which experiment sets are compared, merged and taken away, and how often they ask the database."""

from __future__ import annotations

import csv

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from inference.core.experiment import Experiment, Measured
from inference.features.library.sets import comparison_query
from inference.models import ExperimentSet, Run
from inference.runs.errors import ConfigError
from inference.runs.lifecycle import submit
from inference.storage.rows import load_measurements, store_measurements
from pmweb.models import Scope
from tests.doors import printed
from tests.rows.library import ADD, IMUL, LOAD, experiment_set, isa, visitor
from tests.rows.programs import program_of
from tests.work import work_off

__all__ = ["experiment_set", "isa", "visitor"]
MOST_QUERIES = 20


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
    assert len(queries) <= MOST_QUERIES, [query["sql"][:90] for query in queries]
    return str(answer.content.decode()).replace("\N{NO-BREAK SPACE}", " ")


def test_the_page_leads_from_no_set_to_one_to_two(
    visitor: Client, experiment_set: ExperimentSet, again: ExperimentSet
) -> None:
    assert "Which sets?" in text_of(visitor, "sets-compare", {})
    assert "With which other set?" in text_of(visitor, "sets-compare", {"first": again.pk})
    text = text_of(visitor, "sets-compare", two(experiment_set, again))
    assert "66.67 %" in text  # two of three are within 5 %
    assert "100.00 %" in text_of(visitor, "sets-compare", {**two(experiment_set, again), "within": "50"})
    assert "+30.0 %" in text
    assert reverse("sets-merge") in text
    assert visitor.get(reverse("sets-compare"), {"first": 99999}).status_code == 404
    assert visitor.get(reverse("sets-compare"), {"first": again.pk, "second": "x"}).status_code == 400


def test_a_bin_of_the_map_lists_its_experiments(
    visitor: Client, experiment_set: ExperimentSet, again: ExperimentSet
) -> None:
    report = comparison_query.report_at_hand(experiment_set, again)
    assert report is not None
    counts = report.heat_map.counts
    (row, column), *_ = [(r, c) for r in range(35) for c in range(35) if counts[r][c] == 1 and r != c]
    query = {**two(experiment_set, again), "bin": f"{row},{column}"}
    text = text_of(visitor, "sets-compare", query)
    assert "1 experiment in this bin" in text
    assert "Largest differences" in text
    assert visitor.get(reverse("sets-compare"), {**query, "bin": "35,0"}).status_code == 400


def test_schemes_are_searched_and_sorted(
    visitor: Client, experiment_set: ExperimentSet, again: ExperimentSet
) -> None:
    query: dict[str, object] = {**two(experiment_set, again)}
    assert "1 of 3 schemes" in text_of(visitor, "sets-compare", {**query, "q": "imul"})
    assert "No scheme of these experiments" in text_of(visitor, "sets-compare", {**query, "q": "paddb"})
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
    monkeypatch.setattr(comparison_query, "KEPT_FROM", 1)
    query = two(experiment_set, again)
    assert "Not compared yet" in text_of(visitor, "sets-compare", query)
    assert visitor.get(reverse("sets-compare-csv"), query).status_code == 400
    for _ in range(2):  # pressed twice, there is one run
        answer = visitor.post(reverse("sets-compare-start"), query)
        assert answer["Location"].endswith(f"?first={experiment_set.pk}&second={again.pk}")
    (run,) = Run.objects.filter(kind="compare-sets")
    assert f'data-waits-for="{run.pk}"' in text_of(visitor, "sets-compare", query)
    assert work_off(run).result == {**query, "name": "small and again", "n": 3, "within_5": 66.67}
    assert "66.67 %" in text_of(visitor, "sets-compare", query)
    runs = visitor.get(reverse("run", args=[run.pk])).text
    assert f"first={experiment_set.pk}&amp;second={again.pk}" in runs


def merging(one: ExperimentSet, leading: ExperimentSet) -> dict[str, object]:
    """The form that makes one set of two."""
    return {
        "sets": [one.pk, leading.pk],
        "leading": leading.pk,
        "name": "both",
        "conflicts": "first",
        "tolerance": "5",
        "note": "",
    }


def test_sets_are_merged_as_chosen_and_the_new_one_tells_of_it(
    visitor: Client, experiment_set: ExperimentSet, again: ExperimentSet
) -> None:
    form = visitor.get(reverse("sets-merge"), {"set": [again.pk, experiment_set.pk]})
    assert form.context["form"].initial["name"] == "again and small"
    answer = visitor.post(reverse("sets-merge"), merging(experiment_set, again))
    run = Run.objects.get(kind="merge-sets")
    assert answer["Location"] == reverse("run", args=[run.pk])
    assert run.config["sets"] == [again.pk, experiment_set.pk], "the leading one comes first"
    assert work_off(run).state == "done", run.error
    made = ExperimentSet.objects.get(name="both")
    assert made.run == run
    cycles = {str(each.experiment): each.cycles for each in load_measurements(made)}
    assert cycles[f"3*{LOAD}"] == pytest.approx(1.95)
    assert len(cycles) == 4
    page = visitor.get(reverse("set", args=[made.pk])).text
    assert "Merged from" in page
    assert "take the set that is named first" in page


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"sets": []}, "This field is required"),
        ({"name": "small"}, "another experiment set is named"),
        ({"tolerance": "-1"}, "greater than or equal to 0"),
        ({"conflicts": "guess"}, "Select a valid choice"),
        ({"leading": ""}, ""),
    ],
)
def test_a_merge_that_cannot_be_is_refused_and_nothing_starts(
    visitor: Client,
    experiment_set: ExperimentSet,
    again: ExperimentSet,
    change: dict[str, object],
    fault: str,
) -> None:
    answer = visitor.post(reverse("sets-merge"), {**merging(experiment_set, again), **change})
    assert answer.status_code == (400 if fault else 302)
    assert Run.objects.exists() == (not fault)
    if fault:
        assert fault in answer.text


@pytest.mark.parametrize(
    ("kind", "config", "fault"),
    [
        ("compare-sets", {"first": 1}, "second is missing"),
        ("compare-sets", {"first": 2**70, "second": 1}, "no experiment set"),
        ("compare-sets", {"third": 1}, "no field 'third'"),
        ("merge-sets", {"sets": "ab"}, "a list of ids"),
        ("merge-sets", {"sets": [True, 1]}, "a list of ids"),
        ("merge-sets", {"sets": [1, 2], "tolerance": "5"}, "tolerance must be a number"),
        ("merge-sets", {"sets": [1, 2], "conflicts": ["first"]}, "conflicts must be"),
        ("merge-sets", {"sets": [1, 2], "name": 3}, "name must be a text"),
    ],
)
def test_descriptions_of_such_runs_are_checked(
    experiment_set: ExperimentSet, kind: str, config: dict[str, object], fault: str
) -> None:
    with pytest.raises(ConfigError, match=fault):
        submit(kind, config, "a run")


def test_a_set_cannot_be_deleted_while_a_run_merges_it(
    visitor: Client, experiment_set: ExperimentSet, again: ExperimentSet
) -> None:
    run = submit("merge-sets", {"sets": [experiment_set.pk, again.pk], "name": "both"}, "a merge")
    visitor.post(reverse("set-delete", args=[again.pk]))
    assert ExperimentSet.objects.filter(pk=again.pk).exists()
    work_off(run)
    visitor.post(reverse("set-delete", args=[again.pk]))
    assert not ExperimentSet.objects.filter(pk=again.pk).exists()
    assert "again" in visitor.get(reverse("set", args=[ExperimentSet.objects.get(name="both").pk])).text


@pytest.mark.parametrize("key", ["csv", "pmevo"])
def test_a_set_is_taken_away_as_a_file(visitor: Client, experiment_set: ExperimentSet, key: str) -> None:
    page = visitor.get(reverse("set", args=[experiment_set.pk])).text
    url = f"{reverse('set-export', args=[experiment_set.pk])}?format={key}"
    assert url in page
    answer = visitor.get(url)
    assert 'filename="small.' in answer["Content-Disposition"]
    assert ADD in answer.text


def test_the_shell_compares_and_merges(experiment_set: ExperimentSet, again: ExperimentSet) -> None:
    out = printed("compare-sets", "small", "again")
    assert "3 experiments in both sets, 0 only in 'small', 1 only in 'again'" in out
    assert "66.7 % within 5 %" in out
    out = printed("merge-sets", "both", "small", "again", "--conflicts", "leave-out")
    assert "4 experiments, 3 of them in several sets, 1 with different numbers" in out
    assert ExperimentSet.objects.get(name="both").making["left_out"] == 1
    with pytest.raises(CommandError, match="itself"):
        call_command("compare-sets", "small", "small")
    with pytest.raises(CommandError, match="2 to 20"):
        call_command("merge-sets", "one", "small")


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
    monkeypatch.setattr(comparison_query, "KEPT_FROM", 1)
    status, problem = program("GET", path)
    assert status == 409
    assert "compare-sets" in problem["problems"][0]["right"]

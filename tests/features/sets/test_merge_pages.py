"""Pages and commands by which experiment sets are merged and taken away."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from inference.core.experiment import Experiment, Measured
from inference.models import ExperimentSet, Run
from inference.runs.errors import ConfigError
from inference.runs.lifecycle import submit
from inference.storage.rows import load_measurements, store_measurements
from tests.doors import printed
from tests.rows.library import ADD, IMUL, LOAD, experiment_set, isa, visitor
from tests.work import work_off

__all__ = ["experiment_set", "isa", "visitor"]


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
    assert "take the first set" in page


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


def test_the_shell_merges(experiment_set: ExperimentSet, again: ExperimentSet) -> None:
    out = printed("merge-sets", "both", "small", "again", "--conflicts", "leave-out")
    assert "4 experiments, 3 of them in several sets, 1 with different numbers" in out
    assert ExperimentSet.objects.get(name="both").making["left_out"] == 1
    with pytest.raises(CommandError, match="2 to 20"):
        call_command("merge-sets", "one", "small")

"""The start page and the recorded example."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from inference.models import ISA, Evaluation, ExperimentSet, PortMapping, Run


def _steps(answer: object) -> dict[str, bool]:
    return {step.button: step.done for step in answer.context["checklist"]}  # type: ignore[attr-defined]


def test_a_fresh_site_shows_the_first_steps_and_nothing_else(visitor: Client, db: None) -> None:
    answer = visitor.get(reverse("start"))
    assert _steps(answer) == {"Load the example": False, "Upload": False, "Infer": False}
    assert "Newest port mappings" not in answer.text
    for name in ("example", "upload", "infer"):
        assert reverse(name) in answer.text


def test_the_next_step_is_marked_and_taken_ones_are_done(
    visitor: Client, experiment_set: ExperimentSet
) -> None:
    ExperimentSet.objects.update(origin="example")
    answer = visitor.get(reverse("start"))
    assert _steps(answer) == {"Load the example": True, "Upload": False, "Infer": False}
    assert [step.button for step in answer.context["checklist"] if step.next] == ["Upload"]
    assert answer.text.index("First steps") < answer.text.index("Newest port mappings")
    assert reverse("example") not in answer.text


def test_the_checklist_goes_when_all_is_done(
    visitor: Client, experiment_set: ExperimentSet, mapping: PortMapping, isa: ISA
) -> None:
    ExperimentSet.objects.create(name="example", isa=isa, origin="example")
    PortMapping.objects.update(origin="run")
    answer = visitor.get(reverse("start"))
    assert answer.context["checklist"] == []
    assert "First steps" not in answer.text


def test_the_overview_shows_the_newest_of_everything_in_few_queries(
    visitor: Client,
    isa: ISA,
    mapping: PortMapping,
    experiment_set: ExperimentSet,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    for number in range(12):
        Run.objects.create(name=f"run {number}", kind="infer", state="done")
        ExperimentSet.objects.create(name=f"set {number}", isa=isa, origin="upload")
    waiting = Run.objects.create(name="waiting", kind="infer", pk=1000)
    Run.objects.create(name="later but done", kind="infer", state="done", pk=1001)
    Evaluation.objects.create(mapping=mapping, experiment_set=experiment_set, n=3, mape=9.55, pearson=0.913)
    with django_assert_max_num_queries(8):
        answer = visitor.get(reverse("start"))
    seen = answer.context["seen"]
    assert seen.runs[0] == waiting
    assert [row.name for row in seen.sets][:2] == ["set 11", "set 10"]
    assert "9.55" in answer.text
    assert "0.913" in answer.text


def test_a_mapping_that_was_not_evaluated_says_so(visitor: Client, mapping: PortMapping) -> None:
    assert "not evaluated yet" in visitor.get(reverse("start")).text


def test_the_example_is_loaded_once_however_often_it_is_asked_for(visitor: Client, db: None) -> None:
    for _ in range(2):
        answer = visitor.post(reverse("example"))
        mapping = PortMapping.objects.get()
        assert answer["Location"] == reverse("mapping", args=[mapping.pk])
    assert ExperimentSet.objects.filter(origin="example").count() == 2
    assert "simulated" in " ".join(ExperimentSet.objects.values_list("name", flat=True))


@pytest.mark.parametrize("name", ["example", "upload-import-all"])
def test_what_changes_something_is_not_done_by_a_link(visitor: Client, db: None, name: str) -> None:
    assert visitor.get(reverse(name)).status_code == 405

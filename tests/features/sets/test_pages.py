"""Experiment sets: list, page, renaming, deleting."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from inference.core.experiment import Experiment, Measured, MeasurementState
from inference.isa.targets import RISCV, target_of
from inference.models import ISA, Evaluation, ExperimentSet, Machine, PortMapping, Run
from inference.storage.instruction_sets import store_isa
from inference.storage.rows import store_measurements
from tests.rows.library import ADD, IMUL


def test_the_list_shows_name_count_and_note(visitor: Client, experiment_set: ExperimentSet) -> None:
    ExperimentSet.objects.update(note="distrust the third row")
    answer = visitor.get(reverse("sets"))
    (row,) = answer.context["page"].rows
    assert row.measurement_count == 3
    assert "distrust the third row" in answer.text


def test_the_list_takes_the_same_number_of_queries_for_many_sets(
    visitor: Client, isa: ISA, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(30):
        row = ExperimentSet.objects.create(name=f"set {number}", isa=isa, origin="upload")
        store_measurements(row, [Measured(Experiment.of({ADD: 1}), 1.0)])
    with django_assert_max_num_queries(4):
        answer = visitor.get(reverse("sets"), {"sort": "name"})
    assert len(answer.context["page"].rows) == 30


def test_the_list_filters_by_name_or_note(visitor: Client, isa: ISA) -> None:
    ExperimentSet.objects.create(name="Skylake", isa=isa, origin="upload")
    ExperimentSet.objects.create(name="Zen", isa=isa, origin="upload", note="not a Skylake")
    ExperimentSet.objects.create(name="A72", isa=isa, origin="upload")
    answer = visitor.get(reverse("sets"), {"q": "skylake"})
    assert {row.name for row in answer.context["page"].rows} == {"Skylake", "Zen"}
    assert "has “xyz” in its name" in visitor.get(reverse("sets"), {"q": "xyz"}).text


def _cycles(answer: object) -> list[float | None]:
    return [row.stored.value.cycles for row in answer.context["rows"]]  # type: ignore[attr-defined]


def test_a_set_shows_its_numbers_and_its_measurements(
    visitor: Client,
    experiment_set: ExperimentSet,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    with django_assert_max_num_queries(14):
        answer = visitor.get(reverse("set", args=[experiment_set.pk]))
    assert _cycles(answer) == [0.25, 1.02, 1.5]
    summary = answer.context["summary"]
    assert (summary.measurements, summary.schemes, summary.lengths) == (3, 3, (1, 3))
    assert (summary.least, summary.most) == (0.25, 1.5)
    assert answer.context["tools"] == ["llvm-mca"]
    assert "two ports" in answer.text
    assert "0.340" in answer.text  # 1.02 cycles for three instructions


@pytest.mark.parametrize(
    ("query", "cycles"),
    [
        ({"sort": "-cycles"}, [1.5, 1.02, 0.25]),
        ({"sort": "length"}, [0.25, 1.02, 1.5]),
        ({"q": "imul"}, [1.02]),
        ({"q": "add"}, [0.25, 1.02]),
        ({"length": "3"}, [1.02, 1.5]),
        ({"length": "3", "q": "memory:R"}, [1.5]),
        ({"state": "failed"}, []),
    ],
)
def test_measurements_sort_and_filter_by_the_address(
    visitor: Client, experiment_set: ExperimentSet, query: dict[str, str], cycles: list[float]
) -> None:
    answer = visitor.get(reverse("set", args=[experiment_set.pk]), query)
    assert answer.status_code == 200
    assert _cycles(answer) == cycles


@pytest.mark.parametrize(
    "query",
    [
        "length=x",
        "length=-1",
        "length=" + "9" * 30,
        "length=²",
        "state=odd",
        "q=foo:bar",
        "page=%01&sort=cycles",
    ],
)
def test_a_strange_address_is_explained_and_never_a_server_error(
    visitor: Client, experiment_set: ExperimentSet, query: str
) -> None:
    answer = visitor.get(f"{reverse('set', args=[experiment_set.pk])}?{query}")
    assert answer.status_code == (200 if query.startswith("page") else 400)


def test_measurements_that_are_not_settled_are_told_apart(
    visitor: Client, experiment_set: ExperimentSet
) -> None:
    failed = Measured(Experiment.of({IMUL: 1}), None, state=MeasurementState.FAILED, note="crashed")
    store_measurements(experiment_set, [failed])
    answer = visitor.get(reverse("set", args=[experiment_set.pk]), {"state": "failed"})
    assert _cycles(answer) == [None]
    assert "crashed" in answer.text
    assert '<span class="badge failed">' in answer.text


def test_a_set_lists_the_mappings_that_predict_it(
    visitor: Client, experiment_set: ExperimentSet, mapping: PortMapping
) -> None:
    Evaluation.objects.create(
        mapping=mapping, experiment_set=experiment_set, n=3, mape=12.5, pearson=0.9, kendall=None
    )
    page = visitor.get(reverse("set", args=[experiment_set.pk])).text
    assert "three ports" in page
    assert "12.50" in page
    assert "0.900" in page


def test_an_empty_set_says_so(visitor: Client, isa: ISA) -> None:
    row = ExperimentSet.objects.create(name="empty", isa=isa, origin="run")
    assert "This set is empty" in visitor.get(reverse("set", args=[row.pk])).text


def test_a_set_is_renamed_and_noted(visitor: Client, experiment_set: ExperimentSet) -> None:
    url = reverse("set-edit", args=[experiment_set.pk])
    assert 'value="small"' in visitor.get(url).text
    answer = visitor.post(url, {"name": " smaller ", "note": "a\nb"})
    assert answer.status_code == 302
    assert answer["Location"] == reverse("set", args=[experiment_set.pk])
    experiment_set.refresh_from_db()
    assert (experiment_set.name, experiment_set.note.split()) == ("smaller", ["a", "b"])


def test_a_name_in_use_is_refused_with_a_free_one(
    visitor: Client, experiment_set: ExperimentSet, isa: ISA
) -> None:
    ExperimentSet.objects.create(name="taken", isa=isa, origin="upload")
    answer = visitor.post(reverse("set-edit", args=[experiment_set.pk]), {"name": "taken", "note": "kept"})
    assert answer.status_code == 400
    assert "taken (2)" in answer.text
    assert ">\nkept</textarea>" in answer.text
    experiment_set.refresh_from_db()
    assert experiment_set.name == "small"


@pytest.mark.parametrize("name", ["", "   ", "x" * 201, "a\0b"])
def test_an_impossible_name_is_refused(visitor: Client, experiment_set: ExperimentSet, name: str) -> None:
    answer = visitor.post(reverse("set-edit", args=[experiment_set.pk]), {"name": name, "note": ""})
    assert answer.status_code == 400
    experiment_set.refresh_from_db()
    assert experiment_set.name == "small"


def test_names_and_notes_are_escaped_everywhere(visitor: Client, experiment_set: ExperimentSet) -> None:
    evil = '"><script>alert(1)</script>'
    ExperimentSet.objects.update(name=evil, note=evil, source=evil)
    pk = [experiment_set.pk]
    for url in (
        reverse("start"), reverse("sets"), reverse("set", args=pk), reverse("set-edit", args=pk),
        reverse("set-delete", args=pk), reverse("sets") + "?q=" + "%22%3E%3Cscript%3Ealert(1)",
    ):  # fmt: skip
        page = visitor.get(url).text
        assert "alert(1)" in page
        assert "<script>alert" not in page


def test_deleting_shows_what_depends_on_the_set_and_then_removes_it(
    visitor: Client, experiment_set: ExperimentSet, mapping: PortMapping
) -> None:
    Evaluation.objects.create(mapping=mapping, experiment_set=experiment_set, n=3)
    url = reverse("set-delete", args=[experiment_set.pk])
    page = visitor.get(url).text
    assert "3 measurements" in page
    assert "1 evaluation" in page
    assert ExperimentSet.objects.count() == 1
    answer = visitor.post(url, follow=True)
    assert "has been deleted" in answer.text
    assert not ExperimentSet.objects.exists()
    assert not Evaluation.objects.exists()
    assert PortMapping.objects.exists()


def test_a_set_that_an_unfinished_run_needs_is_not_deleted(
    visitor: Client, experiment_set: ExperimentSet
) -> None:
    Run.objects.create(name="learning", kind="infer", config={"source": {"datasets": [experiment_set.pk]}})
    answer = visitor.post(reverse("set-delete", args=[experiment_set.pk]))
    assert answer.status_code == 409
    assert "1 unfinished run" in answer.text
    assert ExperimentSet.objects.exists()


@pytest.mark.parametrize("name", ["set", "set-edit", "set-delete"])
def test_a_set_that_is_gone_is_a_404(visitor: Client, db: None, name: str) -> None:
    assert visitor.get(reverse(name, args=[4711])).status_code == 404


@pytest.fixture
def on_machine(isa: ISA) -> ExperimentSet:
    """What a machine measured, in every state there is."""
    machine = Machine.objects.create(name="lab", kind="agent", isa=isa, cpu="AMD EPYC")
    row = ExperimentSet.objects.create(
        name="measured",
        isa=isa,
        machine=machine,
        origin="run",
        identity={"kind": "machine", "harness": "0.1.0", "settings": {"max_passes": 7}},
    )
    results = [
        Measured(Experiment.of({ADD: 1}), 0.25, spread=0.0012, passes=3),
        Measured(Experiment.of({IMUL: 1}), 1.3, MeasurementState.UNSETTLED, spread=0.4, passes=7),
        Measured(Experiment.of({ADD: 1, IMUL: 1}), 2.0, MeasurementState.CONTENDED, passes=7),
        Measured(Experiment.of({ADD: 2}), None, MeasurementState.FAILED, passes=0, note="does not end"),
    ]
    store_measurements(row, results)
    return row


def test_a_set_says_how_many_measurements_are_in_which_state_and_what_that_means(
    visitor: Client, on_machine: ExperimentSet
) -> None:
    page = visitor.get(reverse("set", args=[on_machine.pk])).text
    for state in MeasurementState:
        assert f'<span class="badge {state}">{state}</span> <span class="num">1</span>' in page
    for words in ("passes disagree; not used", "does not end", "0.001", "Spread", "Passes"):
        assert words in page


def test_a_set_leads_to_its_machine_and_tells_how_it_was_measured(
    visitor: Client, on_machine: ExperimentSet
) -> None:
    answer = visitor.get(reverse("set", args=[on_machine.pk]))
    assert reverse("machine", args=[on_machine.machine_id]) in answer.text
    assert answer.context["harness"] == [
        ("Kind", "machine"),
        ("Harness", "0.1.0"),
        ("Most passes", "7"),
    ]
    assert "How it was measured" in answer.text


def test_a_set_of_single_numbers_has_no_column_for_spread_and_passes(
    visitor: Client, experiment_set: ExperimentSet
) -> None:
    page = visitor.get(reverse("set", args=[experiment_set.pk])).text
    assert "Spread" not in page
    assert "How it was measured" not in page


def test_vectors_show_how_their_times_grow_with_the_group(visitor: Client, db: None) -> None:
    adds = [f"vadd.vv VR[e8,m{size}]:W, VR[e8,m{size}]:R, VR[e8,m{size}]:R" for size in (1, 2, 4, 8)]
    schemes = [entry for text in adds if (entry := target_of(RISCV).schemes.scheme_of(text)) is not None]
    row = ExperimentSet.objects.create(
        name="vectors", isa=store_isa(RISCV, schemes, "a test"), origin="upload"
    )
    times = zip(adds, (1.0, 2.0, 4.0, 8.0), strict=True)
    store_measurements(row, [Measured(Experiment.of({text: 1}), cycles) for text, cycles in times])
    answer = visitor.get(reverse("set", args=[row.pk]))
    assert "Proportional: 1" in answer.text
    assert "1/2/4/8" in answer.text
    shown = visitor.get(f"/api/v1/sets/{row.pk}/register-groups").json()
    cycles = {"1": 1.0, "2": 2.0, "4": 4.0, "8": 8.0}
    assert shown == [{"scheme": adds[0], "cycles": cycles, "law": "proportional"}]


def test_sets_of_other_instruction_sets_have_no_groups(
    visitor: Client, experiment_set: ExperimentSet
) -> None:
    assert "Groups of registers" not in visitor.get(reverse("set", args=[experiment_set.pk])).text
    assert visitor.get(f"/api/v1/sets/{experiment_set.pk}/register-groups").json() == []

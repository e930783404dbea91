"""The start page and the recorded example."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from anica_app.models import Campaign, CampaignPredictor, Discovery
from inference.models import (
    ISA,
    Evaluation,
    ExperimentSet,
    Machine,
    PortMapping,
    Predictor,
    Run,
    StoredCoreModel,
)

MEASURE = "Measure this computer"
PORTS = "Find ports (quick)"
EXPLAIN = "Show the evidence"
KNOW = "Profile this CPU"


def _steps(answer: object) -> dict[str, bool]:
    return {step.button: step.done for step in answer.context["checklist"]}  # type: ignore[attr-defined]


def test_a_fresh_site_shows_the_first_steps_and_nothing_else(visitor: Client, db: None) -> None:
    answer = visitor.get(reverse("start"))
    assert _steps(answer) == {
        MEASURE: False,
        PORTS: False,
        EXPLAIN: False,
        "Load the example": False,
        "Upload": False,
        "Infer": False,
        "Compare tools": False,
    }
    assert "Newest port mappings" not in answer.text
    for name in ("example", "upload", "infer"):
        assert reverse(name) in answer.text


def test_the_next_step_is_marked_and_taken_ones_are_done(
    visitor: Client, experiment_set: ExperimentSet
) -> None:
    ExperimentSet.objects.update(origin="example")
    answer = visitor.get(reverse("start"))
    assert _steps(answer) == {
        MEASURE: False,
        PORTS: False,
        EXPLAIN: False,
        "Load the example": True,
        "Upload": False,
        "Infer": False,
        "Compare tools": False,
    }
    steps = answer.context["checklist"]
    assert [step.button for step in steps if step.next] == ["Compare tools"]
    (example,) = [step for step in steps if step.done]
    assert example.result == reverse("set", args=[experiment_set.pk])
    assert f'href="{example.result}">Open result' in answer.text
    assert answer.text.index("Newest port mappings") < answer.text.index("First steps")
    assert reverse("example") not in answer.text


def test_the_checklist_goes_when_all_is_done(
    visitor: Client, experiment_set: ExperimentSet, mapping: PortMapping, isa: ISA
) -> None:
    ExperimentSet.objects.create(name="example", isa=isa, origin="example")
    PortMapping.objects.update(origin="run")
    for kind in ("ask", "comparison"):
        Run.objects.create(name=kind, kind=kind, state="done")
    answer = visitor.get(reverse("start"))
    assert answer.context["checklist"] == []
    assert "First steps" not in answer.text


@pytest.fixture
def here(isa: ISA) -> Machine:
    """This computer, with its agent connected."""
    return Machine.objects.create(
        name="here",
        kind="agent",
        isa=isa,
        local=True,
        cpu="AMD EPYC",
        facts={"vendor": "AuthenticAMD", "family": 25, "model": 1},
        state="idle",
        session=1,
        last_seen=timezone.now(),
    )


def test_the_door_of_this_cpu_has_a_button_until_it_is_profiled(
    visitor: Client, here: Machine, mapping: PortMapping
) -> None:
    form = reverse("know", args=[here.pk])
    page = visitor.get(reverse("start")).text
    assert f'href="{form}">{KNOW}</a>' in page
    run = Run.objects.create(name="profile", kind="know", config={"machine": here.pk})
    page = visitor.get(reverse("start")).text
    assert f'href="{reverse("run", args=[run.pk])}">Watch the profile</a>' in page
    assert f'href="{form}"' not in page
    Run.objects.update(state="done")
    core = StoredCoreModel.objects.create(name="Zen 3", isa=here.isa, machine=here, mapping=mapping)
    page = visitor.get(reverse("start")).text
    assert f'href="{reverse("core-model", args=[core.pk])}">Open its core model</a>' in page
    assert f'href="{form}">Profile again</a>' in page
    assert "Zen 3 (AMD EPYC), this computer" in page


def test_cores_come_with_the_site(visitor: Client, experiment_set: ExperimentSet) -> None:
    page = visitor.get(reverse("start"))
    recorded = [cpu for cpu in page.context["cores"] if cpu.is_recorded]
    assert recorded
    assert all(f">{cpu.label}</a> <span" in page.text for cpu in recorded)


def test_the_first_step_is_to_measure_this_computer(visitor: Client, here: Machine) -> None:
    answer = visitor.get(reverse("start"))
    (step,) = [step for step in answer.context["checklist"] if step.next]
    assert step.button == MEASURE
    assert f'<form method="post" action="{reverse("measure-this-computer")}">' in answer.text
    assert "Zen 3 · AMD EPYC" in answer.text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"local": False}, "without --no-agent"),
        ({"last_seen": None}, "is not connected"),
        ({"state": "unfit", "state_note": "measuring needs Linux"}, "measuring needs Linux"),
    ],
)
def test_where_this_computer_cannot_be_measured_words_stand_for_the_button(
    visitor: Client, here: Machine, changes: dict[str, object], words: str
) -> None:
    Machine.objects.update(**changes)
    answer = visitor.get(reverse("start"))
    assert words in answer.text
    assert reverse("measure-this-computer") not in answer.text
    (step,) = [step for step in answer.context["checklist"] if step.next]
    assert step.button == "Load the example"


def test_a_measurement_under_way_is_watched_and_not_started_again(visitor: Client, here: Machine) -> None:
    run = Run.objects.create(
        name="r", kind="infer", config={"algorithm": "pmevo", "source": {"machine": here.pk}}
    )
    answer = visitor.get(reverse("start"))
    assert reverse("measure-this-computer") not in answer.text
    step = answer.context["checklist"][0]
    assert (step.button, step.url) == ("Watch", reverse("run", args=[run.pk]))


def test_the_form_that_explains_this_computer_is_one_press_away(visitor: Client, here: Machine) -> None:
    (step,) = [step for step in visitor.get(reverse("start")).context["checklist"] if step.button == EXPLAIN]
    assert not step.post
    form = visitor.get(step.url).context["form"]
    assert form.offer.key == "explain"
    assert (form["source"].value(), form["machine"].value()) == ("machine", here.pk)
    assert form["selection"].value() == "default"


def test_machines_that_are_online_are_listed_and_others_counted(
    visitor: Client, here: Machine, mapping: PortMapping
) -> None:
    Machine.objects.create(name="away", kind="agent", isa=here.isa)
    page = visitor.get(reverse("start")).text
    assert reverse("machine", args=[here.pk]) in page
    assert "1 more is not connected" in page
    Machine.objects.update(last_seen=None)
    assert "None: 2 machines are not connected" in visitor.get(reverse("start")).text


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
    Evaluation.objects.create(mapping=mapping, experiment_set=experiment_set, n=3, mape=9.55)
    with django_assert_max_num_queries(14):
        answer = visitor.get(reverse("start"))
    seen = answer.context["overview"]
    assert seen.runs[0] == waiting
    assert [row.name for row in seen.sets][:2] == ["set 11", "set 10"]
    assert "9.55" in answer.text


def test_a_mapping_that_was_not_evaluated_says_so(visitor: Client, mapping: PortMapping) -> None:
    assert "not evaluated yet" in visitor.get(reverse("start")).text


def test_the_example_is_loaded_once_however_often_it_is_asked_for(visitor: Client, db: None) -> None:
    for _ in range(2):
        answer = visitor.post(reverse("example"))
        mapping = PortMapping.objects.get()
        assert answer["Location"] == reverse("mapping", args=[mapping.pk])
    assert ExperimentSet.objects.filter(origin="example").count() == 3
    (machine,) = Machine.objects.all()
    assert "Zen 4" in machine.name
    assert reverse("machine", args=[machine.pk]) not in visitor.get(reverse("start")).text


@pytest.mark.parametrize("name", ["example", "upload-import-all"])
def test_what_changes_something_is_not_done_by_a_link(visitor: Client, db: None, name: str) -> None:
    assert visitor.get(reverse(name)).status_code == 405


def test_mistakes_that_a_campaign_knows_are_a_press_away(visitor: Client, here: Machine) -> None:
    StoredCoreModel.objects.create(name="core", isa=here.isa, machine=here)
    question = "Where is llvm-mca wrong about this CPU?"
    assert f'{reverse("campaign-new")}?machine={here.pk}">{question}' in visitor.get(reverse("start")).text
    campaign = Campaign.objects.create(name="mistakes", isa=here.isa, kind="campaign", config={})
    sources: list[tuple[str, dict[str, str]]] = [("machine", {"machine": here.name}), ("llvm-mca", {})]
    for position, (kind, options) in enumerate(sources):
        predictor = Predictor.objects.create(
            name=kind, kind=kind, options=options, key=str(position + 7) * 64
        )
        CampaignPredictor.objects.create(campaign=campaign, position=position, predictor=predictor)
    Discovery.objects.create(campaign=campaign, number=0, length=1)
    assert f'{reverse("campaign", args=[campaign.pk])}">{question}' in visitor.get(reverse("start")).text

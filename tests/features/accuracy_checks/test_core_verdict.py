"""How good a core model is: on its page, for programs, and the button that checks it on code."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from inference.features.judging.accuracy_checks.core_verdict import core_verdict
from inference.features.learning.core_model.storing import store_parts
from inference.features.library.gallery.query import recorded_cores
from inference.models import BasicBlockSet, Run, StoredCoreModel
from inference.models import PortMapping as PortMappingRow
from tests.rows.library import visitor
from tests.work import work_off

__all__ = ["visitor"]


@pytest.fixture
def model(wrong_mapping: PortMappingRow) -> StoredCoreModel:
    return store_parts("wrong core", wrong_mapping, None, None)


def verdict_for_programs(visitor: Client, model: StoredCoreModel) -> dict:
    answer = visitor.get(f"/api/v1/core-models/{model.pk}/verdict")
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_nothing_judges_a_model_without_measurements(visitor: Client, model: StoredCoreModel) -> None:
    assert core_verdict(model) is None
    assert verdict_for_programs(visitor, model)["grade"] is None
    page = visitor.get(reverse("core-model", args=[model.pk]))
    assert "Accuracy not checked" in page.text
    assert reverse("upload") in page.text, "there are no blocks yet to check on"
    assert reverse("core-model-check", args=[model.pk]) not in page.text


def test_held_out_mixes_judge_its_ports_alone(visitor: Client, model: StoredCoreModel) -> None:
    assert model.mapping is not None
    model.mapping.report = {"judging": {"n": 90, "off": 9, "error": 3.0, "repeats": 0.5, "schemes": {}}}
    model.mapping.save()
    model.selection = {"mixes": 100, "scores": [], "why": "", "selected": ""}
    model.save()
    verdict = core_verdict(model)
    assert verdict is not None
    assert (verdict.grade, verdict.on_code) == ("good", False)
    assert "off by 3.0 % on average, on 90 held-out mixes" in verdict.text
    assert "measuring once more is off by 0.5 %" in verdict.text
    assert verdict_for_programs(visitor, model)["grade"] == "good"
    model.selection["mixes"] = 300
    model.save()
    verdict = core_verdict(model)
    assert verdict is not None
    assert verdict.grade == "doubtful", "most mixes have no prediction"


@pytest.mark.django_db(transaction=True)  # predictors are asked in threads
def test_the_button_checks_it_on_code(
    visitor: Client, model: StoredCoreModel, block_set: BasicBlockSet
) -> None:
    page, check = reverse("core-model", args=[model.pk]), reverse("core-model-check", args=[model.pk])
    assert check in visitor.get(page).text
    assert visitor.post(check, {"block_set": "all"}).status_code == 400
    refused = visitor.post(check, {"block_set": block_set.pk + 99}, follow=True)
    assert "block_set" in refused.text
    visitor.post(check, {"block_set": block_set.pk})
    run = Run.objects.get(kind="accuracy-check")
    assert run.name in visitor.get(page).text, "it waits for its turn"
    assert work_off(run).state == Run.State.DONE, run.error
    verdict = core_verdict(model)
    assert verdict is not None
    assert verdict.on_code
    assert verdict.address == reverse("comparison", args=[run.pk])
    assert block_set.name in verdict.on
    shown = visitor.get(page).text
    assert f"grade-{verdict.grade}" in shown
    assert check not in shown
    assert verdict_for_programs(visitor, model)["on_code"]


def test_the_recorded_cores_have_theirs(db: None) -> None:
    for core in recorded_cores():
        verdict = core_verdict(core.row)
        assert verdict is not None
        assert verdict.grade == core.grade
        assert core.accuracy in verdict.text

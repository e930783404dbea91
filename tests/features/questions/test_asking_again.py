"""Blocks of a decision asked about once more: the run, its answers on the page, and who may."""

from __future__ import annotations

import pytest
from django.test import Client

from inference.features.asking.predictors.offers import Offer, Offers
from inference.features.asking.questions import form as choosing
from inference.features.asking.questions import job
from inference.features.asking.questions.query import KIND
from inference.models import Predictor, Run
from inference.predictors.protocol import Answer, Failure, PredictorError
from inference.runs import lifecycle
from inference.runs.errors import ConfigError
from tests.anica.features.discoveries.test_pages import discovery, text_of, visitor  # noqa: F401  fixtures
from tests.heads import behind_head
from tests.work import work_off

pytestmark = pytest.mark.django_db


class Short:
    """Says how many bytes a block has; does not know one block."""

    def predict(self, blocks):
        return [
            Answer(failure=Failure.UNSUPPORTED, detail="what is this?")
            if block == bytes.fromhex("4801d8")
            else Answer(cycles=float(len(block)))
            for block in blocks
        ]

    def close(self):
        pass


@pytest.fixture
def rows(monkeypatch):
    """A predictor that works and one that does not."""
    made = [
        Predictor.objects.create(name=name, kind="planted", key=f"{number:064}")
        for number, name in enumerate(("counts bytes", "broken"))
    ]

    def open_planted(row, task=None, *, isa, use_cache=True):
        if row.name == "broken":
            raise PredictorError("its program is gone")
        return Short()

    monkeypatch.setattr(job, "open_predictor", open_planted)
    return made


@pytest.fixture
def offered(monkeypatch, rows):
    """The choice of the form: both of them."""

    found = Offers([Offer(row.name, row.name) for row in rows], [], [], [])
    monkeypatch.setattr(choosing, "offers", lambda: found)


def test_predictors_that_the_campaign_never_saw_answer_beside_its_own(visitor: Client, discovery, offered):  # noqa: F811
    address = f"/discoveries/{discovery.pk}/"
    form = visitor.get(f"{address}ask/?step=3", headers={"X-Part": "form"}).content.decode()
    assert "all 3 blocks" in form
    assert "counts bytes" in form
    asked = visitor.post(f"{address}ask/?step=3", {"predictors": ["counts bytes", "broken"]})
    assert asked.status_code == 302
    run = Run.objects.get(kind=KIND)
    waiting = visitor.get(asked.url).content.decode()
    assert 'data-poll="1.5"' in waiting
    assert "Predictors are being asked" in waiting
    work_off(run)
    assert run.state == "done", run.error
    page = visitor.get(f"{address}?step=3").content.decode()
    assert "data-poll" not in page
    assert "broken: its program is gone" in text_of(page)
    assert page.count('data-label="counts bytes, cycles"') == 3
    assert page.count('data-label="counts bytes, cycles">3.00') == 2
    assert 'title="what is this?">unsupported' in page
    assert "3 blocks, 2 interesting" in text_of(page)
    ordered = visitor.get(f"{address}?step=3&sort=3").content.decode()
    assert ordered.rindex("unsupported") > ordered.rindex('data-label="counts bytes, cycles">3.00')
    table = behind_head(visitor.get(f"{address}blocks.csv?step=3").content.decode())
    assert table.startswith("bb,one,two,counts bytes")
    assert 'data-label="counts bytes, cycles"' not in visitor.get(f"{address}?step=2").content.decode()


def test_the_same_tools_are_asked_again_and_stand_before_and_after(visitor: Client, discovery, rows):  # noqa: F811
    one = discovery.campaign.seats.get(position=0).predictor
    Predictor.objects.filter(pk=one.pk).update(kind="planted", origin="found")
    address = f"/discoveries/{discovery.pk}/"
    assert "Evaluate again" in visitor.get(f"{address}?step=3").content.decode()
    asked = visitor.post(f"{address}again/?step=3")
    assert asked.url == f"{address}?g=0&step=3#step"
    run = Run.objects.get(kind=KIND)
    assert (run.config["predictors"], run.config["anew"]) == ([one.pk], True), "the other came with a file"
    work_off(run)
    page = visitor.get(f"{address}?step=3").content.decode()
    for when in ("before", "after"):
        assert page.count(f'data-label="one, {when}, cycles"') == 3
    assert 'data-label="two, cycles"' in page
    assert "Asked again: one says something else for 3 blocks" in text_of(page)
    table = behind_head(visitor.get(f"{address}blocks.csv?step=3").content.decode())
    assert table.startswith('bb,"one, before",two,"one, after"')


def test_tools_of_a_file_that_are_not_here_cannot_be_asked_again(visitor: Client, discovery, rows):  # noqa: F811
    assert "Evaluate again" not in visitor.get(f"/discoveries/{discovery.pk}/?step=3").content.decode()
    answer = visitor.post(f"/discoveries/{discovery.pk}/again/?step=3", follow=True)
    assert "can be asked here" in answer.content.decode()
    assert not Run.objects.exists()


def test_only_what_is_offered_can_be_asked(visitor, discovery, offered):  # noqa: F811
    address = f"/discoveries/{discovery.pk}/ask/?step=3"
    for chosen in ([], ["command:command=/bin/sh"]):
        answer = visitor.post(address, {"predictors": chosen})
        assert answer.status_code == 400
    assert not Run.objects.exists()


def test_there_is_nothing_to_ask_about_a_decision_without_blocks(visitor, discovery, offered):  # noqa: F811
    assert visitor.get(f"/discoveries/{discovery.pk}/ask/?step=5").status_code == 404
    assert visitor.post(f"/discoveries/{discovery.pk}/again/?step=5").status_code == 404


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"predictors": [], "blocks": ["90"]}, "predictors must be a list of 1 to"),
        ({"predictors": [77], "blocks": ["90"]}, "there is no predictor with the id 77"),
        ({"predictors": [1], "blocks": []}, "blocks must be a list"),
        ({"predictors": [1], "blocks": ["90", "zz"]}, "blocks, number 2"),
        ({"predictors": [1], "blocks": ["90"], "colour": "red"}, "no field 'colour'"),
        ({"predictors": [1], "blocks": ["90"], "about": 3}, "about must be an object"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused_with_what_is_wrong(rows, given, complaint):
    described = {**given, "predictors": [rows[0].pk if pk == 1 else pk for pk in given["predictors"]]}
    with pytest.raises(ConfigError, match=complaint):
        lifecycle.submit(KIND, described, "a question")

"""What the database itself refuses of AnICA's tables."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.db.models import ProtectedError

from anica_app.models import (
    Campaign,
    CampaignFile,
    CampaignPredictor,
    Discovery,
    Generalisation,
    GeneralisationStep,
    SampleBatch,
)
from inference.models import (
    AnswerCache,
    BasicBlock,
    BasicBlockSet,
    BlockColumn,
    Prediction,
    Predictor,
    identity_key,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def rows() -> dict[str, Any]:
    """One valid row of everything, to break one rule at a time."""
    predictor = Predictor.objects.create(name="tool", kind="toy", key="k")
    AnswerCache.objects.create(predictor=predictor, block=b"1", cycles=0.0)
    block_set = BasicBlockSet.objects.create(name="set")
    column = BlockColumn.objects.create(block_set=block_set, position=0, name="tool")
    block = BasicBlock.objects.create(block_set=block_set, position=0, code=b"\x90")
    Prediction.objects.create(block=block, column=column, failure="crash")
    campaign = Campaign.objects.create(name="campaign", origin="run")
    CampaignPredictor.objects.create(campaign=campaign, position=0, predictor=predictor)
    CampaignFile.objects.create(campaign=campaign, path="a", size=0, content=b"")
    discovery = Discovery.objects.create(campaign=campaign, number=0, length=1, interestingness=float("inf"))
    order = Generalisation.objects.create(campaign=campaign, number=0, became="discovery")
    GeneralisationStep.objects.create(generalisation=order, number=0, taken=True)
    SampleBatch.objects.create(campaign=campaign, number=0)
    return {
        "predictor": predictor,
        "block_set": block_set,
        "column": column,
        "block": block,
        "campaign": campaign,
        "discovery": discovery,
        "generalisation": order,
    }


REFUSED: dict[str, tuple[Any, list[str], dict[str, Any]]] = {
    "two predictors of one identity": (Predictor, [], {"name": "other", "kind": "toy", "key": "k"}),
    "a second answer for a block": (AnswerCache, ["predictor"], {"block": b"1", "cycles": 1.0}),
    "an answer that is cycles and failure": (
        AnswerCache,
        ["predictor"],
        {"block": b"2", "cycles": 1.0, "failure": "crash"},
    ),
    "an answer that is neither": (AnswerCache, ["predictor"], {"block": b"2"}),
    "an invented failure": (AnswerCache, ["predictor"], {"block": b"2", "failure": "sulk"}),
    "negative cycles": (Prediction, ["block", "column"], {"cycles": -1.0}),
    "a column twice": (BlockColumn, ["block_set"], {"position": 1, "name": "tool"}),
    "a place twice": (BasicBlock, ["block_set"], {"position": 0, "code": b"\x90"}),
    "a negative weight": (BasicBlock, ["block_set"], {"position": 1, "code": b"\x90", "weight": -1.0}),
    "two answers of a column for a block": (Prediction, ["block", "column"], {"cycles": 1.0}),
    "two tools in one seat": (CampaignPredictor, ["campaign", "predictor"], {"position": 0}),
    "two files of one name": (CampaignFile, ["campaign"], {"path": "a", "size": 0, "content": b""}),
    "a discovery's number twice": (Discovery, ["campaign"], {"number": 0, "length": 1}),
    "a discovery of nothing": (Discovery, ["campaign"], {"number": 1, "length": 0}),
    "a generalisation's number twice": (Generalisation, ["campaign"], {"number": 0, "became": "subsumed"}),
    "a step's number twice": (GeneralisationStep, ["generalisation"], {"number": 0, "taken": False}),
    "more interesting blocks than blocks": (
        GeneralisationStep,
        ["generalisation"],
        {"number": 1, "taken": True, "n": 1, "interesting": 2},
    ),
    "a batch's number twice": (SampleBatch, ["campaign"], {"number": 0}),
    "more interesting blocks in a batch than there are": (
        SampleBatch,
        ["campaign"],
        {"number": 1, "n": 1, "interesting": 2},
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_the_database_refuses(what: str, rows: dict[str, Any]) -> None:
    model, related, values = REFUSED[what]
    before = model.objects.count()
    with pytest.raises(IntegrityError), transaction.atomic():
        model.objects.create(**{name: rows[name] for name in related}, **values)
    assert model.objects.count() == before


def test_a_campaign_takes_everything_of_it_along_but_not_its_tools(rows: dict[str, Any]) -> None:
    rows["campaign"].delete()
    gone = (CampaignFile, CampaignPredictor, Discovery, Generalisation, GeneralisationStep, SampleBatch)
    assert not any(model.objects.exists() for model in gone)
    assert Predictor.objects.count() == 1


def test_a_tool_whose_answers_a_campaign_rests_on_stays(rows: dict[str, Any]) -> None:
    with pytest.raises(ProtectedError):
        rows["predictor"].delete()


def test_infinite_interestingness_survives_the_database(rows: dict[str, Any]) -> None:
    assert Discovery.objects.get(pk=rows["discovery"].pk).interestingness == float("inf")


def test_the_key_of_an_identity_does_not_depend_on_the_order_of_its_fields() -> None:
    assert identity_key({"a": 1, "b": [2]}) == identity_key({"b": [2], "a": 1})
    assert identity_key({"a": 1}) != identity_key({"a": "1"})

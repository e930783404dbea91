"""Runs that compare tools on a set, and that tell how much discoveries explain."""

from __future__ import annotations

import io

import pytest

from anica_app.core.block_domain import BlockDomain
from anica_app.core.domain.settings import DomainSettings
from anica_app.features.matrices import job
from anica_app.models import Campaign, CampaignPredictor, Discovery, SampleBatch
from inference.features.asking.predictors import opening
from inference.features.judging.engine import item_answers
from inference.formats.block_sets import BlockSetOptions
from inference.models import BasicBlockSet, Predictor, Run
from inference.predictors.protocol import Answer, Failure
from inference.predictors.samples import Sample, pack
from inference.runs import lifecycle
from inference.runs.errors import ConfigError
from inference.storage.block_sets import store
from tests.anica.core.search.planted import Decoding, few_schemes, slow_scan
from tests.work import work_off

pytestmark = pytest.mark.django_db

ADD, IMUL, SCAN = "4801d8", "480fafc3", "480fbcc3"
TEXT = f"bb,old\n{ADD},1.0\n{IMUL},3.0\n{SCAN},1.0\n0f0b,\n"


class Refusing(Decoding):
    """Fails on blocks of two bytes."""

    def predict(self, blocks):
        answers = super().predict([block for block in blocks if len(block) > 2])
        found = iter(answers)
        return [next(found) if len(block) > 2 else Answer(failure=Failure.UNSUPPORTED) for block in blocks]


@pytest.fixture
def tools(monkeypatch) -> dict[str, Predictor]:
    planted = {"slow": slow_scan, "plain": lambda instructions: 0.0}
    rows = {
        name: Predictor.objects.create(name=name, kind="planted", key=f"{number:064}")
        for number, name in enumerate(planted)
    }
    for module in (opening, item_answers):
        monkeypatch.setattr(
            module, "open_predictor", lambda row, task=None, **_: Refusing(planted[row.name], row.name)
        )
    return rows


@pytest.fixture
def block_set() -> BasicBlockSet:
    return store(io.BytesIO(TEXT.encode()), "b.csv", "set", BlockSetOptions())[0]


def do(kind: str, config: dict[str, object]) -> Run:
    run = lifecycle.submit(kind, config, lifecycle.unused_name(f"a {kind}"))
    return work_off(run)


def test_a_matrix_asks_for_new_columns_and_counts_pairs(tools, block_set) -> None:
    ids = [row.pk for row in tools.values()]
    old = block_set.columns.get()
    run = do("matrix", {"predictors": ids, "block_set": block_set.pk, "columns": [old.pk]})
    assert run.state == "done", run.error
    assert [column["name"] for column in run.result["columns"]] == ["old", "slow", "plain"]
    assert run.result["both"] == [[3, 3, 3], [3, 3, 3], [3, 3, 3]]
    slow, plain = run.result["differing"][1][2], run.result["differing"][0][2]
    assert slow == 1
    assert plain == 1
    new = block_set.columns.get(name="slow")
    assert new.predictor == tools["slow"]
    assert new.predictions.count() == 4
    assert new.predictions.get(block__position=3).failure == "unsupported"


def test_a_matrix_uses_the_columns_that_a_predictor_has(tools, block_set) -> None:
    ids = [row.pk for row in tools.values()]
    do("matrix", {"predictors": ids, "block_set": block_set.pk})
    again = do("matrix", {"predictors": ids, "block_set": block_set.pk})
    assert again.config["predictors"] == []
    assert len(again.result["columns"]) == 2
    assert block_set.columns.count() == 3


def test_random_blocks_become_a_set(tools, monkeypatch) -> None:
    domain = BlockDomain.of(DomainSettings(), among=few_schemes())
    monkeypatch.setattr(job, "chosen_domain", lambda *settings: domain)
    ids = [row.pk for row in tools.values()]
    run = do("matrix", {"predictors": ids, "blocks": 20, "length": 3})
    assert run.state == "done", run.error
    made = BasicBlockSet.objects.get(pk=run.result["block_set"])
    assert (made.size, made.blocks.count(), made.origin) == (20, 20, "run")
    assert made.run == run
    assert run.result["both"][0][1] == 20


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"predictors": []}, "predictors"),
        ({"predictors": "all"}, "predictors"),
        ({"block_set": 999}, "block_set"),
        ({"columns": [999]}, "columns"),
        ({"blocks": 1}, "blocks"),
        ({"interest": {"metric": "failure"}}, "interest"),
        ({"tool": 1}, "tool"),
    ],
)
def test_a_wrong_description_of_a_matrix_is_refused_by_field(tools, changes, named) -> None:
    config = {"predictors": [row.pk for row in tools.values()], **changes}
    with pytest.raises(ConfigError, match=named):
        lifecycle.submit("matrix", config, "wrong")


def campaign_of(tools, name: str, *abstracts: dict[str, object]) -> Campaign:
    row = Campaign.objects.create(name=name, origin="run", config={})
    for position, tool in enumerate(tools.values()):
        CampaignPredictor.objects.create(campaign=row, position=position, predictor=tool)
    for number, one in enumerate(abstracts):
        Discovery.objects.create(campaign=row, number=number, abstract={"instructions": [one]}, length=1)
    samples = [
        Sample(bytes.fromhex(code), (Answer(cycles=1.0), Answer(cycles=cycles)))
        for code, cycles in ((ADD, 1.0), (IMUL, 3.0), (SCAN, 9.0))
    ]
    SampleBatch.objects.create(
        campaign=row, number=0, purpose="round", n=3, interesting=2, samples=pack(samples)
    )
    return row


IMULS = {"mnemonic": {"base": "imul", "edits": 0}}
ANY_SCAN = {"mnemonic": {"base": "bsf", "edits": 1}}
ONE_SCAN = {"mnemonic": {"base": "bsf", "edits": 0}}


def test_coverage_of_a_campaigns_own_blocks_and_its_best_selections(tools) -> None:
    row = campaign_of(tools, "one", IMULS, ANY_SCAN)
    run = do("coverage", {"campaigns": [row.pk]})
    assert run.state == "done", run.error
    found = run.result
    assert (found["blocks"], found["covered"]) == (2, 2)
    ids = list(row.discoveries.values_list("pk", flat=True))
    assert found["by_discovery"] == {str(pk): 1 for pk in ids}
    assert [one["covered"] for one in found["best"]] == [1, 2]
    assert set(found["best"][1]["chosen"]) == set(ids)


def test_coverage_of_a_set_is_of_the_blocks_on_which_its_columns_disagree(tools, block_set) -> None:
    row = campaign_of(tools, "one", ANY_SCAN)
    do("matrix", {"predictors": [tool.pk for tool in tools.values()], "block_set": block_set.pk})
    run = do("coverage", {"campaigns": [row.pk], "block_set": block_set.pk, "columns": ["slow", "plain"]})
    assert (run.result["blocks"], run.result["covered"]) == (1, 1)
    other = do("coverage", {"campaigns": [row.pk], "block_set": block_set.pk, "columns": ["old", "plain"]})
    assert (other.result["blocks"], other.result["covered"]) == (1, 0)
    assert other.result["uncovered"] == [IMUL]
    assert other.result["uncovered_at"] == [1]
    assert other.result["url"] == f"/block-sets/{block_set.pk}/?tab=coverage&run={other.pk}"


def test_the_form_for_another_run_has_the_values_of_the_run_that_is_shown(
    tools, block_set, client, administrator
) -> None:
    row = campaign_of(tools, "one", ANY_SCAN)
    do("matrix", {"predictors": [tool.pk for tool in tools.values()], "block_set": block_set.pk})
    client.force_login(administrator)
    address = f"/block-sets/{block_set.pk}/?tab=coverage"
    form = client.get(address).context["form"]
    assert (form["first"].value(), form["second"].value()) == ("old", "slow")
    do("coverage", {"campaigns": [row.pk], "block_set": block_set.pk, "columns": ["plain", "old"]})
    form = client.get(address).context["form"]
    assert (form["first"].value(), form["second"].value()) == ("plain", "old")


def test_what_is_not_covered_comes_with_the_largest_differences_first(tools) -> None:
    text = f"bb,a,b\n{ADD},1.0,2.0\n{IMUL},1.0,9.0\n{SCAN},1.0,4.0\n{ADD},1.0,-1\n"
    made = store(io.BytesIO(text.encode()), "b.csv", "differing", BlockSetOptions())[0]
    row = campaign_of(tools, "one", ANY_SCAN)
    run = do("coverage", {"campaigns": [row.pk], "block_set": made.pk, "columns": ["a", "b"]})
    assert run.result["uncovered_at"] == [1, 0]


def test_what_campaigns_share_is_what_the_others_discoveries_include(tools) -> None:
    first = campaign_of(tools, "one", IMULS, ONE_SCAN)
    second = campaign_of(tools, "two", ANY_SCAN)
    run = do("coverage", {"campaigns": [second.pk, first.pk]})
    special = first.discoveries.get(number=1)
    assert run.result["overlap"] == {str(special.pk): [second.discoveries.get().pk]}
    assert run.result["by_campaign"] == {str(first.pk): 4, str(second.pk): 2}


def test_a_wrong_description_of_a_coverage_is_refused(tools, block_set) -> None:
    row = campaign_of(tools, "one")
    for config, named in (
        ({"campaigns": []}, "campaigns"),
        ({"campaigns": [999]}, "999"),
        ({"campaigns": [row.pk], "block_set": block_set.pk, "columns": ["new"]}, "old"),
        ({"campaigns": [row.pk], "interest": {"metric": "odd"}}, "metric"),
        ({"campaigns": [row.pk], "tool": 1}, "tool"),
    ):
        with pytest.raises(ConfigError, match=named):
            lifecycle.submit("coverage", config, "wrong")

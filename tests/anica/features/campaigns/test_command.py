"""`manage.py campaign`: what it makes of its arguments and what it tells; the run is tested elsewhere."""

from __future__ import annotations

import json

import pytest
from django.core.management import CommandError, call_command

from anica_app.features.campaigns import command
from anica_app.models import Campaign, Discovery
from inference.models import Predictor, Run

pytestmark = pytest.mark.django_db

ABSTRACT = {"instructions": [{"mnemonic": {"base": "bsf", "edits": 1}, "memory": ["R"]}], "aliasing": []}


@pytest.fixture
def asked(monkeypatch):
    """The runs that the command would do, done at once with one discovery."""
    for name in ("one", "two"):
        Predictor.objects.create(name=name, kind="llvm-mca", key=name)
    runs = []

    def do_run(self, submitted):
        run = submitted()
        made = Campaign.objects.get(run=run)
        Discovery.objects.create(campaign=made, number=0, abstract=ABSTRACT, length=1, interestingness=1.0)
        run.result = {
            "campaign": made.pk,
            "name": made.name,
            "url": f"/campaigns/{made.pk}/",
            "discoveries": 1,
            "sampled": 100,
            "interesting": 7,
            "judged": 900,
            "seconds": 3.0,
            "explained": {"blocks": 50, "interesting": 4, "share": 0.75, "top": [0], "top_share": 0.5},
        }
        runs.append(run)
        return run

    monkeypatch.setattr(command.Command, "do_run", do_run)
    return runs


def test_arguments_become_the_description_of_a_run(asked, capsys):
    call_command(
        "campaign",
        "--predictor=one",
        "--predictor=two",
        "--blocks=500",
        "--seed=7",
        "--set=orders=2",
        "--set=threshold=1",
        "--schemes=-memory:RW",
        "--evaluate=50",
        "--json",
    )
    run = Run.objects.get()
    assert (run.kind, run.name) == ("campaign", "one and two")
    assert run.config["end"] == {"minutes": None, "discoveries": None, "barren": None, "blocks": 500}
    assert (run.config["seed"], run.config["evaluate"], run.config["scheme_filter"]) == (7, 50, "-memory:RW")
    assert run.config["search"]["orders"] == 2
    assert run.config["interest"]["threshold"] == 1.0
    assert json.loads(capsys.readouterr().out)["interesting"] == 7


def test_a_summary_in_words_follows_unless_json_was_asked_for(asked, capsys):
    call_command("campaign", "--predictor=one", "--predictor=two")
    said = capsys.readouterr().out
    assert "7 of 100 random blocks are interesting" in said
    assert "0. mnemonic within 1 edit of bsf, reads memory" in said
    assert "the discoveries cover 75.0 %, the best 1 of them 50.0 %" in said


def test_another_campaigns_discoveries_are_excluded_by_its_name(asked):
    call_command("campaign", "--predictor=one", "--predictor=two", "--name=first")
    call_command("campaign", "--predictor=one", "--predictor=two", "--exclude=first:0", "--name=second")
    assert asked[1].config["excluded"][0]["abstract"] == ABSTRACT
    with pytest.raises(CommandError, match="no such discovery"):
        call_command("campaign", "--predictor=one", "--predictor=two", "--exclude=first:9")


def test_one_block_is_generalised_by_a_run_of_its_own_kind(asked):
    call_command("campaign", "--predictor=one", "--predictor=two", "--block=4801D8")
    run = Run.objects.get()
    assert (run.kind, run.config["block"], run.config["minimise"]) == ("generalise", "4801d8", True)


def test_what_is_wrong_is_said_before_anything_runs(asked):
    with pytest.raises(CommandError, match="no predictor 'three'"):
        call_command("campaign", "--predictor=three")
    with pytest.raises(CommandError, match="key=value"):
        call_command("campaign", "--predictor=one", "--set=orders")

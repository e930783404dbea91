"""The form for a new campaign: presets, estimate, errors beside their fields, and what is started."""

from __future__ import annotations

import contextlib
import dataclasses
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from anica_app.features.campaigns import form_pages as starting
from anica_app.features.campaigns.request import CampaignConfig
from anica_app.models import Campaign, CampaignPredictor, Discovery
from anica_app.storage.descriptions import GROUPS
from inference.core.errors import InvalidInputError
from inference.features.asking.predictors.kinds import all_kinds
from inference.features.asking.predictors.query import PredictorListing
from inference.models import Machine, Predictor, Run, StoredCoreModel
from inference.predictors.kinds import KINDS
from inference.runs.lifecycle import submit
from inference.storage.instruction_sets import new_isa

pytestmark = pytest.mark.django_db


@pytest.fixture
def visitor(client: Client, administrator: User) -> Client:
    client.force_login(administrator)
    return client


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> list[Predictor]:
    new_isa("x86-64", ["add GPR[64]:RW, GPR[64]:R", "bsf GPR[64]:W, GPR[64]:R"], "a few")
    rows = [Predictor.objects.create(name=f"tool {name}", kind="command", key=name * 64) for name in "ab"]
    usable = [PredictorListing(KINDS["command"], row.name, "1", {}, row=row) for row in rows]
    monkeypatch.setattr(starting, "predictor_listings", lambda: usable)
    return rows


def fields(visitor: Client, **query: object) -> dict[str, object]:
    """What the form shown for an address would send unchanged."""
    form = visitor.get(reverse("campaign-new"), query).context["form"]
    values = {field.name: field.value() for field in form}
    prepared = {
        name: form.fields[name].prepare_value(value) for name, value in values.items() if value is not None
    }
    return {name: value for name, value in prepared.items() if value is not False}


def press(visitor: Client, button: str, data: dict[str, object]) -> object:
    return visitor.post(reverse("campaign-new"), {**data, "press": button})


def test_two_tools_and_nothing_else_start_a_campaign_with_the_usual_settings(
    visitor: Client, tools: list[Predictor]
) -> None:
    data = {**fields(visitor), "first": "tool a", "second": "tool b"}
    answer = press(visitor, "start", data)
    campaign = Campaign.objects.get()
    assert answer.url == reverse("campaign", args=[campaign.pk])
    config = Run.objects.get().config
    assert config["predictors"] == [tools[0].pk, tools[1].pk]
    assert config["search"]["samples"] == 100
    assert config["search"]["share_evidence"] is True
    assert config["end"] == {"minutes": 10.0, "discoveries": None, "barren": None, "blocks": None}
    assert config["interest"] == {"metric": "relative", "threshold": 0.5, "failures": "crash"}
    assert campaign.name == "tool a and tool b"


def test_what_is_changed_arrives(visitor: Client, tools: list[Predictor]) -> None:
    data = {
        **fields(visitor),
        "first": "tool a",
        "second": "tool b",
        "set_failures": ["crash", "no number"],
        "set_groups": ["rep", "x87"],
        "set_samples": "30",
        "end_minutes": "",
        "end_blocks": "500",
        "scheme_filter": "bsf",
        "seed": "7",
        "name": "mine",
        "note": "why",
    }
    del data["set_share_evidence"]
    press(visitor, "start", data)
    run = Run.objects.get()
    assert (run.name, run.note) == ("mine", "why")
    assert run.config["interest"]["failures"] == "crash, no number"
    assert run.config["space"]["groups"] == "rep x87"
    assert run.config["search"]["samples"] == 30
    assert run.config["search"]["share_evidence"] is False
    assert run.config["end"]["blocks"] == 500
    assert run.config["end"]["minutes"] is None
    assert run.config["seed"] == 7


def test_without_an_end_it_ends_as_usual(visitor: Client, tools: list[Predictor]) -> None:
    press(visitor, "start", {**fields(visitor), "first": "tool a", "second": "tool b", "end_minutes": ""})
    assert Run.objects.get().config["end"]["minutes"] == 10


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"first": ""}, "first"),
        ({"second": "tool a"}, "second"),
        ({"set_samples": "0"}, "set_samples"),
        ({"set_threshold": "much"}, "set_threshold"),
        ({"scheme_filter": "ext:"}, "scheme_filter"),
        ({"scheme_filter": "nonsense"}, "scheme_filter"),
        ({"evaluate": "-1"}, "evaluate"),
    ],
)
def test_what_is_wrong_is_told_beside_its_field(
    changes: dict[str, str], field: str, visitor: Client, tools: list[Predictor]
) -> None:
    data = {**fields(visitor), "first": "tool a", "second": "tool b", **changes}
    answer = press(visitor, "start", data)
    assert answer.status_code == 400
    assert list(answer.context["form"].errors) == [field]
    assert not Run.objects.exists()


def test_a_preset_sets_what_belongs_to_it_and_keeps_the_rest(visitor: Client, tools: list[Predictor]) -> None:
    data = {**fields(visitor), "first": "tool a", "second": "tool b", "set_samples": "7", "seed": "9"}
    form = press(visitor, "preset:hardware", data).context["form"]
    assert form["set_metric"].value() == "absolute"
    assert float(form["set_threshold"].value()) == 2
    assert form["scheme_filter"].value() == "-memory:RW -movnt"
    assert form["set_samples"].value() == "20"
    assert form["seed"].value() == "9"
    assert form["first"].value() == "tool a"


def test_the_estimate_knows_the_pace_of_earlier_campaigns(visitor: Client, tools: list[Predictor]) -> None:
    data = {**fields(visitor), "first": "tool b", "second": "tool a", "end_minutes": "2"}
    assert "unknown: no campaign of these predictors yet" in press(visitor, "estimate", data).content.decode()
    facts = {"judged": 1000, "schemes": 2}
    row = Campaign.objects.create(name="before", origin="run", seconds=10, facts=facts, config={})
    for position, tool in enumerate(tools):
        CampaignPredictor.objects.create(campaign=row, position=position, predictor=tool)
    text = press(visitor, "estimate", data).content.decode()
    assert "before" in text
    assert "12,000" in text  # blocks in two minutes
    alone = {**data, "second": ""}
    assert "no campaign of these predictors" in press(visitor, "estimate", alone).content.decode()
    assert not Run.objects.exists()


def test_a_campaign_is_searched_again_with_its_settings_and_exclusions(
    visitor: Client, tools: list[Predictor]
) -> None:
    data = {**fields(visitor), "first": "tool a", "second": "tool b", "set_orders": "2", "end_blocks": "50"}
    press(visitor, "start", data)
    campaign = Campaign.objects.get()
    found = Discovery.objects.create(
        campaign=campaign, number=0, length=1, abstract={"instructions": [{"category": "bit"}]}
    )
    again = fields(visitor, **{"from": campaign.pk, "exclude": found.pk})
    assert (again["first"], again["second"], again["set_orders"]) == ("tool a", "tool b", 2)
    text = visitor.get(reverse("campaign-new"), {"exclude": found.pk}).content.decode()
    assert "Exclude discoveries" in text
    press(visitor, "start", {**again, "excluded": [found.pk], "name": "again"})
    config = Run.objects.get(name="again").config
    assert config["excluded"] == [{"discovery": found.pk, "abstract": found.abstract}]
    assert config["search"]["orders"] == 2


def other_settings() -> dict[str, Any]:
    """As many settings as possible with another value than usual."""
    found: dict[str, Any] = {}
    for cls in GROUPS.values():
        own: dict[str, Any] = {}
        for entry in dataclasses.fields(cls):
            usual = entry.default
            for value in (
                (not usual,)
                if isinstance(usual, bool)
                else (0.1234567891, 7, 40, "absolute", "crash, timeout", "rep x87")
            ):
                with contextlib.suppress(InvalidInputError):
                    if value != usual and vars(cls.parse({**own, entry.name: value}))[entry.name] != usual:
                        own[entry.name] = value
                        break
        assert len(own) >= len(dataclasses.fields(cls)) / 2
        found |= own
    return found


def test_a_campaign_again_without_a_change_is_the_same_whatever_it_was_told(
    visitor: Client, tools: list[Predictor]
) -> None:
    judge = Predictor.objects.create(name="tool c", kind="command", key="c" * 64)
    earlier = Campaign.objects.create(name="earlier", origin="import")
    for position, row in enumerate(tools):
        CampaignPredictor.objects.create(campaign=earlier, predictor=row, position=position)
    abstract = {"instructions": [{"category": "bit"}]}
    asked = {
        "predictors": [row.pk for row in tools],
        "settings": other_settings(),
        "end": {"blocks": 80, "minutes": 3.5},
        "preset": "crashes",
        "scheme_filter": "bsf",
        "excluded": [],
        "evaluate": 7,
        "against": earlier.pk,
        "judge": judge.pk,
        "mode": "unrolled",
        "seed": 9,
    }
    first = submit("campaign", asked, "first")
    assert all(
        first.config[name] != CampaignConfig.default_of(name)
        for name in asked.keys() - {"predictors", "settings", "excluded"}
    )
    before = Campaign.objects.get(run=first)
    gone = {"discovery": 10**6, "abstract": abstract}
    before.config["excluded"] = [gone]
    before.save()
    press(visitor, "start", {**fields(visitor, **{"from": before.pk}), "from": before.pk, "name": "again"})
    again = Run.objects.get(name="again").config
    assert again == {**first.config, "excluded": [gone]}
    judge.delete()
    press(visitor, "start", {**fields(visitor, **{"from": before.pk}), "from": before.pk, "name": "third"})
    assert Run.objects.get(name="third").config == {**again, "judge": None}


def test_the_address_names_predictors_and_a_preset(visitor: Client, tools: list[Predictor]) -> None:
    found = fields(visitor, predictor=[tools[1].pk, tools[0].pk], preset="crashes")
    assert (found["first"], found["second"]) == ("tool b", "tool a")
    assert found["set_metric"] == "failure"
    assert visitor.get(reverse("campaign-new"), {"preset": "odd"}).status_code == 400
    assert visitor.get(reverse("campaign-new"), {"from": 999}).status_code == 404


def listing(kind: str, name: str, version: str = "1", **options: object) -> PredictorListing:
    return PredictorListing(all_kinds()[kind], name, version, options)


LOOPS = listing("machine", "lab loop", machine="lab", mode="loop")
STRAIGHT = listing("machine", "lab unrolled", machine="lab", mode="unrolled")
OLD, NEW = (listing("llvm-mca", f"mca {at}", f"{at}.0", release=at, cpu="znver3") for at in ("14", "19"))
NEXT = listing("llvm-mca", "mca 19 of znver4", "19.1", release="19", cpu="znver4")


@pytest.mark.parametrize(
    ("pair", "preset"),
    [
        ((), "tools"),
        ((NEW,), "tools"),
        ((LOOPS,), "tools"),
        ((OLD, NEW), "regression"),
        ((NEW, NEXT), "tools"),
        ((NEW, LOOPS), "hardware"),
        ((LOOPS, NEW), "hardware"),
        ((LOOPS, STRAIGHT), "harness"),
        ((LOOPS, listing("machine", "other", machine="other")), "hardware"),
        ((listing("mapping", "a", mapping="a"), listing("mapping", "b", mapping="b")), "mappings"),
        ((listing("mapping", "a", mapping="a"), NEW), "tools"),
        ((listing("core-model", "core", model="core"), NEW), "tools"),
    ],
)
def test_a_pair_has_the_preset_that_fits_it(pair: tuple[PredictorListing, ...], preset: str) -> None:
    assert starting.pair_preset(pair) == preset


def test_another_pair_gets_other_settings_and_the_same_one_keeps_them(
    visitor: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    usable = [OLD, NEW, LOOPS]
    monkeypatch.setattr(starting, "predictor_listings", lambda: usable)
    data = {**fields(visitor), "first": NEW.name, "second": LOOPS.name, "set_samples": "7"}
    answer = press(visitor, "preset:automatic", data)
    form = answer.context["form"]
    assert (form["preset"].value(), form["set_metric"].value()) == ("hardware", "absolute")
    assert "data-preset-chosen" not in answer.content.decode()
    again = {**data, "preset": "hardware", "set_threshold": "3"}
    assert press(visitor, "preset:automatic", again).context["form"]["set_threshold"].value() == "3"
    page = press(visitor, "preset:tools", again).content.decode()
    assert "data-preset-chosen" in page
    assert "<strong>A tool and a machine</strong> fit better" in page


@pytest.mark.parametrize(
    ("usable", "pair"),
    [
        ([OLD, NEW, NEXT, LOOPS], [NEXT.name, LOOPS.name]),
        ([NEXT, listing("core-model", "core model vm", model="vm")], [NEXT.name, "core model vm"]),
        ([OLD, NEW, LOOPS], []),
        ([NEXT], []),
    ],
)
def test_a_machine_is_held_against_the_newest_tool_that_knows_its_core(
    usable: list[PredictorListing],
    pair: list[str],
    visitor: Client,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    isa = new_isa("x86-64", ["add GPR[64]:RW, GPR[64]:R"], "a few")
    cpu = Machine.objects.create(name="lab", isa=isa, kind=Machine.Kind.AGENT)
    StoredCoreModel.objects.create(name="vm", isa=isa, machine=cpu, document={})
    monkeypatch.setattr(starting, "predictor_listings", lambda: usable)
    monkeypatch.setattr(starting, "core_name", lambda machine: "Zen 4")
    assert [row.name for row in starting.pair_for_machine(cpu, usable)] == pair
    answer = visitor.get(reverse("campaign-new"), {"machine": cpu.pk})
    html = answer.content.decode()
    assert ("has a model of Zen 4" in html or "what Zen 4 really does" in html) is (not pair)
    assert not ("has a model of Zen 4" in html and "what Zen 4 really does" in html)
    if pair:
        form = answer.context["form"]
        assert [form["first"].value(), form["second"].value(), form["end_minutes"].value()] == [*pair, 3]
    assert visitor.get(reverse("campaign-new"), {"machine": 999}).status_code == 404


def test_without_predictors_the_form_says_how_to_get_some(
    visitor: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starting, "predictor_listings", list)
    assert "how to install it" in visitor.get(reverse("campaign-new")).content.decode()

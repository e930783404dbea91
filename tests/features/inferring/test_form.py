"""The infer form: filled in, estimated, refused and started, all without a script."""

from __future__ import annotations

import contextlib
import dataclasses
import html
from typing import Any

import pytest
from django.core.management import load_command_class
from django.test import Client

from inference.core.cegar import CegarSettings
from inference.core.errors import InvalidInputError
from inference.core.pmevo.settings import PMEvoSettings
from inference.core.protocols import Json
from inference.features.learning.inferring.algorithm import Algorithm
from inference.features.learning.inferring.algorithms import ALGORITHMS
from inference.features.learning.inferring.request import InferConfig
from inference.measuring.simulated import NOISE_OPTIONS
from inference.models import ExperimentSet, PortMapping, Run
from inference.runs.lifecycle import submit
from inference.runs.request import DEFAULT_SEED
from inference.storage.rows import load_measurements, store_measurements
from tests.rows.library import ADD, IMUL


def test_every_setting_of_the_algorithm_is_a_field_with_its_help_and_default(visitor: Client, isa: object):
    page = html.unescape(visitor.get("/infer/").content.decode())
    for field in dataclasses.fields(PMEvoSettings):
        assert f'name="set_{field.name}"' in page
        assert field.metadata["help"].split(":")[0] in page


def test_a_newcomer_sees_few_settings_and_an_expert_finds_all_under_headings(visitor: Client, isa: object):
    form = visitor.get("/infer/").context["form"]
    first = [field.name for field in form.first_settings]
    folded = [field.name for _, fields in form.setting_groups for field in fields]
    assert first == ["set_search"]
    assert sorted(["set_ports", *first, *folded]) == sorted(
        f"set_{field.name}" for field in dataclasses.fields(PMEvoSettings)
    )
    assert len(form.setting_groups) > 3
    named = [name for names in ALGORITHMS["pmevo"].groups.values() for name in names]
    assert set(named) <= {field.name for field in dataclasses.fields(PMEvoSettings)}
    assert len(named) == len(set(named))


def test_what_the_judge_has_too_is_not_counted_as_learnt_from(
    visitor: Client, answers: dict[str, Any], experiment_set: ExperimentSet
):
    judge = ExperimentSet.objects.create(name="judge", isa=experiment_set.isa, origin="upload")
    store_measurements(judge, load_measurements(experiment_set)[:2])
    asked = {**answers, "press": "estimate", "evaluate": judge.pk}
    wanted = visitor.post("/infer/", asked).context["estimate"]
    assert (wanted.experiments, wanted.held_out) == (1, 2)


def test_a_complete_form_submits_a_run_with_what_was_asked(visitor: Client, answers: dict[str, Any]):
    response = visitor.post("/infer/", {**answers, "set_population": "40"})
    run = Run.objects.get()
    assert response.headers["Location"] == f"/runs/{run.pk}/"
    assert (run.name, run.kind, run.state) == ("first try", "infer", "queued")
    assert run.config["ports"] == 3
    assert run.config["seed"] == 5
    assert run.config["held_out"] == 0.34
    assert run.config["settings"]["population"] == 40
    assert run.config["source"] == {"datasets": answers["datasets"]}


def test_the_estimate_counts_schemes_and_experiments_and_starts_nothing(
    visitor: Client, answers: dict[str, Any]
):
    response = visitor.post("/infer/", {**answers, "press": "estimate"})
    wanted = response.context["estimate"]
    assert (wanted.schemes, wanted.experiments, wanted.held_out) == (3, 2, 1)
    assert wanted.seconds > 0
    assert not Run.objects.exists()


def test_a_search_restricts_the_schemes_and_the_experiments_made_of_them(
    visitor: Client, answers: dict[str, Any]
):
    filtered = {**answers, "selection": "filter", "filter": "mnemonic:add", "held_out": "0"}
    wanted = visitor.post("/infer/", {**filtered, "press": "estimate"}).context["estimate"]
    assert (wanted.schemes, wanted.experiments) == (1, 1)
    assert wanted.examples == (ADD,)
    visitor.post("/infer/", filtered)
    run = Run.objects.get()
    assert run.config["scheme_filter"] == "mnemonic:add"
    assert len(run.config["schemes"]) == 1


@pytest.mark.parametrize(
    ("change", "field", "words"),
    [
        ({"set_ports": "many"}, "set_ports", "whole number"),
        ({"set_population": "1"}, "set_population", "from 2 to"),
        ({"set_scaling": "cubic"}, "set_scaling", "range, zero"),
        ({"seed": "-1"}, "seed", "greater than or equal to 0"),
        ({"held_out": "1.5"}, "held_out", "less than or equal to 0.9"),
        ({"datasets": []}, "datasets", "at least one set"),
        ({"datasets": [999_999]}, "datasets", "not one of the available"),
        ({"datasets": ["9" * 30]}, "datasets", "not one of the available"),
        ({"selection": "filter", "filter": ""}, "filter", "Enter a search"),
        ({"selection": "filter", "filter": "colour:red"}, "filter", "mnemonic"),
        ({"selection": "filter", "filter": "nosuchscheme"}, "selection", "has none of these schemes"),
        ({"sample": "5"}, "sample", "all selected schemes"),
        ({"sample": "0"}, "sample", "greater than or equal to 1"),
        ({"source": "simulate"}, "mapping", "Choose the port mapping"),
        ({"source": "machine"}, "machine", "Choose a machine"),
    ],
)
def test_a_wrong_value_is_refused_at_its_field_and_nothing_starts(
    visitor: Client, answers: dict[str, Any], change: dict[str, Any], field: str, words: str
):
    response = visitor.post("/infer/", {**answers, **change})
    assert response.status_code == 400
    assert words in str(response.context["form"].errors[field])
    assert not Run.objects.exists()


def test_a_name_in_use_is_refused_and_an_empty_one_is_made_up(visitor: Client, answers: dict[str, Any]):
    visitor.post("/infer/", answers)
    response = visitor.post("/infer/", answers)
    assert "name" in response.context["form"].errors
    visitor.post("/infer/", {**answers, "name": ""})
    visitor.post("/infer/", {**answers, "name": ""})
    names = set(Run.objects.values_list("name", flat=True))
    assert names == {"first try", "small · PMEvo · seed 5", "small · PMEvo · seed 5 (2)"}


def test_what_is_assumed_can_be_switched_off_and_stays_off_when_run_again(visitor: Client, answers):
    page = visitor.get("/infer/").text
    switch = '<select name="set_forgive_waste"'
    assert switch in page
    assert visitor.post("/infer/", {**answers, "set_forgive_waste": "False"}).status_code == 302
    run = Run.objects.latest("pk")
    assert run.config["settings"]["forgive_waste"] is False
    assert run.config["settings"]["apart"] is True
    form = visitor.get("/infer/", {"from": run.pk}).context["form"]
    assert str(form["set_forgive_waste"].value()) == "False"


def test_sets_to_learn_from_and_to_judge_by_must_differ(visitor: Client, answers: dict[str, Any]):
    response = visitor.post("/infer/", {**answers, "evaluate": answers["datasets"][0]})
    assert "among the sets to learn from" in str(response.context["form"].errors["evaluate"])


def test_a_simulated_processor_is_made_of_a_stored_mapping(
    visitor: Client, answers: dict[str, Any], mapping: PortMapping
):
    simulated = {
        **answers,
        "source": "simulate",
        "mapping": mapping.pk,
        "noise": "0.02",
        "outlier_share": "0.1",
    }
    wanted = visitor.post("/infer/", {**simulated, "press": "estimate"}).context["estimate"]
    assert wanted.schemes == 2
    assert not wanted.recorded
    visitor.post("/infer/", simulated)
    source = Run.objects.get().config["source"]
    assert (source["simulate"], source["noise"], source["outlier_share"]) == (mapping.pk, 0.02, 0.1)


@pytest.mark.parametrize("name", list(ALGORITHMS["pmevo"].presets))
def test_a_preset_fills_in_values_that_the_algorithm_accepts(
    visitor: Client, answers: dict[str, Any], name: str
):
    response = visitor.post("/infer/", {**answers, "press": f"preset:{name}"})
    form = response.context["form"]
    assert not Run.objects.exists()
    assert form["set_ports"].value() == "3"
    assert form["name"].value() == "first try"
    for setting, value in ALGORITHMS["pmevo"].presets[name].items():
        assert form[f"set_{setting}"].value() == value
    assert form.is_valid(), form.errors


def test_the_settings_are_folded_until_one_is_special_or_wrong(visitor: Client, answers: dict[str, Any]):
    def folded(**change: str) -> bool:
        answer = visitor.post("/infer/", {**answers, "press": "estimate", **change})
        return "data-settings open" not in answer.text

    assert "data-settings open" not in visitor.get("/infer/").text
    assert folded()
    assert folded(set_population=str(PMEvoSettings().population), set_ports="7")
    assert not folded(set_population="299")
    assert not folded(set_r_max="4")
    assert not folded(set_scaling="cubic")


def test_the_preset_that_the_form_holds_is_marked(visitor: Client, answers: dict[str, Any]):
    def marked(press: str, **change: str) -> list[str]:
        answer = visitor.post("/infer/", {**answers, "press": press, **change})
        return [preset["name"] for preset in answer.context["presets"] if preset["active"]]

    assert marked("estimate") == ["standard"]
    assert marked("estimate", set_population="77") == []
    for name in ALGORITHMS["pmevo"].presets:
        assert marked(f"preset:{name}") == [name]


def test_the_seed_is_the_same_in_the_browser_and_in_the_shell(visitor: Client, db: None):
    assert visitor.get("/infer/").context["form"]["seed"].value() == DEFAULT_SEED
    parser = load_command_class("inference", "infer").create_parser("manage.py", "infer")
    assert parser.get_default("seed") == DEFAULT_SEED


def test_run_again_with_changes_starts_from_the_same_form(visitor: Client, answers: dict[str, Any]):
    search = {"selection": "filter", "filter": "add"}
    visitor.post("/infer/", {**answers, **search, "set_population": "77", "set_r_max": "4"})
    first = Run.objects.get()
    form = visitor.get(f"/infer/?from={first.pk}").context["form"]
    for name, value in {
        "set_population": "77",
        "set_r_max": "4",
        "set_ports": 3,
        "seed": 5,
        **search,
    }.items():
        assert form[name].value() == value, name
    visitor.post("/infer/", {**answers, "name": "second try", "from": first.pk})
    assert Run.objects.get(name="second try").forked_from == first


def other_settings(offer: Algorithm) -> Json:
    """As many settings as possible with another value than usual, complete."""
    texts: dict[str, str] = {}
    for setting in offer.tunables():
        numbers = [] if isinstance(setting.default, str) else [0.1234567891, 7, 8, 3, 2, 40, 400]
        for value in (*setting.choices, *numbers):
            if str(value) == setting.default_text:
                continue
            with contextlib.suppress(InvalidInputError):
                offer.parse({**texts, setting.name: str(value)})
                texts[setting.name] = str(value)
                break
    assert len(texts) > 0.8 * len(offer.tunables())
    return offer.parse(texts)


OTHER_NOISE = {
    "noise": 0.0212345678,
    "noise_cpi": 0.01,
    "outlier_share": 0.03,
    "outlier_factor": 3.0,
    "odd_share": 0.05,
    "counters": "uops",
}


@pytest.mark.parametrize("algorithm", list(ALGORITHMS))
def test_a_run_again_without_a_change_is_the_same_whatever_it_was_told(
    visitor: Client, mapping: PortMapping, algorithm: str
):
    """Every field of the description and every setting has another value than usual."""
    assert OTHER_NOISE.keys() == set(NOISE_OPTIONS)
    settings = other_settings(ALGORITHMS[algorithm])
    asked = {
        "algorithm": algorithm,
        "source": {"simulate": mapping.pk, **OTHER_NOISE},
        "ports": settings.pop("ports") or 3,
        "settings": settings,
        "schemes": [mapping.isa.schemes.get(text=ADD).pk],
        "scheme_filter": "add",
        "sample": 2,
        "seed": 9,
        "held_out": 0.35,
        "mixes": 17,
        "bottleneck": False,
        "never_held_out": 4,
    }
    first = submit("infer", asked, "first")
    assert {name for name in asked if first.config[name] == InferConfig.default_of(name)} <= {"algorithm"}
    form = visitor.get(f"/infer/?from={first.pk}").context["form"]
    values = {field.name: field.value() for field in form if field.value() not in (None, False, [])}
    answer = visitor.post("/infer/", {**values, "from": first.pk, "press": "estimate"})
    said = answer.content.decode()
    assert not answer.context["form"].errors
    assert "mixes 17, never held out 4." in said
    visitor.post("/infer/", {**values, "from": first.pk, "name": "again", "press": "start"})
    assert Run.objects.get(name="again").config == first.config


def test_a_link_from_a_set_picks_it(visitor: Client, experiment_set: ExperimentSet):
    response = visitor.get("/infer/", {"dataset": experiment_set.name})
    assert [row.picked for row in response.context["sets"]] == [True]


@pytest.mark.parametrize("number", ["999999", "x"])
def test_a_run_that_is_not_there_cannot_be_run_again(visitor: Client, number: str):
    assert visitor.get(f"/infer/?from={number}").status_code in (400, 404)


@pytest.mark.parametrize("number", ["²", "x", "9" * 5000])
def test_a_form_that_names_no_run_that_could_be_is_nobodys_copy(
    visitor: Client, answers: dict[str, Any], number: str
):
    response = visitor.post("/infer/", {**answers, "press": "estimate", "from": number})
    assert response.status_code == 200
    assert response.context["forked_from"] is None


def test_without_measurements_the_form_offers_the_upload(visitor: Client):
    assert "/sets/upload/" in visitor.get("/infer/").content.decode()


@pytest.fixture
def exact(mapping: PortMapping) -> dict[str, Any]:
    """A form that asks for counter-examples on a simulated processor."""
    return {
        "press": "start",
        "source": "simulate",
        "mapping": mapping.pk,
        "noise": "0",
        "selection": "all",
        "algorithm": "cegar",
        "seed": "5",
        "bottleneck": "on",
    }


def test_another_algorithm_brings_its_own_settings(visitor: Client, exact: dict[str, Any]):
    response = visitor.post("/infer/", {**exact, "press": "estimate", "set_population": "40"})
    page = response.content.decode()
    for field in dataclasses.fields(CegarSettings):
        assert f'name="set_{field.name}"' in page
    assert "set_population" not in page
    assert response.context["form"]["set_epsilon"].value() == "0.02"
    assert response.context["form"].ports.value() == "", "the number of ports is searched for"
    assert response.context["estimate"].held_out == 200


def test_what_is_known_of_schemes_is_asked_with_the_rest(visitor: Client, exact: dict[str, Any]):
    known = {"uops": f"{ADD}: 2", "widths": f"{IMUL}: 1", "improper": ADD}
    visitor.post("/infer/", {**exact, **known, "set_r_max": "4"})
    run = Run.objects.get()
    assert run.name == "three ports · simulated · CEGAR · seed 5"
    assert run.config["known"] == {"uops": {ADD: 2}, "widths": {IMUL: 1}, "improper": [ADD]}
    assert (run.config["ports"], run.config["settings"]["r_max"], run.config["bottleneck"]) == (
        None,
        4.0,
        True,
    )
    again = visitor.get(f"/infer/?from={run.pk}").context["form"]
    assert again["uops"].value() == known["uops"]
    assert again["improper"].value() == ADD
    assert again.ports.value() == ""
    assert "µops known" in visitor.get(f"/runs/{run.pk}/").content.decode()


@pytest.mark.parametrize(
    ("change", "field", "words"),
    [
        ({"uops": f"{ADD}: 2\n{IMUL}: two"}, "uops", ["line 2", IMUL]),
        ({"uops": f"{ADD}: 9"}, "uops", ["1 to 8", ADD]),
        ({"widths": "sub GPR[64]:RW, GPR[64]:R: 2"}, "widths", ["no scheme", "sub GPR[64]"]),
        ({"improper": f"{ADD}\n{ADD}"}, "improper", ["line 2", "leave it out"]),
        ({"set_epsilon": "1"}, "set_epsilon", ["epsilon must be a number"]),
        ({"set_on_clash": "shrug"}, "set_on_clash", ["stop, drop-scheme"]),
    ],
)
def test_facts_that_make_no_sense_are_refused_at_their_field(
    visitor: Client, exact: dict[str, Any], change: dict[str, Any], field: str, words: list[str]
):
    response = visitor.post("/infer/", {**exact, **change})
    assert response.status_code == 400
    complaint = response.context["form"].errors[field][0]
    assert all(word in complaint for word in words)
    assert not Run.objects.exists()


def test_facts_for_an_algorithm_that_has_no_use_for_them_are_left_alone(
    visitor: Client, answers: dict[str, Any]
):
    visitor.post("/infer/", {**answers, "uops": f"{ADD}: 2"})
    assert Run.objects.get().config["known"] == {}

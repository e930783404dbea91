"""The mode belongs to the question: whoever is asked beside a measurement is asked as blocks are measured."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.core.management import get_commands, load_command_class

from anica_app.models import Campaign, CampaignPredictor
from inference.core.mapping import PortMapping, uops_of
from inference.features.asking.predictors.kinds import all_kinds
from inference.features.asking.predictors.modes import (
    common_mode,
    different_modes,
    mode_of,
    name_with_mode,
    row_in_mode,
)
from inference.features.asking.predictors.query import predictor_row
from inference.features.asking.questions import command
from inference.formats.block_sets import BlockSetOptions
from inference.isa import x86
from inference.isa.targets import X86
from inference.measuring.blocks import LOOP, MODES, UNROLLED
from inference.models import BlockColumn, ExperimentSet, Machine, Predictor, StoredCoreModel
from inference.models import PortMapping as PortMappingRow
from inference.runs import lifecycle
from inference.runs.errors import ConfigError
from inference.runs.kinds import RUN_KINDS
from inference.runs.request import RunRequest
from inference.storage.block_sets import store
from inference.storage.instruction_sets import store_isa
from inference.storage.mappings import store_mapping
from inference.web.api.site import document
from tests.simulated import simulated_machine

ADD = "add GPR[64]:RW, GPR[64]:R"
CODE = "4801d8"

ANSWERS_ONCE = {
    "llvm-mca": "has neither a front end that straight code meets nor a loop's jump",
    "osaca": "the same",
    "iaca": "takes blocks between markers for the body of a loop",
    "ithemal": "was trained on one way of measuring",
    "difftune": "is llvm-mca",
    "command": "nothing is known of a program of somebody's own",
    "mapping": "knows ports alone, and the jump of a loop where the block ends in it",
}


def test_each_kind_of_predictor_says_which_modes_it_knows() -> None:
    known = all_kinds()
    assert {name for name, kind in known.items() if not kind.modes} == ANSWERS_ONCE.keys()
    for kind in known.values():
        if len(kind.modes) < len(MODES):
            continue
        assert kind.mode_of({}) == UNROLLED, f"{kind.name} without a mode"
        looped = kind.in_mode({"seconds": 3}, LOOP)
        assert (kind.mode_of(looped), looped["seconds"]) == (LOOP, 3)
        assert kind.in_mode(looped, UNROLLED) == {"seconds": 3}
        assert kind.in_mode(looped, "") == looped


@pytest.fixture
def machine(db: None) -> Machine:
    isa = store_isa(X86, [one for one in x86.schemes() if one.text == ADD], "one")
    mapping = PortMapping(("0", "1"), {ADD: uops_of([(0b11, 1)])}, 4.0)
    made = simulated_machine(isa, mapping, name="lab")
    row = store_mapping("inferred", isa, mapping, origin=PortMappingRow.Origin.IMPORT)
    StoredCoreModel.objects.create(name="lab", isa=isa, machine=made, mapping=row)
    return made


def named(*names: str) -> list[int]:
    return [predictor_row(name).pk for name in names]


MODEL, LAB, LAB_LOOP = "core-model:model=lab", "machine:machine=lab", "machine:machine=lab,mode=loop"


def test_a_predictor_in_a_mode_is_the_same_one_with_that_option(machine: Machine) -> None:
    model = predictor_row("core-model:model=lab,registers=apart")
    looped = row_in_mode(model, LOOP)
    assert (looped.name, looped.options) == (
        "core model lab · loop",
        {"model": "lab", "registers": "apart", "mode": LOOP},
    )
    assert row_in_mode(looped, UNROLLED) == model
    assert row_in_mode(model, UNROLLED) is model
    mapping = predictor_row("mapping:mapping=inferred")
    assert row_in_mode(mapping, LOOP) is mapping
    rows = [predictor_row(MODEL), predictor_row(LAB_LOOP), mapping]
    assert [mode_of(row) for row in rows] == [UNROLLED, LOOP, ""]
    assert common_mode(rows) == ""
    assert common_mode(rows[1:]) == LOOP
    assert different_modes(rows) == {"unrolled": [rows[0].name], "in a loop": [rows[1].name]}
    assert different_modes(rows[1:]) == {}
    foreign = Predictor(
        kind="imported", origin="imported", identity={"kind": "machine", "options": {"mode": LOOP}}
    )
    assert mode_of(foreign) == LOOP
    assert [name_with_mode(row) for row in rows] == [f"{rows[0].name} · unrolled", rows[1].name, mapping.name]
    assert row_in_mode(foreign, UNROLLED) is foreign


# Every run that asks predictors.


def configs(machine: Machine) -> dict[str, dict[str, Any]]:
    """Of each kind of run that asks predictors a description without them."""
    columns = f"bb,old\n{CODE},1\n{CODE}90,1\n"
    blocks = store(io.BytesIO(columns.encode()), "b.csv", "set", BlockSetOptions())[0]
    experiments = ExperimentSet.objects.create(name="recorded", isa=machine.isa, origin="upload")
    return {
        "accuracy-check": {"machine": machine.pk, "block_set": blocks.pk},
        "ask": {"blocks": [CODE]},
        "campaign": {},
        "columns": {"block_set": blocks.pk},
        "comparison": {"experiment_set": experiments.pk},
        "generalise": {"block": CODE},
        "matrix": {"block_set": blocks.pk, "columns": list(blocks.columns.values_list("pk", flat=True))},
    }


def descriptions(root: type[RunRequest] = RunRequest) -> list[type[RunRequest]]:
    return [one for own in root.__subclasses__() for one in (own, *descriptions(own))]


def test_every_description_with_predictors_has_a_mode() -> None:
    for kind in RUN_KINDS.values():
        kind.job()
    asking = [one for one in descriptions() if {"predictors", "judge"} & one.model_fields.keys()]
    assert len(asking) >= 8
    without = {one.__name__ for one in asking if "mode" not in one.model_fields}
    assert without == {"FamiliesConfig", "NewGrouping"}, (
        "its judge is asked in the mode of the campaign's tools"
    )


def test_every_run_asks_in_the_mode_of_the_question(machine: Machine) -> None:
    described = configs(machine)
    named_there = {name for name, kind in RUN_KINDS.items() if "predictors" in kind.example}
    assert named_there <= described.keys(), "a new kind of run that asks predictors"
    for name, config in described.items():
        for stated in MODES:
            ids = lifecycle.submit(
                name, {**config, "predictors": named(MODEL), "mode": stated}, f"{name} {stated}"
            ).config["predictors"]
            assert [mode_of(row) for row in Predictor.objects.filter(pk__in=ids)] == [stated], name


def test_beside_a_machine_all_are_asked_as_it_measures(machine: Machine) -> None:
    described = configs(machine)
    for name in ("campaign", "comparison", "generalise", "matrix", "columns"):
        config = {**described[name], "predictors": named(MODEL, LAB_LOOP)}
        made = lifecycle.submit(name, config, f"a {name}")
        rows = Predictor.objects.filter(pk__in=made.config["predictors"])
        assert {mode_of(row) for row in rows} == {LOOP}, name
    ways = lifecycle.submit("campaign", {"predictors": named(LAB, LAB_LOOP)}, "two ways of measuring")
    assert len(ways.config["predictors"]) == 2
    with pytest.raises(ConfigError, match="agrees with itself"):
        lifecycle.submit("campaign", {"predictors": named(LAB, LAB_LOOP), "mode": LOOP}, "one way")


def test_a_question_without_a_mode_asks_each_as_it_is_named(machine: Machine) -> None:
    made = lifecycle.submit("ask", {"predictors": named(MODEL, LAB_LOOP), "blocks": [CODE]}, "asked")
    assert made.config["predictors"] == named(MODEL, LAB_LOOP)


def test_measured_columns_of_a_set_say_how_others_are_asked(machine: Machine) -> None:
    block_set = configs(machine)["columns"]["block_set"]
    BlockColumn.objects.create(
        block_set_id=block_set, position=1, name="lab", predictor=predictor_row(LAB_LOOP)
    )
    made = lifecycle.submit("columns", {"block_set": block_set, "predictors": named(MODEL)}, "more")
    assert [mode_of(row) for row in Predictor.objects.filter(pk__in=made.config["predictors"])] == [LOOP]


def test_experiments_of_a_machine_are_asked_for_in_a_loop(machine: Machine) -> None:
    measured = ExperimentSet.objects.create(name="own", isa=machine.isa, machine=machine, origin="run")
    config = {"experiment_set": measured.pk, "predictors": named(MODEL)}
    made = lifecycle.submit("comparison", config, "compared")
    assert [mode_of(row) for row in Predictor.objects.filter(pk__in=made.config["predictors"])] == [LOOP]


def test_who_judges_is_asked_as_the_tools_are(machine: Machine) -> None:
    tool = Predictor.objects.create(name="tool", kind="planted", key="t" * 64)
    config = {"predictors": [*named(MODEL), tool.pk], "judge": predictor_row(LAB).pk}
    made = lifecycle.submit("campaign", {**config, "mode": LOOP}, "in a loop")
    judge = Predictor.objects.get(pk=made.config["judge"])
    assert (judge.name, mode_of(judge)) == ("machine lab · loop", LOOP)
    by_judge = lifecycle.submit("campaign", {**config, "judge": predictor_row(LAB_LOOP).pk}, "as judged")
    assert mode_of(Predictor.objects.get(pk=by_judge.config["predictors"][0])) == LOOP
    ended = Campaign.objects.create(name="ended")
    CampaignPredictor.objects.create(
        campaign=ended, predictor=row_in_mode(predictor_row(MODEL), LOOP), position=0
    )
    grouped = lifecycle.submit("families", {"campaign": ended.pk, "judge": predictor_row(LAB).pk}, "grouped")
    assert mode_of(Predictor.objects.get(pk=grouped.config["judge"])) == LOOP


# Every door.


def test_the_shell_asks_in_the_mode_that_it_is_told(machine: Machine) -> None:
    assert [row.name for row in command._chosen([MODEL], mode=LOOP)] == ["core model lab · loop"]
    for names in ([], [MODEL], ["core-model:model=lab,mode=loop"]):
        assert _mode_of_question(names, LOOP) == LOOP
        assert _mode_of_question(names, UNROLLED) == UNROLLED
    assert [_mode_of_question(names, "") for names in ([], [MODEL])] == [UNROLLED, UNROLLED]
    assert _mode_of_question(["core-model:model=lab,mode=loop"], "") == LOOP


def _mode_of_question(names: list[str], mode: str) -> str:
    return command._question({"predictor": names, "cpu": "", "mode": mode, "isa": "x86-64"}).mode


def test_every_command_that_names_predictors_takes_a_mode() -> None:
    asking = []
    for name, app in get_commands().items():
        if app not in ("inference", "anica_app"):
            continue
        parser = load_command_class(app, name).create_parser("manage.py", name)
        taken = {option for action in parser._actions for option in action.option_strings}
        if taken & {"--predictor", "--ask"}:
            asking.append(name)
            assert "--mode" in taken, name
    assert len(asking) >= 6


def test_every_operation_that_names_predictors_takes_a_mode() -> None:
    bodies = {
        name: schema["properties"]
        for name, schema in document()["components"]["schemas"].items()
        if name.startswith(("New", "Wanted")) and "predictors" in schema.get("properties", {})
    }
    assert len(bodies) >= 7
    assert [name for name, fields in bodies.items() if "mode" not in fields] == []

"""`compare` as scripts use it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.core.management import CommandError

from inference.core.experiment import Experiment, Measured
from inference.core.mapping import PortMapping as Mapping
from inference.core.resources import ResourceMapping
from inference.models import ISA, ExperimentSet, PortMapping
from inference.models import ResourceMapping as ResourceMappingRow
from inference.storage.instruction_sets import new_isa
from inference.storage.resource_mappings import store_resource_mapping
from inference.storage.rows import scheme_ids, store_mapping, store_measurements
from tests.doors import printed


def manage(*arguments: object) -> str:
    return printed("compare", *(str(argument) for argument in arguments))


@pytest.fixture
def mappings(db: None) -> None:
    toy = new_isa("toy", ["add R, R", "mul R, R"], "by hand")
    values = {
        "one": Mapping(("0", "1"), {"add R, R": ((3, 1),), "mul R, R": ((1, 1),)}),
        "renamed": Mapping(("x", "y"), {"add R, R": ((3, 1),), "mul R, R": ((2, 1),)}),
        "different": Mapping(("x", "y"), {"add R, R": ((2, 1),), "mul R, R": ((2, 1),)}),
    }
    for name, value in values.items():
        store_mapping(name, toy, value, origin=PortMapping.Origin.IMPORT)
    store_mapping(
        "foreign",
        new_isa("other", ["add R, R"], "by hand"),
        Mapping(("0",), {"add R, R": ((1, 1),)}),
        origin=PortMapping.Origin.IMPORT,
    )


def test_equal_mappings_are_told_with_the_names_of_their_ports(mappings: None) -> None:
    lines = [line.split() for line in manage("one", "renamed").splitlines()]
    assert lines[0] == ["Equal", "up", "to", "renaming", "ports."]
    assert lines[lines.index(["Ports"]) :][1:4] == [["renamed", "one"], ["x", "1"], ["y", "0"]]


def test_differences_are_listed_with_an_experiment_that_shows_them(mappings: None) -> None:
    said = manage("one", "different").splitlines()
    assert said[0] == "1 of 2 common schemes use the same µops (50.0 %)."
    assert said[1] == "Distinguished by (cycles)"
    assert said[3].split() == ["tells", "them", "apart", "add", "R,", "R", "0.500", "1.000", "–", "–"]
    assert any(line.split()[:6] == ["add", "R,", "R", "different", "1×[0,1]", "1×[0]"] for line in said)


def test_json_is_one_object(mappings: None) -> None:
    said = json.loads(manage("one", "different", "--json"))
    assert said["share"] == 0.5
    assert said["renaming"] == {"x": "1", "y": "0"}
    assert said["told_apart_by"] == [
        {"experiment": "add R, R", "first": 0.5, "second": 1.0, "measured": None}
    ]
    assert said["furthest_apart"] == {"scheme": "add R, R", "first": 0.5, "second": 1.0}
    assert (said["same_number_of_uops"], said["up_to_hidden"]) == (1.0, None)
    assert json.loads(printed("judge", "mapping:one", "mapping:different", "--json")) == said


def test_a_data_set_tells_which_uops_can_be_seen(mappings: None) -> None:
    isa = PortMapping.objects.get(name="one").isa
    row = ExperimentSet.objects.create(name="measured", isa=isa, origin=ExperimentSet.Origin.UPLOAD)
    store_measurements(row, [Measured(Experiment.of(["add R, R"]), 0.5)])
    said = json.loads(manage("one", "different", "--json", "--dataset", "measured"))
    assert said["up_to_hidden"] == 0  # `add` is seen to differ, and of the other nothing is seen
    text = manage("one", "different", "--dataset", "measured")
    assert "0.0 % have the same µops up to those that 'measured' does not show." in text
    with pytest.raises(CommandError, match="measure"):
        manage("one", "different", "--dataset", "measure")


def test_every_scheme_goes_into_the_file(mappings: None, tmp_path: Path) -> None:
    manage("one", "different", "--csv", tmp_path / "both.csv")
    text = (tmp_path / "both.csv").read_text().splitlines()
    assert [line for line in text if line.startswith("# port mapping")] == [
        "# port mapping: one",
        "# port mapping: different",
    ]
    lines = [line for line in text if not line.startswith("#")]
    assert lines[1] == '"add R, R",different,"1×[0,1]",1×[0],0.5,1.0,100.0,0'
    assert len(lines) == 3
    with pytest.raises(CommandError, match="cannot be written"):
        manage("one", "different", "--csv", tmp_path / "nowhere" / "both.csv")


def test_mappings_that_cannot_be_compared_are_refused(mappings: None) -> None:
    with pytest.raises(CommandError, match="'one' describes toy, 'foreign' describes other"):
        manage("one", "foreign")
    with pytest.raises(CommandError, match="onne"):
        manage("onne", "one")


@pytest.fixture
def palmed(mappings: None) -> None:
    value = ResourceMapping(("R0", "R1"), {"add R, R": ((0, 0.5), (1, 0.25)), "mul R, R": ((1, 2.0),)})
    store_resource_mapping(
        "palmed", ISA.objects.get(name="toy"), value, origin=ResourceMappingRow.Origin.IMPORT
    )


def test_random_experiments_tell_how_far_two_mappings_are_apart(mappings: None) -> None:
    said = manage("one", "different", "--experiments", 50, "--length", 3, "--unit", "cycles", "--seed", 7)
    lines = said.splitlines()
    assert lines[0] == "1 of 2 common schemes use the same µops (50.0 %)."
    assert lines[-1].startswith("4 random experiments of 3 from 2 common schemes, in cycles.")
    assert lines[-3].split()[0] == "one"
    assert lines[-2].split()[0] == "different"
    told = json.loads(manage("one", "renamed", "--experiments", 50, "--r-max", 2, "--json"))["deviation"]
    assert (told["n"], told["mape"], told["r_max"], told["unit"]) == (6, 0.0, [2.0, 2.0], "ipc")


def test_a_resource_mapping_is_compared_by_what_it_predicts(palmed: None) -> None:
    told = json.loads(manage("one", "palmed", "--json"))
    assert set(told) == {"first", "second", "deviation"}
    assert (told["deviation"]["n"], told["deviation"]["common"]) == (6, 2)
    assert told["deviation"]["mape"] > 0
    assert "6 random experiments of 5 from 2 common schemes" in manage("palmed", "one")
    with pytest.raises(CommandError, match="'palmed' describes toy, 'foreign' describes other"):
        manage("palmed", "foreign")
    with pytest.raises(CommandError, match="length must be a whole number from 1 to 100, not 0"):
        manage("one", "palmed", "--length", 0)


def test_the_witness_that_contradicts_a_reference_is_named(mappings: None) -> None:
    row = PortMapping.objects.get(name="one")
    ids = scheme_ids(row.isa)
    judged = row.characterisations.create(
        scheme_id=ids["add R, R"], outcome="characterised", stage="remaining"
    )
    shown = {"blocker_id": ids["mul R, R"], "mask": 1, "copies": 10, "samples": 1, "seen": "evades"}
    judged.witnesses.create(**shown)
    said = manage("one", "different")
    assert "beside 10 × mul R, R, 0 µops cannot evade its ports, not 1" in said
    (told,) = json.loads(manage("one", "different", "--json"))["contradicted_by"].items()
    assert told[0] == "add R, R"
    assert told[1] == {"blocker": "mul R, R", "copies": 10, "mask": 1, "shown": 0, "said": 1}

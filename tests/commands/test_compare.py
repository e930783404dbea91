"""`compare` as scripts use it."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from inference.core.mapping import PortMapping as Mapping
from inference.exchange.instruction_sets import new_isa
from inference.exchange.stored import store_mapping
from inference.models import PortMapping


def manage(*arguments: object) -> str:
    out = StringIO()
    call_command("compare", *(str(argument) for argument in arguments), stdout=out)
    return out.getvalue()


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
    said = manage("one", "renamed").splitlines()
    assert said == ["Equal up to renaming ports.", "Ports of 'renamed' in 'one': x is 1, y is 0"]


def test_differences_are_listed_with_an_experiment_that_shows_them(mappings: None) -> None:
    said = manage("one", "different").splitlines()
    assert said[0] == "1 of 2 common schemes use the same µops (50.0 %)."
    assert said[2] == "Told apart by add R, R: 0.500 and 1.000 cycles, not measured"
    assert said[3] == "  add R, R: 1×[0,1] | 1×[0]"


def test_json_is_one_object(mappings: None) -> None:
    said = json.loads(manage("one", "different", "--json"))
    assert said["share"] == 0.5
    assert said["renaming"] == {"x": "1", "y": "0"}
    assert said["told_apart_by"] == [
        {"experiment": "add R, R", "first": 0.5, "second": 1.0, "measured": None}
    ]
    assert said["furthest_apart"] == {"scheme": "add R, R", "first": 0.5, "second": 1.0}


def test_every_scheme_goes_into_the_file(mappings: None, tmp_path: Path) -> None:
    manage("one", "different", "--csv", tmp_path / "both.csv")
    lines = (tmp_path / "both.csv").read_text().splitlines()
    assert lines[1] == '"add R, R",different,"1×[0,1]",1×[0],0.5,1.0,100.0'
    assert len(lines) == 3
    with pytest.raises(CommandError, match="cannot be written"):
        manage("one", "different", "--csv", tmp_path / "nowhere" / "both.csv")


def test_mappings_that_cannot_be_compared_are_refused(mappings: None) -> None:
    with pytest.raises(CommandError, match="'one' describes toy, 'foreign' describes other"):
        manage("one", "foreign")
    with pytest.raises(CommandError, match="onne"):
        manage("onne", "one")

"""`manage.py front`: the points listed, and one of them made a mapping."""

from __future__ import annotations

import json

import pytest
from django.core.management import CommandError

from inference.core.mapping import PortMapping as Mapping
from inference.models import PortMapping
from inference.storage.instruction_sets import new_isa
from inference.storage.mappings import store_mapping
from inference.storage.results import JudgedPoint, store_front
from tests.doors import printed
from tests.fronts import SIZE, front_of

pytestmark = pytest.mark.django_db

VALUE = Mapping(("0", "1"), {"a": ((1, 1),), "b": ((2, 1),), "c": ((3, 2),), "d": ((1, 2),)})


@pytest.fixture(autouse=True)
def row(db):
    isa = new_isa("toy", VALUE.usage, "a test")
    made = store_mapping("found", isa, VALUE, origin=PortMapping.Origin.RUN, source="PMEvo")
    store_front(made, [JudgedPoint(point, None) for point in front_of(VALUE, 0.05)], VALUE, None)
    return made


def said(*arguments: str) -> str:
    return printed("front", *arguments)


def test_the_points_are_listed_with_what_became_of_them():
    lines = said("found").splitlines()
    assert lines[0] == f"{SIZE} points, inferred with the port mapping 'found':"
    assert len(lines) == 2 + SIZE
    assert lines[2].split()[-1] == "found"
    assert lines[3].split()[0] == "9"


def test_as_json_for_scripts():
    told = json.loads(said("found", "--json"))
    assert told["mapping"] == "found"
    assert [point["kinds"] for point in told["points"]] == [10, 9, 8, 7]
    assert told["points"][0] == {
        "kinds": 10,
        "volume": VALUE.volume,
        "error": 0.05,
        "mape": None,
        "picked": "found",
    }


def test_a_point_is_picked_by_its_kinds_and_named():
    assert "stored as the port mapping 'small one'" in said("found", "--pick", "7", "--name", "small one")
    assert PortMapping.objects.filter(name="small one").exists()
    assert "already stored as the port mapping 'small one'" in said("small one", "--pick", "7")
    told = json.loads(said("found", "--pick", "8", "--json"))
    assert (told["mapping"], told["made"], told["kinds"]) == ("found · 8 kinds of µops", True, 8)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("fund",), "the nearest are 'found'|found"),
        (("found", "--pick", "40"), "there are 7, 8, 9, 10"),
        (("found", "--pick", "9", "--volume", "1"), "with 9 kinds"),
        (("found", "--name", "x"), "--name needs --pick"),
        (("found", "--volume", "3"), "--volume needs --pick"),
        (("found", "--pick", "8", "--name", "found"), "found"),
    ],
)
def test_what_is_wrong_is_told_and_nothing_is_made(arguments, complaint):
    with pytest.raises(CommandError, match=complaint):
        said(*arguments)
    assert PortMapping.objects.count() == 1

"""What a description of a run that cannot be is answered with."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from inference.core.events import Progress
from inference.formats.problems import ExchangeError
from inference.runs.errors import ConfigError
from inference.runs.request import AllowedTexts, RunRequest


class Errand(RunRequest):
    """Every sort of field that descriptions have."""

    noun = "an errand"
    goods: Annotated[list[int], Field(min_length=1, max_length=3)]
    shop: int | None = None
    miles: Annotated[int, Field(ge=1, le=2_000_000)] = 5
    share: Annotated[float, Field(ge=0, le=0.5)] | None = None
    hurry: bool = False
    way: Annotated[str, AllowedTexts(("foot", "cart"))] = "foot"
    unit: Literal["kg", "lb"] = "kg"
    note: Annotated[str, Field(max_length=5)] = ""
    stops: str | list[str] = ""
    about: dict[str, Any] = {}


GOOD = {"goods": [1, 2]}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "goods is missing: give a list of 1 to 3 ids"),
        ({"goods": []}, "goods must be a list of 1 to 3 ids, not []"),
        ({"goods": ["1"]}, "goods must be a list of 1 to 3 ids, not '1'"),
        ({**GOOD, "shop": "1"}, "shop must be a whole number, not '1'"),
        ({**GOOD, "miles": 0}, "miles must be a whole number from 1 to 2000000, not 0"),
        ({**GOOD, "miles": True}, "miles must be a whole number from 1 to 2000000, not true"),
        ({**GOOD, "miles": 2_000_001}, "miles must be a whole number from 1 to 2000000, not 2000001"),
        ({**GOOD, "share": 0.6}, "share must be a number from 0 to 0.5, not 0.6"),
        ({**GOOD, "share": float("nan")}, "share must be a number from 0 to 0.5, not NaN"),
        ({**GOOD, "hurry": 1}, "hurry must be true or false, not 1"),
        ({**GOOD, "way": "boat"}, "way must be one of foot, cart, not 'boat'"),
        ({**GOOD, "way": 3}, "way must be one of foot, cart, not 3"),
        ({**GOOD, "unit": "t"}, "unit must be one of kg, lb, not 't'"),
        ({**GOOD, "note": "too long"}, "note must be a text of up to 5 characters, not 'too long'"),
        ({**GOOD, "stops": 3}, "stops must be a text or a list of texts, not 3"),
        ({**GOOD, "about": []}, "about must be an object {…}, not []"),
        ({"speed": 3}, "an errand has no field 'speed'; its fields are goods, shop, miles"),
    ],
)
def test_a_field_that_cannot_be_is_named_with_what_would_be_right(given: dict[str, Any], said: str):
    with pytest.raises(ConfigError) as refused:
        Errand.read(given)
    assert str(refused.value).startswith(said)


def test_what_is_absent_has_its_default_and_a_stored_description_comes_back():
    complete = Errand.read(GOOD).as_json()
    assert complete["miles"] == Errand.default_of("miles") == 5
    assert Errand.from_stored(complete) == Errand.read(complete) == Errand.read(GOOD)


def test_an_archive_needs_what_otherwise_follows_from_rows():
    assert Errand.from_archive({**GOOD, "shop": 7}, "shop").shop == 7
    with pytest.raises(ExchangeError, match=r"run\.config, shop"):
        Errand.from_archive(GOOD, "shop")
    with pytest.raises(ExchangeError, match=r"run\.config, miles"):
        Errand.from_archive({**GOOD, "miles": "far"})


@pytest.mark.parametrize(
    ("rate", "unit", "said"),
    [
        (0.0834, "rounds", ", 12 s per round"),
        (0.1, "mappings of the first generation", ", 10 s per mapping of the first generation"),
        (0.5, "searches", ", 2 s per search"),
        (25.0, "blocks", ", 25 blocks per second"),
        (0.0, "blocks", ""),
    ],
)
def test_rates_are_told_as_people_say_them(rate: float, unit: str, said: str):
    assert Progress("measuring", 1, 9, rate, unit, None).line() == f"  1 of 9{said}"

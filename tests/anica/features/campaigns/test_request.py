"""Descriptions of campaigns: complete, or refused with what is wrong."""

from __future__ import annotations

import pytest

from anica_app.core.domain.settings import DomainSettings
from anica_app.features.campaigns.request import PRESETS, read_config
from anica_app.features.explanations.job import read_config as read_single
from anica_app.storage.domains import chosen_domain
from inference.isa.targets import DEFAULT
from inference.models import Predictor
from inference.runs.errors import ConfigError

pytestmark = pytest.mark.django_db


@pytest.fixture
def two():
    return [Predictor.objects.create(name=name, kind="mapping", key=name).pk for name in ("one", "two")]


@pytest.fixture
def other():
    return Predictor.objects.create(name="three", kind="llvm-mca", key="three").pk


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_is_a_complete_description_and_reads_as_itself(two, preset):
    complete = read_config({"predictors": two, "preset": preset})
    for name, value in PRESETS[preset].settings.items():
        groups = (complete.interest, complete.search, complete.domain, complete.space)
        assert value in [getattr(group, name) for group in groups if hasattr(group, name)]
    assert complete.scheme_filter == PRESETS[preset].filter
    assert read_config(complete.as_json()) == complete


def test_what_a_user_says_goes_before_the_preset(two):
    complete = read_config(
        {"predictors": two, "preset": "hardware", "settings": {"threshold": "3", "orders": "2"}}
    )
    assert complete.interest.threshold == 3.0
    assert complete.interest.metric == "absolute"
    assert complete.search.orders == 2


def test_mappings_alone_are_asked_for_blocks_without_dependencies(two, other):
    assert not read_config({"predictors": two}).domain.aliasing
    assert read_config({"predictors": [two[0], other]}).domain.aliasing
    assert read_config({"predictors": two, "settings": {"aliasing": "true"}}).domain.aliasing


def test_a_description_from_before_a_setting_goes_on_without_it():
    space = {"extensions": "BASE"}
    older = chosen_domain(DEFAULT, space, {"features": "mnemonic"}).settings
    assert not older.gradual
    assert not older.dependencies
    assert chosen_domain(DEFAULT, space, vars(DomainSettings())).settings == DomainSettings()


def test_a_campaign_without_an_end_takes_ten_minutes(two):
    assert read_config({"predictors": two}).end.minutes == 10
    ends = read_config({"predictors": two, "end": {"discoveries": 5, "minutes": None}}).end
    assert (ends.minutes, ends.discoveries) == (None, 5)


@pytest.mark.parametrize(
    ("change", "culprit"),
    [
        ({"predictors": []}, "predictors"),
        ({"predictors": [10**6]}, "there is no predictor"),
        ({"preset": "magic"}, "preset"),
        ({"settings": {"sample": 3}}, "'sample'"),
        ({"settings": {"samples": 0}}, "samples"),
        ({"settings": {"features": "colour"}}, "features"),
        ({"end": {"minutes": -1}}, "minutes"),
        ({"end": {"hours": 1}}, "hours"),
        ({"excluded": [10**6]}, "excluded"),
        ({"scheme_filter": "colour:red"}, "scheme_filter"),
        ({"uops": 10**6}, "uops"),
        ({"evaluate": -1}, "evaluate"),
        ({"seed": -1}, "seed"),
        ({"colour": 1}, "colour"),
    ],
)
def test_what_is_wrong_is_named(two, change, culprit):
    with pytest.raises(ConfigError, match=culprit):
        read_config({"predictors": two, **change})


def test_a_predictor_is_not_held_against_itself(two):
    with pytest.raises(ConfigError, match="different"):
        read_config({"predictors": [two[0], two[0]]})


@pytest.mark.parametrize(
    ("change", "culprit"),
    [
        ({"block": "zz"}, "block"),
        ({"block": ""}, "block"),
        ({"tolerance": 9}, "tolerance"),
        ({"batch": 1}, "batch"),
    ],
)
def test_a_block_to_generalise_is_read_like_any_other(two, change, culprit):
    with pytest.raises(ConfigError, match=culprit):
        read_single({"predictors": two, "block": "4801d8", **change})
    assert read_single({"predictors": two, "block": "4801D8"}).block == "4801d8"
    assert not read_single({"predictors": two[:1], "block": "4801d8"}).minimise

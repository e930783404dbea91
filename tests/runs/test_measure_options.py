"""How loop bodies are made, as runs are told: asked for, checked, and part of what results are known by."""

from __future__ import annotations

import pytest

from inference.agent.protocol import Settings
from inference.core.errors import MeasuringError
from inference.features.measure.job import read_config
from inference.isa.x86.assembling import unroll
from inference.isa.x86.surroundings import Options
from inference.measuring.remote import RemoteMeasurer, surroundings_of
from inference.runs.errors import ConfigError
from tests.runs.agents import make_machine

FLAGS = frozenset({"avx", "avx2", "sse", "sse2"})
ADD = "add GPR[64]:RW, GPR[64]:R"
CARRY = "adc GPR[64]:RW, GPR[64]:R"


class NoBoard:
    """Nothing is posted by these tests."""

    def __getattr__(self, name: str) -> object:
        raise MeasuringError(name)


def measurer(options: Options, *schemes: str) -> RemoteMeasurer:
    around = surroundings_of(schemes, FLAGS, options)
    return RemoteMeasurer(NoBoard(), {"machine": 1}, FLAGS, Settings(), around.avx, surroundings=around)  # type: ignore[arg-type]


@pytest.mark.django_db
def test_options_are_read_and_completed():
    machine = make_machine()
    usual = read_config({"machine": machine.pk})
    assert usual.options == Options()
    chosen = read_config({"machine": machine.pk, "unroll": 200, "breaking": True, "values": "random"})
    assert chosen.options == Options(200, True, "random")
    assert read_config(chosen.as_json()) == chosen


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"unroll": 10}, "unroll must be a whole number from 20 to 400"),
        ({"breaking": "yes"}, "breaking must be true or false"),
        ({"values": "odd"}, "values must be one of usual, zero, one, large, random"),
        ({"schemes": "avx"}, "legacy-sse, mmx, x87, avx512"),
    ],
)
def test_options_that_there_are_not_are_refused(change: dict[str, object], complaint: str):
    with pytest.raises(ConfigError, match=complaint):
        read_config({"machine": make_machine().pk, **change})


def test_usual_options_leave_the_identity_of_results_as_it_was():
    plain = RemoteMeasurer(NoBoard(), {"machine": 1}, FLAGS, Settings(), False)  # type: ignore[arg-type]
    assert measurer(Options(), ADD).identity == plain.identity
    assert "bodies" not in plain.identity
    for options in (Options(200), Options(breaking=True), Options(values="one")):
        changed = measurer(options, ADD).identity
        assert changed["bodies"] == options.as_json()
        assert changed != plain.identity


def test_breakers_are_told_where_they_stand():
    broken = measurer(Options(breaking=True), CARRY, ADD)
    assert broken.breakers(CARRY) == ("zero",)
    assert broken.breakers(ADD) == ()
    assert measurer(Options(), ADD).breakers(ADD) == ()
    assert "flags cf" in measurer(Options(), CARRY).obstacle(CARRY)


def test_values_that_a_scheme_cannot_take_are_an_obstacle():
    assert "divides by zero" in measurer(Options(breaking=True, values="zero"), CARRY).obstacle(
        "div GPR[64]:R"
    )
    assert unroll([("div GPR[64]:R", 1)], breaking=True).breakers == ("copy", "zero")

"""How loop bodies are made, as runs are told: asked for, checked, and part of what results are known by."""

from __future__ import annotations

import pytest
from django.utils import timezone

from inference.agent.protocol import Settings
from inference.core.errors import MeasuringError
from inference.features.machines.measure.job import read_config
from inference.isa.machine_bodies import Options
from inference.isa.x86.assembling import unroll
from inference.isa.x86.bodies import context_of
from inference.measuring.remote import RemoteMeasurer
from inference.models import LatencySet
from inference.runs.errors import ConfigError
from inference.runs.machines.measurer import written_lines_of
from inference.runs.measurements import note_of
from tests.runs.agents import make_machine

FLAGS = frozenset({"avx", "avx2", "sse", "sse2"})
ADD = "add GPR[64]:RW, GPR[64]:R"
CARRY = "adc GPR[64]:RW, GPR[64]:R"


class NoBoard:
    """Nothing is posted by these tests."""

    def __getattr__(self, name: str) -> object:
        raise MeasuringError(name)


def measurer(options: Options, *schemes: str) -> RemoteMeasurer:
    around = context_of(schemes, FLAGS, options)
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


def lines_of(machine, *points: tuple[int, float]) -> None:
    LatencySet.objects.create(
        name=f"with {len(points)} points",
        isa=machine.isa,
        machine=machine,
        memory=[
            {"condition": "cache lines in turn", "stored": 64, "number": lines, "cycles": cycles}
            for lines, cycles in points
        ],
    )


@pytest.mark.django_db
def test_stores_take_turns_in_as_many_lines_as_the_machine_writes_at_its_full_rate():
    machine = make_machine()
    assert written_lines_of(machine, before=timezone.now()) is None  # not measured
    lines_of(machine, *((n, 0.5 if n <= 12 else 1.04) for n in range(1, 33)))
    assert written_lines_of(machine, before=timezone.now()) == 12
    lines_of(machine, *((n, 1.0 if n > 1 else 0.5) for n in range(1, 32)))  # a Zen 4
    assert written_lines_of(machine, before=timezone.now()) is None
    lines_of(machine, *((n, 0.5 if n <= 3 else 1.0) for n in range(1, 31)))  # too few to take turns in
    assert written_lines_of(machine, before=timezone.now()) is None


def test_the_number_of_lines_belongs_to_bodies_and_to_what_results_are_known_by():
    store = "mov MEM[64]:W, GPR[64]:R"
    few, usual = (unroll([(store, 1)], written_lines=lines) for lines in (12, 20))
    places = [{text.partition("[")[2].partition("]")[0] for text in code.listing} for code in (few, usual)]
    assert [len(offsets) for offsets in places] == [12, 20]
    identity = measurer(Options(written_lines=12), ADD).identity
    assert identity["bodies"] == {"written_lines": 12}
    assert "12 cache lines" in note_of(identity)
    assert note_of(measurer(Options(), ADD).identity) == ""

"""What pages, programs and runs say of a core that issues in order."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from inference.core.mapping import PortMapping as Mapping
from inference.features.learning.core_model.storing import store_parts
from inference.isa.front_end import CodeReading, FrontEndCode, order_codes
from inference.isa.x86.scheme_set import scheme_and_form
from inference.models import Machine, MeasuredFrontEnd, PortMapping, StoredCoreModel
from inference.runs import lifecycle
from inference.runs.errors import ConfigError
from inference.storage.core_models import core_model_of, store_front_end
from inference.storage.instruction_sets import store_isa
from inference.storage.mappings import store_mapping
from tests.doors import printed
from tests.rows.library import visitor
from tests.simulated import simulated_machine

__all__ = ["visitor"]

ADD = "add GPR[64]:RW, GPR[64]:R"
TRUTH = Mapping(("0",), {ADD: ((1, 1),)})
LOAD = bytes.fromhex("488b06")
NOTICE = "issues instructions in program order"


@pytest.fixture
def machine(db: None) -> Machine:
    row = scheme_and_form(ADD)
    assert row is not None
    return simulated_machine(store_isa("x86-64", [row[0]], "a test"), TRUTH, seed=1)


def front_end_of(machine: Machine, early: float, late: float) -> MeasuredFrontEnd:
    codes: list[FrontEndCode] = [*order_codes("load", [LOAD], [LOAD])]
    readings = [
        (code, CodeReading(code.code, cycles)) for code, cycles in zip(codes, (early, late), strict=True)
    ]
    return store_front_end("its front end", machine, readings, {})


def core_of(machine: Machine, front_end: MeasuredFrontEnd) -> StoredCoreModel:
    origin = PortMapping.Origin.RUN
    mapping = store_mapping("its ports", machine.isa, TRUTH, origin=origin, machine=machine)
    return store_parts("lab", mapping, None, front_end)


@pytest.mark.parametrize(("early", "in_order"), [(9.0, True), (3.0, False)])
def test_pages_say_whether_ports_are_a_lower_bound(
    visitor: Client, machine: Machine, early: float, in_order: bool
) -> None:
    front_end = front_end_of(machine, early, 3.0)
    core = core_of(machine, front_end)
    assert core.mapping is not None
    text = "in program order" if in_order else "out of order"
    assert f"issues instructions {text}" in visitor.get(reverse("front-end", args=[front_end.pk])).text
    assert (NOTICE in visitor.get(reverse("mapping", args=[core.mapping.pk])).text) == in_order
    page = visitor.get(reverse("core-model", args=[core.pk])).text
    assert text in page
    assert ("Scheduler: it has not been looked for" in page) == (not in_order)
    issue = core_model_of(core).issue
    assert issue is not None
    assert issue.in_order == in_order


def test_a_machine_without_a_front_end_says_nothing(visitor: Client, machine: Machine) -> None:
    row = store_mapping("ports", machine.isa, TRUTH, origin=PortMapping.Origin.RUN, machine=machine)
    assert NOTICE not in visitor.get(reverse("mapping", args=[row.pk])).text


def test_programs_and_the_shell_tell_the_order(visitor: Client, machine: Machine) -> None:
    front_end = front_end_of(machine, 9.0, 3.0)
    assert visitor.get(f"/api/v1/front-ends/{front_end.pk}").json()["issue"] == "in program order"
    assert "Instructions issue in program order" in printed("front_end", "--show", front_end.name)


def test_no_scheduler_is_looked_for(machine: Machine) -> None:
    core = core_of(machine, front_end_of(machine, 9.0, 3.0))
    with pytest.raises(ConfigError, match="issues in order"):
        lifecycle.submit("scheduler", {"core_model": core.pk, "machine": machine.pk}, "its scheduler")

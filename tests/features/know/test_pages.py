"""Profile this CPU: the form, and the parts on the run's page."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse

from inference.core.mapping import PortMapping as Mapping
from inference.features.learning.know.job import KnowJob
from inference.features.learning.know.query import parts_of
from inference.features.learning.know.request import STAGES, read_config
from inference.isa.x86.scheme_set import scheme_and_form
from inference.models import Machine, Run
from inference.runs import leases, lifecycle
from inference.runs.errors import ConfigError, JobError, LeaseLostError
from inference.runs.kinds import Task
from inference.runs.parts import Parts
from inference.runs.plans import plan_of
from inference.runs.reporter import JournalReporter
from inference.storage.instruction_sets import new_isa, store_isa
from tests.rows.library import visitor
from tests.simulated import simulated_machine

__all__ = ["visitor"]

SCHEMES = ("add GPR[64]:RW, GPR[64]:R", "imul GPR[64]:RW, GPR[64]:R")


@pytest.fixture
def machine(db: None) -> Machine:
    found = [scheme_and_form(text) for text in SCHEMES]
    isa = store_isa("x86-64", [one[0] for one in found if one is not None], "a test")
    return simulated_machine(isa, Mapping(("0", "1"), dict.fromkeys(SCHEMES, ((0b11, 1),))))


def test_the_form_estimates_and_starts_a_run(visitor: Client, machine: Machine) -> None:
    address = reverse("know", args=[machine.pk])
    assert address in visitor.get(reverse("machine", args=[machine.pk])).text
    page = visitor.get(address)
    assert page.context["estimate"].effort.experiments > 0
    assert visitor.post(address, {"selection": "filter", "filter": "", "press": "start"}).status_code == 400
    visitor.post(address, {"selection": "filter", "filter": "imul", "press": "start"})
    run = Run.objects.get(kind="know")
    assert run.config["scheme_filter"] == "imul"


def test_the_default_set_is_offered_first_and_the_starter_set_as_the_quick_one(
    visitor: Client, machine: Machine
) -> None:
    page = visitor.get(reverse("know", args=[machine.pk]))
    selection = page.context["form"]["selection"]
    assert [value for value, _ in selection.field.choices][:2] == ["default", "starter"]
    assert "quick" in dict(selection.field.choices)["starter"]
    assert selection.value() == "default"
    assert page.context["estimate"].config["schemes"] == "default"
    assert "Calls, returns, push and pop are in no set" in page.text
    assert read_config({"machine": machine.pk}).schemes == "starter", "for scripts it stays what it was"


@pytest.mark.parametrize("by_name", [True, False])
def test_the_part_for_latencies_has_divisions(machine: Machine, by_name: bool) -> None:
    """Whether a selection is named, as pages do, or what it finds, as the shell does."""
    found = scheme_and_form("div GPR[64]:R")
    assert found is not None
    store_isa("x86-64", [*(scheme_and_form(text)[0] for text in SCHEMES), found[0]], "a test")  # type: ignore[index]
    division = machine.isa.schemes.get(mnemonic="div").pk
    others = list(machine.isa.schemes.filter(exclusion="").values_list("pk", flat=True))
    asked = {"schemes": "default"} if by_name else {"schemes": others, "scheme_filter": "default"}
    config = read_config({"machine": machine.pk, **asked})
    described_parts = {stage.name: stage.config_of(machine, config) for stage in STAGES}
    assert described_parts["explained"]["schemes"] == asked["schemes"]
    assert described_parts["latencies"]["schemes"] == ("default" if by_name else sorted([*others, division]))


def test_an_instruction_set_without_machine_code_has_no_such_button(visitor: Client, db: None) -> None:
    toy = simulated_machine(new_isa("toy", ["a"], "a test"), Mapping(("0",), {"a": ((1, 1),)}))
    page = visitor.get(reverse("machine", args=[toy.pk])).text
    assert reverse("know", args=[toy.pk]) not in page


def test_parts_are_shown_with_their_states(visitor: Client, machine: Machine) -> None:
    whole = lifecycle.submit("know", {"machine": machine.pk, "schemes": "all"}, "core")
    part = lifecycle.submit("front-end", {"machine": machine.pk}, "core: front end", part_of=whole)
    page = visitor.get(reverse("run", args=[whole.pk]))
    shown = {outcome.name: outcome.run for outcome in page.context["parts"]}
    assert shown["front_end"] == part
    assert shown["ports"] is None
    assert parts_of(whole) == {"front_end": part}
    assert reverse("run", args=[whole.pk]) in visitor.get(reverse("run", args=[part.pk])).text
    lifecycle.cancel(part)
    lifecycle.cancel(whole)
    ended = visitor.get(reverse("run", args=[whole.pk]))
    assert "Front end" in ended.text
    (told,) = [outcome for outcome in ended.context["parts"] if outcome.name == "front_end"]
    assert told.error == "cancelled"


def test_a_part_stays_when_the_whole_is_deleted(visitor: Client, machine: Machine) -> None:
    whole = lifecycle.submit("know", {"machine": machine.pk, "schemes": "all"}, "core")
    part = lifecycle.submit("front-end", {"machine": machine.pk}, "core: front end", part_of=whole)
    lifecycle.cancel(whole)
    assert "1 run that is a part of it" in visitor.get(reverse("run-delete", args=[whole.pk])).text
    visitor.post(reverse("run-delete", args=[whole.pk]))
    part.refresh_from_db()
    assert part.part_of is None


def test_a_lost_lease_ends_the_whole_and_a_refused_part_does_not(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = lifecycle.submit("know", {"machine": machine.pk, "schemes": "all"}, "core")
    lease = leases.claim("a test", only=whole.pk)
    assert lease is not None
    task = Task(whole, lease, JournalReporter(lease, lambda: ""), None)
    asked: list[str] = []

    def refuse(_parts: Parts, _part: Run | None, submitted: Callable[[], Run], _seconds: float) -> Run:
        asked.append("a part")
        raise ConfigError("not today")

    monkeypatch.setattr("inference.features.learning.know.job.Parts.execute", refuse)
    with pytest.raises(JobError, match=r"Ports and slots: not today; .*Scheduler: not today"):
        KnowJob().work(task)
    assert len(asked) == 5

    def lose(_parts: Parts, _part: Run | None, submitted: Callable[[], Run], _seconds: float) -> Run:
        asked.append("a part")
        raise LeaseLostError(whole.pk, 1)

    monkeypatch.setattr("inference.features.learning.know.job.Parts.execute", lose)
    with pytest.raises(LeaseLostError):
        KnowJob().work(task)
    assert len(asked) == 6  # nothing else is begun by one that may not write any more


def test_what_is_asked_of_the_whole_is_asked_of_its_parts_whoever_works_on_them(machine: Machine) -> None:
    whole = lifecycle.submit("know", {"machine": machine.pk, "schemes": "all"}, "core")
    part = lifecycle.submit("front-end", {"machine": machine.pk}, "core: front end", part_of=whole)
    other = lifecycle.submit("front-end", {"machine": machine.pk}, "another")
    lifecycle.pause(whole)
    part.refresh_from_db()
    assert part.state == Run.State.PAUSED
    lifecycle.cancel(whole)
    part.refresh_from_db()
    other.refresh_from_db()
    assert (part.state, other.state) == (Run.State.CANCELLED, Run.State.QUEUED)


def test_the_estimate_learns_from_what_the_parts_took_before(visitor: Client, machine: Machine) -> None:
    address = reverse("know", args=[machine.pk])
    before = visitor.get(address).context["estimate"].cost
    (latencies,) = [part for part, _ in before.parts if part.label == "Latencies"]
    for busy in (30.0, 50.0, 400.0):
        made = lifecycle.submit("latencies", latencies.config, f"took {busy}")
        Run.objects.filter(pk=made.pk).update(state="done", busy_seconds=busy)
    page = visitor.get(address)
    times = {part.label: time.total.likely for part, time in page.context["estimate"].cost.parts}
    assert times["Latencies"] == 50.0
    assert page.context["estimate"].effort.seconds == pytest.approx(sum(times.values()))
    run = lifecycle.submit("know", page.context["estimate"].config, "as estimated")
    left = plan_of(run).left
    assert left is not None
    assert left.likely == pytest.approx(sum(times.values())), "the form and the run's page agree"
    assert "about 50 s" in visitor.get(reverse("run", args=[run.pk])).text

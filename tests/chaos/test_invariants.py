"""What the checks of the chaos runner say of runs to which something was done."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import pytest
from django.utils import timezone

from benchmarks._chaos.invariants import Expected, check, check_leases
from benchmarks._chaos.kinds import KINDS, WITHOUT
from benchmarks._chaos.outcome import difference
from benchmarks._chaos.sampling import Sampling
from inference.features.learning.inferring.algorithms import ALGORITHMS
from inference.models import ExperimentSet, Measurement, PortMapping, Run, RunEvent
from inference.runs import leases, lifecycle
from inference.runs.kinds import RUN_KINDS
from inference.storage.instruction_sets import new_isa
from tests.runs.agents import TRUTH, attempt
from tests.runs.fixtures import done_with_interruptions
from tests.simulated import simulated_machine

pytestmark = pytest.mark.django_db

SETTINGS = {"search": "evolution", "population": 20, "max_generations": 3, "threads": 1}


@dataclass
class Pair:
    """A run that was interrupted, and what the undisturbed one says it should be like."""

    run: Run
    expected: Expected

    def sorts(self) -> list[str]:
        return [broken.sort for broken in check(self.run, self.expected)]


@pytest.fixture
def pair() -> Pair:
    isa = new_isa("toy", TRUTH.usage, "a test")
    machine = simulated_machine(isa, TRUTH)
    config = {"source": {"machine": machine.pk}, "ports": 3, "mixes": 20, "settings": SETTINGS}
    calm, run = (lifecycle.submit("infer", config, name) for name in ("calm", "disturbed"))
    attempt(calm)
    done_with_interruptions(run, patience=4, most=2)
    return Pair(run, Expected.of(calm))


def test_an_interrupted_run_keeps_every_promise(pair: Pair):
    assert pair.run.lease_token > 1
    assert check(pair.run, pair.expected) == []


def test_whatever_is_done_to_a_run_is_found_and_called_by_its_name(pair: Pair):
    """Each harm by itself; the next one is done to the rows as they were."""
    from django.db import transaction

    for harm, sort in HARMS.items():
        with transaction.atomic():
            harm(pair.run)
            pair.run.refresh_from_db()
            assert sort in pair.sorts(), f"{harm.__name__}: {check(pair.run, pair.expected)}"
            transaction.set_rollback(True)
    pair.run.refresh_from_db()
    assert pair.sorts() == []


def _events(run: Run):
    return RunEvent.objects.filter(run=run).order_by("seq")


def an_event_is_missing(run: Run) -> None:
    _events(run)[3].delete()


def the_last_event_is_missing(run: Run) -> None:
    _events(run).last().delete()


def an_event_is_told_again(run: Run) -> None:
    told = _events(run).filter(kind="generation").first()
    RunEvent.objects.create(run=run, seq=run.next_seq, kind=told.kind, payload=told.payload)
    Run.objects.filter(pk=run.pk).update(next_seq=run.next_seq + 1)


def a_step_is_not_told(run: Run) -> None:
    _events(run).filter(kind="generation").update(kind="log", payload={"text": "nothing"})


def it_ends_twice(run: Run) -> None:
    for kind in ("result", "state"):
        last = _events(run).filter(kind=kind).last()
        RunEvent.objects.create(run=run, seq=run.next_seq, kind=kind, payload=last.payload)
        run.next_seq += 1
    Run.objects.filter(pk=run.pk).update(next_seq=run.next_seq)


def it_is_given_up(run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(state="failed", error="given up")


def it_never_ends(run: Run) -> None:
    until = timezone.now() + timedelta(seconds=10)
    Run.objects.filter(pk=run.pk).update(state="running", lease_until=until, finished=None)


def a_lease_is_held_by_nobody_who_claimed_it(run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(lease_token=run.lease_token + 1)


def _measurements(run: Run):
    return Measurement.objects.filter(experiment_set__run=run).order_by("pk")


def a_measurement_is_missing(run: Run) -> None:
    _measurements(run).first().delete()


def a_measurement_is_there_twice(run: Run) -> None:
    row = _measurements(run).first()
    row.pk, row.repeat = None, 1
    row.save()


def all_are_measured_into_a_second_set(run: Run) -> None:
    row = ExperimentSet.objects.filter(run=run).first()
    copied = list(row.measurements.all())
    row.pk, row.name = None, "again"
    row.save()
    for each in copied:
        each.pk, each.experiment_set = None, row
    Measurement.objects.bulk_create(copied)


def a_measurement_differs(run: Run) -> None:
    row = _measurements(run).first()
    Measurement.objects.filter(pk=row.pk).update(cycles=row.cycles * (1 + 1e-12))


def the_mapping_differs(run: Run) -> None:
    PortMapping.objects.get(run=run).usages.first().delete()


HARMS = {
    an_event_is_missing: "gap",
    the_last_event_is_missing: "gap",
    an_event_is_told_again: "doubled",
    a_step_is_not_told: "lost",
    it_ends_twice: "doubled",
    it_is_given_up: "lost",
    it_never_ends: "lost",
    a_lease_is_held_by_nobody_who_claimed_it: "held twice",
    a_measurement_is_missing: "lost",
    a_measurement_is_there_twice: "doubled",
    all_are_measured_into_a_second_set: "doubled",
    a_measurement_differs: "different",
    the_mapping_differs: "different",
}


RUN = Run(pk=3, name="a run")


def test_a_lease_in_two_hands_is_seen():
    seen = Sampling()
    for worker in ("one:1", "two:2"):
        seen.note(RUN.pk, 7, 9, "running", worker)
    seen.note(RUN.pk, 8, 10, "running", "two:2")
    assert [broken.text for broken in check_leases(RUN, seen)] == ["lease 7 was held by one:1 and two:2"]


@pytest.mark.parametrize(
    ("later", "said"),
    [
        ((6, 9, "running"), "lease"),
        ((7, 8, "running"), "journal"),
        ((7, 9, "queued"), "done, and then queued"),
    ],
)
def test_what_goes_backwards_is_seen(later, said: str):
    seen = Sampling()
    seen.note(RUN.pk, 7, 9, "done", "one:1")
    seen.note(RUN.pk, *later, "one:1")
    assert said in check_leases(RUN, seen)[0].text


def test_a_difference_is_told_by_its_place():
    assert difference({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}) == "/a/1/b is 3, not 2"
    assert difference({"a": 1}, {"a": 1, "b": 2}) == "/b is too much"
    assert difference([1], []) == "/0 is missing"
    assert difference({"a": []}, {"a": {}}) == ""
    assert difference({"a": []}, {}) == " (entries) is 0, not 1"
    assert difference({"a": [1.0]}, {"a": [1.0]}) == ""


def test_every_kind_of_run_is_disturbed_or_there_is_a_reason_why_not():
    disturbed = set(KINDS.values())
    assert disturbed | WITHOUT.keys() == RUN_KINDS.keys() - {"count"}
    assert not disturbed & WITHOUT.keys()


def test_inferences_by_every_algorithm_are_disturbed():
    assert {name for name, registered in KINDS.items() if registered == "infer"} == ALGORITHMS.keys()


def test_no_run_is_struck_so_often_that_it_is_given_up():
    from benchmarks._chaos.chaos_run import MAX_CLAIMS

    assert MAX_CLAIMS + 1 < leases.MAX_ATTEMPTS

"""`manage.py runs`: the list, one run, and what can be done to it, as page and API do."""

from __future__ import annotations

import json

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from inference.models import Run
from inference.runs import leases
from tests.doors import agreed, printed
from tests.rows.programs import Program


def test_the_list_names_each_run_with_its_state_newest_first(run: Run, comparison: Run) -> None:
    first, second = printed("runs").splitlines()
    number, state, rest = first.split(maxsplit=2)
    assert (number, state) == (str(comparison.pk), "done")
    assert rest.startswith(f"Predictor comparison  {comparison.name}  ")
    assert rest.endswith(" s"), "how long it took"
    assert second.split()[:2] == [str(run.pk), "queued"]
    assert printed("runs", "list", "--state", "queued").splitlines() == [second]
    assert printed("runs", "--last", "1").splitlines() == [first]
    with pytest.raises(CommandError, match="--last must be at least 1"):
        call_command("runs", "--last", "0")


def test_list_and_run_are_those_of_the_api(visitor: Client, program: Program, run: Run, matrix: Run) -> None:
    listed = [json.loads(line) for line in printed("runs", "--json").splitlines()]
    assert listed == program.get("/runs")["items"]
    for row in (run, matrix):
        agreed(visitor, f"/runs/{row.pk}", "runs", "show", row.pk)


def test_a_run_is_shown_with_what_was_asked_and_what_came_of_it(run: Run, matrix: Run) -> None:
    progress = {
        "phase": "evolution",
        "label": "Evolve",
        "done": 4,
        "total": 9,
        "rate": 0,
        "unit": "",
        "eta": 7,
    }
    Run.objects.filter(pk=run.pk).update(progress=progress, error="lost\ncount")
    shown = printed("runs", "show", run.pk)
    assert shown.startswith(f"{run.pk}  queued")
    for text in ("  Ports: 3", "  Progress: Evolve: 4 of 9", "7 s to go", "  Error: lost\ncount"):
        assert text in shown
    shown = printed("runs", "show", matrix.pk)
    assert f"  Result: {matrix.result['name']}, /comparisons/{matrix.pk}/" in shown


def test_a_stage_that_has_counted_nothing_yet_is_shown_by_its_name(run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(progress={"phase": "read", "label": "Read"})
    assert "  Progress: Read: begun" in printed("runs", "show", run.pk)


def test_a_run_is_cancelled_and_a_paused_one_resumed(run: Run, question: Run) -> None:
    Run.objects.filter(pk=run.pk).update(state="paused")
    assert json.loads(printed("runs", "resume", run.pk, "--json"))["state"] == "queued"
    leases.claim("a test", only=question.pk)
    assert printed("runs", "cancel", question.pk).startswith(f"{question.pk}  running, cancel requested")
    assert printed("runs", "cancel", run.pk).startswith(f"{run.pk}  cancelled")
    with pytest.raises(CommandError, match="is cancelled and cannot be resumed; only paused runs can"):
        call_command("runs", "resume", str(run.pk))


def test_a_number_that_is_missing_or_nobody_s_is_an_error(db: None) -> None:
    with pytest.raises(CommandError, match=r"`runs show` needs a run number: `manage.py runs` lists"):
        call_command("runs", "show")
    with pytest.raises(CommandError, match=r"there is no run with number 7: `manage.py runs` lists them"):
        call_command("runs", "cancel", "7")

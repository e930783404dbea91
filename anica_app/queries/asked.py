"""What runs of kind `ask` were told, while they go on and afterwards."""

from __future__ import annotations

from dataclasses import dataclass

from anica_app.exchange.asked_answers import ANSWERS, KIND, Said, read_said
from inference.core.protocols import Json
from inference.models import Run, RunEvent

_MOST_RUNS = 50


@dataclass(frozen=True)
class Asked:
    """What each predictor said last, in the order they were first asked, and the runs that go on.

    `failed`: the newest run, where it has failed.
    """

    said: tuple[Said, ...] = ()
    working: tuple[Run, ...] = ()
    failed: Run | None = None


def asked_about(about: Json) -> Asked:
    """What was answered about something: of all runs with these entries in `about` (two queries)."""
    conditions = {f"config__about__{name}": value for name, value in about.items()}
    rows = (
        Run.objects.filter(kind=KIND, **conditions)
        .only("pk", "name", "state", "error", "config")
        .order_by("-pk")
    )
    runs = list(rows[:_MOST_RUNS])
    if not runs:
        return Asked()
    events = RunEvent.objects.filter(run__in=[run.pk for run in runs], kind=ANSWERS)
    newest: dict[int, Said] = {}
    for payload in events.order_by("run_id", "seq").values_list("payload", flat=True):
        said = read_said(payload)
        newest[said.predictor] = said
    order = dict.fromkeys(pk for run in reversed(runs) for pk in run.config["predictors"])
    return Asked(
        tuple(newest[pk] for pk in order if pk in newest),
        tuple(run for run in runs if run.state not in Run.FINAL),
        runs[0] if runs[0].state == Run.State.FAILED else None,
    )

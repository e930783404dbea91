"""Where a question came from: the step of a discovery, or the page of basic blocks."""

from __future__ import annotations

from collections.abc import Sequence

from django.urls import reverse

from anica_app.exchange.asked_answers import KIND
from anica_app.models import Generalisation
from inference.features.runs.asked import Link
from inference.features.runs.outcome import Outcome
from inference.models import Run
from inference.runs.described_rows import is_id


def origin_of(run: Run) -> Link | None:
    """What the question is about, where that is not itself (at most two queries)."""
    return _origins([run]).get(run.pk)


def answers_of(runs: Sequence[Run]) -> dict[int, Outcome]:
    """Where the answers to questions are shown: where they were asked for (two queries)."""
    origins = _origins(runs)
    return {
        run.pk: Outcome(origins[run.pk].text, origins[run.pk].url)
        if run.pk in origins
        else Outcome("Answers", reverse("asked-blocks", args=[run.pk]))
        for run in runs
    }


def _origins(runs: Sequence[Run]) -> dict[int, Link]:
    steps = {run.pk: _number(run, "generalisation") for run in runs}
    rows: dict[int, Generalisation] = {}
    if wanted := set(steps.values()) - {None}:
        found = Generalisation.objects.filter(pk__in=wanted, discovery__isnull=False)
        rows = {row.pk: row for row in found.select_related("discovery")}
    before = {run.pk: _number(run, "asked") for run in runs}
    there: set[int] = set()
    if wanted := set(before.values()) - {None}:
        there = set(Run.objects.filter(pk__in=wanted, kind=KIND).values_list("pk", flat=True))
    links = {}
    for run in runs:
        row, asked = rows.get(steps[run.pk] or 0), before[run.pk]
        if row is not None:
            links[run.pk] = _of_step(row, _number(run, "step") or 0)
        elif asked in there:
            url = f"{reverse('asked-blocks', args=[asked])}?block={_number(run, 'block') or 1}#memory"
            links[run.pk] = Link("the block whose memory accesses were varied", url)
    return links


def _of_step(row: Generalisation, step: int) -> Link:
    url = f"{reverse('discovery', args=[row.discovery_id])}?g={row.number}&step={step}#step"
    return Link(f"{row.discovery}, step {step}", url)


def _number(run: Run, name: str) -> int | None:
    """A number of what the run says that it is about, whoever wrote that."""
    found = run.config.get("about", {}).get(name)
    return found if is_id(found) else None

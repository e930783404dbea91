"""A run from elsewhere, out of its zip: stored as the record that it was, with all that it brought along.

Nothing is done again. What its description and result name is renumbered to the rows made here; machines
become rows that stand for published measurements, since nobody here can ask them.
"""

from __future__ import annotations

from typing import Any

from django.db import transaction

from inference.exchange.names import free_name
from inference.exchange.run_archive.documents import EventTold
from inference.exchange.run_archive.reading import Archive
from inference.exchange.run_archive.references import Numbers, renumbered, renumbered_result
from inference.exchange.run_archive.storing import Storing
from inference.exchange.stored import BATCH
from inference.models import Run, RunEvent
from inference.runs.archived_config import description_of


@transaction.atomic
def store_archive(
    archive: Archive, file_name: str, *, name: str = "", note: str = "", user: Any = None
) -> Run:
    """The run as a row of its own with everything in its zip, all of it or nothing.

    Without a name it has its own, with a number behind it where that is taken. Raises `ExchangeError`.
    """
    told = archive.manifest.run
    config = description_of(told.kind, told.config)
    source = f"{file_name}, run (zip)"[:300]
    run = Run.objects.create(
        name=free_name(Run, (name or told.name).strip()),
        note="\n\n".join(filter(None, (note or told.note, _origin(archive, file_name)))),
        kind=told.kind,
        state=told.state,
        error=told.error,
        created_by=user,
        started=told.started,
        finished=told.finished,
        busy_seconds=told.busy_seconds,
        next_seq=archive.events[-1].seq + 1 if archive.events else 1,
    )
    storing = Storing(archive, run, source)
    storing.store()
    run.config = renumbered(config, storing.numbers)
    run.result = renumbered_result(told.result, storing.numbers)
    run.created = told.created
    run.save(update_fields=["config", "result", "created"])
    _store_events(run, archive.events, storing.numbers)
    return run


def _origin(archive: Archive, file_name: str) -> str:
    manifest = archive.manifest
    did = ", ".join(f"{name} {version}" for name, version in manifest.versions.items())
    return f"Imported from {file_name}, written by {manifest.made_by}. Done with {did or 'unknown versions'}."


def _store_events(run: Run, events: tuple[EventTold, ...], numbers: Numbers) -> None:
    rows = [
        RunEvent(
            run=run,
            seq=event.seq,
            kind=event.kind,
            payload=renumbered_result(event.payload, numbers) if event.kind == "result" else event.payload,
        )
        for event in events
    ]
    made = RunEvent.objects.bulk_create(rows, batch_size=BATCH)
    for row, event in zip(made, events, strict=True):
        row.at = event.at  # creating says now
    RunEvent.objects.bulk_update(made, ["at"], batch_size=500)

"""A run from elsewhere, out of its zip: stored as the record that it was, with all that it brought along.

Nothing is done again. What its description and result name is renumbered to the rows made here; machines
become rows that stand for published measurements, since nobody here can ask them.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from django.db import transaction
from pydantic import TypeAdapter, ValidationError

from inference.core.errors import InvalidInputError
from inference.core.protocols import Json
from inference.exchange.errors import ExchangeError
from inference.exchange.names import free_name
from inference.exchange.run_archive.documents import EvaluationTold, EventTold
from inference.exchange.run_archive.reading import Archive
from inference.exchange.run_archive.references import Numbers, renumbered, renumbered_result
from inference.exchange.run_archive.storing import Storing
from inference.exchange.stored import BATCH
from inference.models import Run, RunEvent
from inference.runs.jobs.algorithms import ALGORITHMS
from inference.runs.jobs.block import BlockConfig
from inference.runs.jobs.check_config import CheckConfig
from inference.runs.jobs.infer_config import InferConfig
from inference.runs.jobs.measure import MeasureConfig

_DESCRIPTIONS: dict[str, Any] = {
    "infer": InferConfig,
    "measure": MeasureConfig,
    "check-model": CheckConfig,
    "block": BlockConfig,
    "import": Json,
    "evaluate": EvaluationTold,
}


@transaction.atomic
def store_archive(
    archive: Archive, file_name: str, *, name: str = "", note: str = "", user: Any = None
) -> Run:
    """The run as a row of its own with everything in its zip, all of it or nothing.

    Without a name it has its own, with a number behind it where that is taken. Raises `ExchangeError`.
    """
    told = archive.manifest.run
    _check(told.kind, told.config)
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
    run.config = renumbered(told.config, storing.numbers)
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


@cache
def _adapter(kind: str) -> TypeAdapter[Any]:
    return TypeAdapter(_DESCRIPTIONS[kind])


def _check(kind: str, config: Json) -> None:
    """Raise `ExchangeError` for a description that the pages of such a run could not show.

    Its rows may be gone, and its machine cannot be asked: it is less strict than what starts a run.
    """
    if kind not in _DESCRIPTIONS:
        raise ExchangeError(
            f"run.json: runs of the kind {kind!r} are not imported; {', '.join(_DESCRIPTIONS)} are"
        )
    try:
        value = _adapter(kind).validate_python(config, strict=False)
        if isinstance(value, InferConfig):
            if value.algorithm not in ALGORITHMS:
                raise InvalidInputError(
                    f"there is no algorithm {value.algorithm!r}; there are {', '.join(ALGORITHMS)}"
                )
            ALGORITHMS[value.algorithm].settings({**value.settings, "ports": value.ports})
            if len(value.source.keys() & {"datasets", "machine", "simulate"}) != 1:
                raise InvalidInputError("source must say exactly one of datasets, machine, simulate")
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise ExchangeError(f"run.json, run.config.{place}: {first['msg']}") from error
    except InvalidInputError as error:
        raise ExchangeError(f"run.json, run.config: {error}") from error

"""A run, as answers of the API have it."""

from __future__ import annotations

from typing import Any

from ninja import Schema
from pydantic import Field

from inference.models import Run
from inference.runs.leases import busy_seconds
from inference.storage.judging import allowed_result
from inference.web.api.shapes import Name, Note, Time, fields_of
from inference.web.validation import Id


class RunOut(Schema):
    id: Id
    name: Name = Field(examples=["PMEvo on pairs, seed 1"])
    note: Note
    kind: str = Field(examples=["infer"])
    state: str = Field(
        description="queued, running, paused, done, failed or cancelled.", examples=["running"]
    )
    wanted: str = Field(description="pause, cancel or keep, while it has not happened yet.", examples=[""])
    created: Time
    started: Time | None
    finished: Time | None
    busy_seconds: float = Field(description="Work on it so far.", examples=[83.4])
    progress: dict[str, Any] = Field(
        examples=[
            {
                "phase": "evolution",
                "label": "Evolve port mappings",
                "done": 40,
                "total": 200,
                "rate": 1.5,
                "unit": "generations",
                "eta": 107.0,
            }
        ]
    )
    result: dict[str, Any] = Field(examples=[{"mapping": 7, "name": "PMEvo on pairs, seed 1"}])
    error: str = Field(examples=[""])


def run_json(row: Run) -> dict[str, Any]:
    return fields_of(row, RunOut, result=allowed_result(row), busy_seconds=busy_seconds(row))

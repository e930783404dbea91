"""Front ends between rows and values."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from inference.core.protocols import Json
from inference.isa.front_end import Aspect, FrontEndCode
from inference.isa.timed_code import CodeReading, TimedCode
from inference.models import Machine, MeasuredFrontEnd, Run
from inference.storage.names import free_or_refuse


@transaction.atomic
def store_front_end(
    name: str,
    machine: Machine,
    readings: Sequence[tuple[FrontEndCode, CodeReading]],
    identity: Json,
    *,
    run: Run | None = None,
    note: str = "",
) -> MeasuredFrontEnd:
    """A new row of what was timed, of what did not settle as well. Raises `NameTakenError`."""
    free_or_refuse(MeasuredFrontEnd, name)
    return MeasuredFrontEnd.objects.create(
        name=name,
        note=note,
        isa=machine.isa,
        machine=machine,
        run=run,
        identity=identity,
        readings=[_json(asked, reading) for asked, reading in readings],
    )


def newest_front_end(machine: Machine, before: datetime) -> MeasuredFrontEnd | None:
    """What was measured last of a machine until then."""
    return MeasuredFrontEnd.objects.filter(machine=machine, created__lt=before).order_by("-pk").first()


def settled_readings(row: MeasuredFrontEnd) -> list[tuple[FrontEndCode, float]]:
    """What settled, as `read_front_end` wants it."""
    return [(_code(one), one["cycles"]) for one in row.readings if one["cycles"] is not None]


def _json(asked: FrontEndCode, reading: CodeReading) -> Json:
    code = asked.code
    return {
        "aspect": str(asked.aspect),
        "name": asked.name,
        "value": asked.value,
        "code": code.code.hex(),
        "instructions": code.instructions,
        "loop": code.loop,
        "copies": code.copies,
        "registers": dict(code.registers),
        "offset": code.offset,
        "cycles": None if reading.cycles is None else round(reading.cycles, 4),
        "spread": round(reading.spread, 4),
        "note": reading.note,
    }


def _code(one: Json) -> FrontEndCode:
    code = TimedCode(
        bytes.fromhex(one["code"]),
        one["instructions"],
        loop=one["loop"],
        copies=one["copies"],
        registers=tuple(one["registers"].items()),
        offset=one["offset"],
    )
    return FrontEndCode(Aspect(one["aspect"]), one["name"], one["value"], code)

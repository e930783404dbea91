"""What pages, API and shell read of front ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from inference.core.front_end import FrontEnd, FrontEndNumber, read_front_end
from inference.core.protocols import Json
from inference.isa.blocks import block_of_bytes
from inference.isa.code.block import BlockError
from inference.isa.front_end import FrontEndCode
from inference.models import Machine, MeasuredFrontEnd
from inference.storage.core_models import settled_readings
from inference.web.paging import having_words

COLUMNS = {"created": "id", "name": "name"}
_SHOWN = 8
"""Instructions of a code that are shown: of long ones, the first are like all others."""


def front_ends(text: str = "") -> QuerySet[MeasuredFrontEnd]:
    """All that were measured; those with a text in name or note."""
    rows = MeasuredFrontEnd.objects.select_related("isa", "machine")
    return rows.filter(having_words(text)) if text else rows


def front_end_of(row: MeasuredFrontEnd) -> FrontEnd:
    """What the readings of a row say."""
    return read_front_end(settled_readings(row))


@dataclass(frozen=True)
class NewestFrontEnd:
    """The last one measured on a machine, in numbers."""

    pk: int
    numbers: tuple[FrontEndNumber, ...]


HEADLINES = (
    *("slots", "nops", "loop_capacity", "straight_instructions", "straight_bytes"),
    *("taken", "untaken", "smallest_loop", "offset_cost", "fused"),
)
"""The numbers that describe a front end in a few lines."""


def newest_front_end(machine: Machine, names: Sequence[str]) -> NewestFrontEnd | None:
    """See there, with the numbers of these names; None where none was measured."""
    row = front_ends().filter(machine=machine).order_by("-id").first()
    if row is None:
        return None
    found = front_end_of(row)
    return NewestFrontEnd(row.pk, tuple(map(found.number, names)))


@dataclass(frozen=True)
class TimedText:
    """A code that a number follows from, as text, with the cycles of a copy."""

    instructions: tuple[str, ...]
    more: int
    setting: str
    cycles: float


def evidence(number: FrontEndNumber) -> list[TimedText]:
    """The codes behind a number."""
    return [_as_text(asked, cycles) for asked, cycles in number.codes]


def number_json(number: FrontEndNumber) -> Json:
    """A number with its codes, for programs."""
    return {
        "name": number.name,
        "label": number.label,
        "value": None if number.value is None else round(number.value, 4),
        "at_least": number.at_least,
        "codes": [
            {
                "code": asked.code.code.hex(),
                "loop": asked.code.loop,
                "copies": asked.code.copies,
                "offset": asked.code.offset,
                "cycles": round(cycles, 4),
            }
            for asked, cycles in number.codes
        ],
    }


def fusion_json(found: FrontEnd) -> list[Json]:
    """The pairs of comparison and branch, and of move and operation, for programs."""
    return [
        {
            "pair": pair.name,
            "fused": pair.is_fused,
            "together": round(pair.together, 4),
            "apart": round(pair.apart, 4),
        }
        for pair in (*found.fusion, *found.moves)
    ]


def _as_text(asked: FrontEndCode, cycles: float) -> TimedText:
    code = asked.code
    setting = f"loop of {code.instructions * code.copies:,} instructions" if code.copies else "loop"
    setting = setting if code.loop else "run once"
    if code.offset:
        setting += f", first byte {code.offset} behind a cache line’s"
    try:
        instructions = block_of_bytes(code.code).text.splitlines()
    except BlockError:  # jumps
        instructions = [code.code.hex()]
    return TimedText(tuple(instructions[:_SHOWN]), max(len(instructions) - _SHOWN, 0), setting, cycles)

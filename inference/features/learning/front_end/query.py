"""Front ends as numbers and codes, for pages, API and shell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from inference.core.front_end import FrontEnd, FrontEndNumber, read_front_end
from inference.core.protocols import Json
from inference.core.simulation.program import IssueOrder
from inference.isa.blocks import block_of_bytes
from inference.isa.code.block import BlockError
from inference.isa.front_end import FrontEndCode
from inference.models import Machine, MeasuredFrontEnd
from inference.storage.core_models import settled_readings
from inference.web.paging import having_words

COLUMNS = {"created": "id", "name": "name"}
_LISTED = 8
"""Number of instructions listed of a code: the others of a long one repeat these."""


def front_ends(text: str = "") -> QuerySet[MeasuredFrontEnd]:
    """Front ends, filtered by a text in name or note."""
    rows = MeasuredFrontEnd.objects.select_related("isa", "machine__isa")
    return rows.filter(having_words(text)) if text else rows


def front_end_of(row: MeasuredFrontEnd) -> FrontEnd:
    return read_front_end(settled_readings(row))


@dataclass(frozen=True)
class NewestFrontEnd:
    """The numbers of a machine's newest front end."""

    pk: int
    numbers: tuple[FrontEndNumber, ...]


HEADLINES = (
    *("slots", "nops", "loop_capacity", "straight_instructions", "straight_bytes"),
    *("taken", "untaken", "smallest_loop", "offset_cost", "fused"),
)
"""The numbers that summarise a front end."""


def newest_front_end(machine: Machine, names: Sequence[str]) -> NewestFrontEnd | None:
    """The named numbers of a machine's newest front end; None if none was measured."""
    row = _newest_row(machine)
    if row is None:
        return None
    front_end = front_end_of(row)
    return NewestFrontEnd(row.pk, tuple(map(front_end.number, names)))


def issue_of(machine: Machine) -> IssueOrder | None:
    """Whether a machine's core issues in order, by its newest front end; None where that is not known."""
    row = _newest_row(machine)
    return None if row is None else front_end_of(row).issue


def _newest_row(machine: Machine) -> MeasuredFrontEnd | None:
    return front_ends().filter(machine=machine).order_by("-id").first()


@dataclass(frozen=True)
class TimedText:
    """A timed code behind a number, as text, with the cycles of one copy.

    Attributes:
        more: Number of instructions that are not listed.
        setting: How the code ran, such as `run once`.
    """

    instructions: tuple[str, ...]
    more: int
    setting: str
    cycles: float


def evidence(number: FrontEndNumber, isa: str) -> list[TimedText]:
    return [_as_text(code, cycles, isa) for code, cycles in number.codes]


def number_json(number: FrontEndNumber) -> Json:
    """A number with its codes, in the API's form."""
    return {
        "name": number.name,
        "label": number.label,
        "value": None if number.value is None else round(number.value, 4),
        "at_least": number.at_least,
        "codes": [
            {
                "code": timed.code.code.hex(),
                "loop": timed.code.loop,
                "copies": timed.code.copies,
                "offset": timed.code.offset,
                "cycles": round(cycles, 4),
            }
            for timed, cycles in number.codes
        ],
    }


def fusion_json(front_end: FrontEnd) -> list[Json]:
    """Pairs of comparison and branch, and of move and operation, in the API's form."""
    return [
        {
            "pair": pair.name,
            "fused": pair.is_fused,
            "together": round(pair.together, 4),
            "apart": round(pair.apart, 4),
        }
        for pair in (*front_end.fusion, *front_end.moves)
    ]


def _as_text(timed: FrontEndCode, cycles: float, isa: str) -> TimedText:
    code = timed.code
    if not code.loop:
        setting = "run once"
    elif code.copies:
        setting = f"loop of {code.instructions * code.copies:,} instructions"
    else:
        setting = "loop"
    if code.offset:
        setting += f", first byte {code.offset} after a cache line’s"
    try:
        instructions = block_of_bytes(code.code, isa).text.splitlines()
    except BlockError:  # a block has no jumps, of which some of these codes consist
        instructions = [code.code.hex()]
    return TimedText(tuple(instructions[:_LISTED]), max(len(instructions) - _LISTED, 0), setting, cycles)

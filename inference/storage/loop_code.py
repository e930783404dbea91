"""What loops of some sizes take on a core, as a mapping's report keeps it beside the ports."""

from __future__ import annotations

from inference.core.core_model.loop_code import LoopCode
from inference.core.protocols import Json

KEY = "loop_code"
"""Where a mapping's report has what the experiments that it was made from say."""


def loop_code_rows(code: LoopCode) -> list[list[float]]:
    """`[instructions, bytes, cycles]` of each size, ascending."""
    return [[*size, cycles] for size, cycles in sorted(code.items())]


def loop_code_in(report: Json) -> LoopCode:
    """What a mapping's report says, {} where it says nothing."""
    return {(instructions, size): cycles for instructions, size, cycles in report.get(KEY, ())}

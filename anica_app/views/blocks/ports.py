"""The part of a block's page about ports: a chosen mapping, the load of each instruction, the picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest

from inference.core.mapping import Uops
from inference.isa.x86.blocks import Block
from inference.models import ISA
from inference.queries.block_load import BlockLoad, describing, load_of
from inference.views.address import whole_number
from inference.views.experiments.picture import picture

SHADES = 4
"""Steps from no load to the load of the busiest port."""


def ports_context(
    request: HttpRequest, block: Block, isa: ISA | None, schemes: dict[str, int]
) -> dict[str, Any]:
    """What `anica/block/ports.html` needs; `schemes`: {text: row id} of the block (three queries)."""
    choices = [] if isa is None else describing(schemes.values(), isa)
    wanted = whole_number(request, "mapping")
    chosen = next((one for one in choices if one.mapping.pk == wanted), choices[0] if choices else None)
    load = None if chosen is None else load_of(block, chosen.mapping)
    context: dict[str, Any] = {
        "choices": choices,
        "distinct": len(block.terms),
        "load": load,
        "no_such_mapping": wanted is not None and (chosen is None or chosen.mapping.pk != wanted),
    }
    if load is not None:
        drawn = picture(load.schedule, load.experiment.terms)
        letters = {text: letter for letter, text, _ in drawn.schemes}
        context |= {"drawing": drawn, "rows": list(_rows(block, load, letters))}
    return context


def _rows(
    block: Block, load: BlockLoad, letters: dict[str, str]
) -> Sequence[tuple[str, str, Uops | None, list[tuple[float, int]]]]:
    """Letter in the picture, text, µops, and per port (cycles, shade) of every instruction."""
    most = max((max(one.ports) for one in load.instructions if one.ports), default=0.0)
    return [
        (
            letters.get(instruction.scheme or "", ""),
            instruction.text,
            one.uops,
            [(cycles, _shade(cycles, most)) for cycles in one.ports or ()],
        )
        for instruction, one in zip(block.instructions, load.instructions, strict=True)
    ]


def _shade(cycles: float, most: float) -> int:
    """0 for no load, else 1 to `SHADES`."""
    return 0 if cycles <= 0 else max(1, round(SHADES * cycles / most))

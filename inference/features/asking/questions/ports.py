"""The part of a block's page about ports: a chosen mapping, the load of each instruction, the picture."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from inference.features.asking.blocks.load_table import load_context
from inference.features.asking.blocks.port_load import describing, load_of
from inference.isa.blocks import Block
from inference.models import ISA
from inference.web.requests import whole_number


def ports_context(
    request: HttpRequest, block: Block, isa: ISA | None, schemes: dict[str, int]
) -> dict[str, Any]:
    """What `inference/questions/ports.html` needs; `schemes`: {text: row id} of the block (three queries)."""
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
        context |= load_context(block, load)
    return context

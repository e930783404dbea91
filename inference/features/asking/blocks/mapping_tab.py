"""The tab of a mapping in which a loop is tried: predicted cycles and the load of the ports, at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

from inference.features.asking.blocks.load_table import load_context
from inference.features.asking.blocks.port_load import load_of
from inference.isa.blocks import Block, BlockError, Piece, piece_of, read
from inference.isa.bodies import obstacle_to_blocks
from inference.isa.targets import target_of
from inference.models import PortMapping
from inference.storage.instruction_sets import code_isa

MOST_CODE = 3000
"""Characters of a loop: it travels in the address."""

MOST_PIECES = 100
"""Loops and straight pieces of a text that there is a choice of."""

TIE = 1e-9
"""Cycles by which loads that count as equal may differ."""


def suits(row: PortMapping) -> bool:
    """Whether loops of the mapping's instruction set can be read, or why not can be said."""
    return target_of(row.isa.name).bodies is not None


def loop_tab(request: HttpRequest, row: PortMapping) -> dict[str, Any]:
    """The loop in the address (`code`), decoded, and what its µops take up of each port (one query)."""
    code = request.GET.get("code", "").strip()
    context: dict[str, Any] = {"code": code, "most_code": MOST_CODE}
    if obstacle := obstacle_to_blocks(row.name, row.isa.name):
        return {**context, "obstacle": obstacle, "error": obstacle if code else ""}
    if not code:
        return context
    if len(code) > MOST_CODE:
        error = f"The loop has {len(code):,} characters; up to {MOST_CODE:,} are read"
        return {**context, "code": "", "error": error}
    try:
        reading = read(code, MOST_PIECES)
        pieces = reading.pieces
        chosen = _chosen(pieces, request.GET.get("piece", ""))
    except BlockError as problem:
        return {**context, "error": f"Nothing was decoded: {problem}"}
    everybody = f"{reverse('blocks')}?{urlencode({'isa': code_isa(row.isa), 'code': code})}"
    return {
        **context,
        **_predicted(chosen.block, row),
        "block_page": everybody,
        "pieces": pieces if len(pieces) > 1 else (),
        "piece": chosen,
        "dropped": reading.dropped,
    }


def _chosen(pieces: Sequence[Piece], wanted: str) -> Piece:
    """The piece of this name or number; at first the first loop or piece. Raises `BlockError`."""
    if wanted:
        return piece_of(pieces, wanted)
    return next((piece for piece in pieces if piece.block.closing is not None), pieces[0])


def _predicted(block: Block, row: PortMapping) -> dict[str, Any]:
    load = load_of(block, row)
    if load is None:
        return {"undescribed": True}
    cycles, loads = load.schedule.cycles, load.schedule.loads
    fullest = max(loads, default=0.0)
    full = [(name, bit) for bit, name in enumerate(row.ports) if fullest and loads[bit] > fullest - TIE]
    ipc = len(block.listing) / cycles if cycles else None
    return {**load_context(block, load), "full_ports": full, "ipc": ipc}

"""The load that a block puts on the ports of a mapping: the table of its instructions, and the picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from inference.core.mapping import Uops
from inference.features.asking.blocks.port_load import BlockLoad
from inference.features.library.experiments.picture import picture
from inference.isa.blocks import Block
from inference.storage.judging import grounds_of

SHADES = 4
"""Steps from no load to the load of the busiest port."""


def load_context(block: Block, load: BlockLoad) -> dict[str, Any]:
    drawn = picture(load.schedule, load.experiment.terms)
    letters = {text: letter for letter, text, _ in drawn.schemes}
    return {"load": load, "drawing": drawn, "load_rows": list(_rows(block, load, letters))}


def _rows(
    block: Block, load: BlockLoad, letters: dict[str, str]
) -> Sequence[tuple[str, str, Uops | None, list[tuple[float, int]], Sequence[str]]]:
    """Letter in the picture, text, µops, per port (cycles, shade), and what other results say instead, of
    every instruction."""
    grounds = grounds_of(load.mapping, load.experiment.schemes)
    most = max((max(one.ports) for one in load.instructions if one.ports), default=0.0)
    return [
        (
            letters.get(one.scheme, ""),
            text,
            one.uops,
            [(cycles, _shade(cycles, most)) for cycles in one.ports or ()],
            grounds.conflict_words(one.scheme),
        )
        for (_, text), one in zip(block.listing, load.instructions, strict=True)
    ]


def _shade(cycles: float, most: float) -> int:
    """0 for no load, else 1 to `SHADES`."""
    return 0 if cycles <= 0 else max(1, round(SHADES * cycles / most))

"""Sets of basic blocks."""

from __future__ import annotations

import contextlib

from inference.isa.blocks import BlockError, block_of_bytes
from inference.models import BasicBlockSet


def scheme_texts(name: str) -> list[str]:
    """The schemes that occur in the blocks of the set of this name. Raises `LookupError`."""
    row = BasicBlockSet.objects.filter(name=name).first()
    if row is None:
        raise LookupError(f"there is no block set {name!r}")
    found: dict[str, None] = {}
    for code in row.blocks.values_list("code", flat=True).iterator(chunk_size=1000):
        with contextlib.suppress(BlockError):
            found |= dict.fromkeys(text for text, _ in block_of_bytes(bytes(code)).terms)
    return sorted(found)

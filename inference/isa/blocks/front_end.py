"""Code that shows a front end, by its instruction set. All raise `BlockError` where there is none."""

from __future__ import annotations

from collections.abc import Sequence

from inference.isa.code.errors import BlockError
from inference.isa.facets import FrontEndMaker
from inference.isa.front_end import FetchedInstruction, FrontEndCode
from inference.isa.targets import DEFAULT, target_of


def _maker(isa: str) -> FrontEndMaker:
    maker = target_of(isa).front_end
    if maker is None:
        raise BlockError(f"there is no code yet that shows the front end of a core of {isa}")
    return maker


def front_end_codes(isa: str, *, offsets: bool) -> tuple[FrontEndCode, ...]:
    """All of them; `offsets`: also loops that begin elsewhere than at a cache line."""
    return _maker(isa).front_end_codes(offsets=offsets)


def fetched(code: bytes, isa: str = DEFAULT) -> Sequence[FetchedInstruction]:
    """The instructions of machine code as a front end sees them."""
    return _maker(isa).fetched(code)

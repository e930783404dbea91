"""The machine code around a loop body, for whichever instruction set: see `targets`."""

from __future__ import annotations

from inference.agent.protocol import Frame
from inference.agent.targets import FrameError, target_of

__all__ = ["FrameError", "function"]


def function(frame: Frame, body: bytes) -> bytes:
    """A function `void f(uint64 iterations, void *memory)`, for an address that is a multiple of 64.

    Raises `FrameError`.
    """
    return target_of(frame.isa).function(frame, body)

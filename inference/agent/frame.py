"""The machine code around a loop body, for whichever instruction set: see `targets`."""

from __future__ import annotations

from inference.agent.protocol import Frame
from inference.agent.targets import TARGETS, FrameError, target_of

__all__ = ["FrameError", "function", "plain_frame"]


def function(frame: Frame, body: bytes) -> bytes:
    """A function `void f(uint64 iterations, void *memory)`, for an address that is a multiple of 64.

    Raises `FrameError`.
    """
    return target_of(frame.isa).function(frame, body)


def plain_frame(frame: Frame) -> Frame:
    """The frame of loop bodies with known answers, measured in between: this one if it is for such."""
    targets = (target for target in TARGETS if frame.isa == target.ISA and frame.pages)
    return next((target.frame(avx=frame.avx) for target in targets), frame)

"""What measuring needs to know of each instruction set; the rest of the agent is the same for all.

| module | instruction set |
|---|---|
| `target` | the interface: frame, clock, known answers, instruction cache |
| `x86_64` | x86-64 |
| `aarch64` | AArch64, the 64-bit state of Armv8-A |
| `riscv64` | RISC-V of 64 bits |
| `block_state`, `x86_blocks`, `aarch64_blocks` | what surrounds basic blocks |

`words` and `riscv_words` have the instruction encodings that the last two are written in.
"""

from __future__ import annotations

import platform

from inference.agent.protocol import Frame
from inference.agent.targets import aarch64, riscv64, x86_64
from inference.agent.targets.target import CHAIN_LENGTH, FrameError, Target

__all__ = ["CHAIN_LENGTH", "TARGETS", "FrameError", "Target", "native", "target_for", "target_of"]

TARGETS: tuple[Target, ...] = (x86_64, aarch64, riscv64)
_MACHINE = platform.machine()  # asked here: confined processes make no more system calls than they must


def target_of(isa: str) -> Target:
    """The target of this name. Raises `FrameError`."""
    for target in TARGETS:
        if isa == target.ISA:
            return target
    raise FrameError(f"this agent builds frames for {_names()}, not for {isa}")


def native(machine: str | None = None) -> Target:
    """The target of this computer, or of one that calls itself `machine`. Raises `FrameError`."""
    machine = machine or _MACHINE
    for target in TARGETS:
        if machine in target.MACHINES:
            return target
    raise FrameError(f"measuring needs a processor of {_names()}; this is {machine}")


def target_for(frame: Frame) -> Target:
    """The target of a frame that is to be executed here. Raises `FrameError`."""
    target = native()
    if frame.isa != target.ISA:
        raise FrameError(f"the frame is for {frame.isa}, and this computer is {target.ISA}")
    return target


def _names() -> str:
    *names, last = (target.ISA for target in TARGETS)
    return f"{', '.join(names)} or {last}"

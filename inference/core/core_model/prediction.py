"""A prediction for a block on a core as a value, and what it is asked with."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from inference.core.core_model.dependences import ChainStep

LIMITING = 0.9
"""Share of the largest other bound from which on the scheduler's ports limit a block."""


class BoundKind(StrEnum):
    """What a bound is made of; each can be left out of a prediction."""

    PORTS = "ports"
    SLOTS = "slots"
    INSTRUCTIONS = "instructions"
    DEPENDENCES = "dependencies"
    MEMORY = "memory"
    FRONT_END = "front end"
    SCHEDULER = "scheduler"


@dataclass(frozen=True)
class CoreBound:
    """Cycles per iteration that a block takes at least, and `why` in a few words.

    `chain`: of dependencies, through memory or not, the steps that take as long.
    """

    kind: BoundKind
    cycles: float
    why: str
    chain: tuple[ChainStep, ...] = ()


@dataclass(frozen=True, slots=True)
class TakenScheme:
    """A scheme that was taken for another one, and in what they differ.

    `parts`: what of the nearest one it has, in words.
    """

    scheme: str
    nearest: str
    differs: str
    parts: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """`add GPR[16]:RW, GPR[16]:R as add GPR[32]:RW, GPR[32]:R (other width): ports, latencies`."""
        parts = f": {', '.join(self.parts)}" if self.parts else ""
        return f"{self.scheme} as {self.nearest} ({self.differs}){parts}"


@dataclass(frozen=True)
class CorePrediction:
    """`bounds`, the largest first; `lacking`: what the model does not know of the block, in words.

    `unknown`: schemes without µops; while there are any, ports and slots say too little. `taken`: those of
    the block that were taken for others.
    """

    bounds: tuple[CoreBound, ...]
    lacking: tuple[str, ...]
    unknown: tuple[str, ...]
    taken: tuple[TakenScheme, ...] = ()

    @property
    def cycles(self) -> float:
        """The largest bound, 0 without any."""
        return self.bounds[0].cycles if self.bounds else 0.0

    @property
    def chain(self) -> tuple[ChainStep, ...]:
        """The critical chain, where it is the largest bound."""
        return self.bounds[0].chain if self.bounds else ()


@dataclass(frozen=True)
class Assumptions:
    """Bounds that are left out, and whether registers start `alike`: different ones lead to one place then,
    as where machines measure blocks. `nearest`: what is not described is taken from the nearest scheme.
    `in_loop`: code without a jump is copies in a loop."""

    without: Collection[BoundKind] = ()
    alike: bool = True
    nearest: bool = False
    in_loop: bool = False


@dataclass(frozen=True)
class CodeShape:
    """A block's machine code: its `size` in bytes, and whether it is a loop, or `copied` into one.

    `pairs`: names of instructions and conditional jumps right behind them, which a core may make one of, as
    `FrontEndLimits.fused` has them; that of a loop's own jump is the last, "" where it stands alone. Of what
    is `copied`, the pair alone that counts the iterations.
    `copies`: of straight code, until code comes again that was executed before. `moves`: as `pairs`, of
    register moves and operations on the copy right behind them. `limiting`: the share of the largest other
    bound from which on ports limit the code, so that its scheduler is simulated.
    """

    size: int
    loop: bool
    pairs: tuple[str, ...] = ()
    copied: bool = False
    copies: int = 1
    moves: tuple[str, ...] = ()
    limiting: float = LIMITING

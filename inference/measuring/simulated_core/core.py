"""Cycles of machine code on a simulated core: fetching, then the scheduler; and an agent's harness."""

from __future__ import annotations

import asyncio
import hashlib
import random
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from inference.agent.protocol import Batch, BatchItem, Frame, Result
from inference.core.core_model.front_end_limits import FrontEndLimits
from inference.core.core_model.model import CoreModel
from inference.core.core_model.simulated_program import UndescribedSchemeError
from inference.core.errors import InvalidInputError
from inference.core.simulation.program import Binding, SchedulerPolicy, SimulatedProgram, SimulatedUop
from inference.core.simulation.steady_state import simulate
from inference.isa.code.block import BlockError
from inference.measuring.simulated import MIN_FACTOR
from inference.measuring.simulated_agent import PacedHarness
from inference.measuring.simulated_core.code import ExecutedCode, executed_code
from inference.measuring.simulated_core.renaming import renamed_uops

_OPTIMAL = SchedulerPolicy(binding=Binding.AT_ISSUE, queued=160, window=512)
"""Of a truth without a scheduler: the oldest µops that are ready take whichever of their ports are free."""

_CACHE_SIZE = 8192
"""Codes: a drift check measures some again, and a resumed run all of its last batch."""


@dataclass(frozen=True, eq=False)
class SimulatedCore:
    """A core that executes code.

    Args:
        isa: Its instruction set.
        model: All that is true of it. Parts that are not executed: `alone`, `bypasses`, `loop_code`,
            `unqueued`, and of the memory what is neither the load nor forwarding.
        name: Name of the core.

    Raises:
        InvalidInputError: The model has no ports, or neither a scheduler nor slots per cycle.
    """

    isa: str
    model: CoreModel
    name: str = ""

    def __post_init__(self) -> None:
        if self.model.mapping is None:
            raise InvalidInputError("a simulated core needs the ports of its instructions")
        if self.width < 1:
            raise InvalidInputError(
                "a simulated core needs slots per cycle: of its scheduler, its front end or its ports"
            )

    @property
    def width(self) -> int:
        """Slots that it dispatches per cycle; 0 where the model has none."""
        if self.model.scheduler is not None:
            return self.model.scheduler.width
        slots = None if self.model.front_end is None else self.model.front_end.slots
        assert self.model.mapping is not None, "a core has ports"
        return round(slots or self.model.mapping.issue_width or self.model.mapping.r_max or 0)

    @property
    def identity(self) -> str:
        """A digest of the instruction set and the model."""
        return hashlib.sha256(repr((self.isa, self.model)).encode()).hexdigest()

    def cycles(self, frame: Frame, item: BatchItem) -> float:
        """Cycles per copy of an item, in the steady state.

        Of a loop, all copies and what closes it are executed; of copies that run once, one after the other.

        Raises:
            BlockError: For code that it cannot decode or execute.
            UndescribedSchemeError: The model does not have the µops of an instruction.
        """
        copy = item.code[: len(item.code) // item.copies]
        if frame.unrolled and copy * item.copies == item.code:
            return self._iteration(copy, is_loop=False, in_blocks=bool(frame.pages))
        in_blocks = bool(frame.pages)
        return self._iteration(item.code, is_loop=not frame.unrolled, in_blocks=in_blocks) / item.copies

    @lru_cache(maxsize=_CACHE_SIZE)  # noqa: B019  the only core of its process
    def _iteration(self, code: bytes, *, is_loop: bool, in_blocks: bool) -> float:
        """Cycles of an execution of the code. `in_blocks`: registers start with equal numbers."""
        limits = self.model.front_end or FrontEndLimits()
        executed = executed_code(code, self.isa, limits.fused or (), equal_start=in_blocks)
        uops = renamed_uops(executed, self.model)
        jumps = executed.jumps + is_loop  # a counter is fused with the jump that closes it
        uops += [SimulatedUop(0, len(executed.instructions) + number) for number in range(jumps)]
        slots = sum(uop.slots for uop in uops)
        interval = _fetch_cycles(executed, limits, slots, is_loop=is_loop)
        program = SimulatedProgram(tuple(uops), len(self._ports), self.width, interval)
        return simulate(program, self._policy).cycles

    @property
    def _policy(self) -> SchedulerPolicy:
        if self.model.issue is not None and self.model.issue.in_order:
            return self.model.issue.policy
        return _OPTIMAL if self.model.scheduler is None else self.model.scheduler.policy

    @property
    def _ports(self) -> tuple[str, ...]:
        assert self.model.mapping is not None, "a core has ports"
        return self.model.mapping.ports


def _fetch_cycles(code: ExecutedCode, limits: FrontEndLimits, slots: int, *, is_loop: bool) -> float:
    """The fewest cycles from iteration to iteration by what precedes dispatch."""
    instructions = len(code.instructions) + code.jumps
    detours = code.detours + is_loop
    bounds = [slots / limits.slots if limits.slots else 0.0, detours / limits.taken if limits.taken else 0.0]
    capacity = limits.loop_capacity
    if not is_loop or (capacity is not None and instructions > capacity):
        bounds.append(instructions / limits.straight_instructions if limits.straight_instructions else 0.0)
        bounds.append(code.size / limits.straight_bytes if limits.straight_bytes else 0.0)
    return max(bounds)


class ExecutingCore(Protocol):
    """Whatever tells the cycles of machine code."""

    @property
    def isa(self) -> str: ...

    @property
    def name(self) -> str: ...

    def cycles(self, frame: Frame, item: BatchItem) -> float:
        """Cycles per copy of an item, in the steady state. Raises `BlockError` and
        `UndescribedSchemeError`.
        """


_PASSES = 3  # of an item, of which the median counts


class ExecutingHarness(PacedHarness):
    """Executes the code of each item; its terms are not read.

    Args:
        core: Executes it.
        noise: Standard deviation of a Gaussian factor around 1 on each pass.
        seed: Seed of the noise, which depends on it and on the code alone.
        pace: Pace as for `PacedHarness`.
        contended_share: Contended share as for `PacedHarness`.
    """

    def __init__(
        self,
        core: ExecutingCore,
        *,
        noise: float = 0.0,
        seed: int = 0,
        pace: float = 0.0,
        contended_share: float = 0.0,
    ) -> None:
        super().__init__(noise=noise, pace=pace, contended_share=contended_share, seed=seed)
        if not 0 <= noise < 1:
            raise InvalidInputError(f"noise is a standard deviation in [0, 1), not {noise!r}")
        self._core = core

    async def _answers(self, batch: Batch) -> list[Result]:
        results = []
        for item in batch.items:
            results.append(self._answer(batch.frame, item))
            await asyncio.sleep(0)  # heartbeats go on
        return results

    def _answer(self, frame: Frame, item: BatchItem) -> Result:
        try:
            cycles = self._core.cycles(frame, item)
        except (BlockError, UndescribedSchemeError) as error:
            return Result(item.id, "failed", note=str(error))
        if cycles <= 0:
            return Result(item.id, "failed", note="it takes no measurable time")
        dice = random.Random(f"{self._seed} {item.id}")  # noqa: S311  not for secrets
        passes = sorted(cycles * max(MIN_FACTOR, dice.gauss(1, self._noise)) for _ in range(_PASSES))
        return Result(item.id, "settled", passes[_PASSES // 2], passes[-1] - passes[0], _PASSES)

"""A simulated core whose instructions wait for each other as it is told, executing chains and blocks alike.

Instructions are dispatched in order, so many per cycle, and have as many ports as they need: what limits a
code is its dependences alone. Through memory nothing waits.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from inference.core.latency import ChainReading
from inference.isa.blocks import accesses_of, block_of_bytes
from inference.isa.chains import DependencyChain
from inference.isa.dependences import InstructionAccesses

_TURNS = 40
_IN_TIME = 1e-6
"""Cycles up to which a source is there when its instruction is dispatched, beside rounding."""


@dataclass(frozen=True, slots=True)
class OperandWait:
    """An instruction that waits for a source: `by` this instruction it was written.

    `is_queued`: the instruction was dispatched before its source was there. `is_read`: False for the old
    value of what is only written.
    """

    instruction: InstructionAccesses
    source: str
    destination: str
    by: InstructionAccesses
    is_queued: bool
    is_read: bool


WaitingTime = Callable[[OperandWait], float | None]
"""Cycles from a source to a destination; None where that does not wait for it."""


@dataclass(frozen=True)
class DataflowCore:
    """`cycles` of a wait; `width`: instructions that are dispatched per cycle. `noise`: standard deviation of
    a Gaussian factor of each reading, the same for the same chain, seed and repeat.
    """

    cycles: WaitingTime
    width: int = 8
    noise: float = 0.0
    seed: int = 1

    def measure(self, chains: Sequence[DependencyChain], repeat: int = 0) -> Iterator[ChainReading]:
        for chain in chains:
            dice = random.Random(zlib.crc32(chain.code, repeat) ^ self.seed)
            cycles = self.per_turn(accesses_of(block_of_bytes(chain.code), equal_start=True))
            yield ChainReading(chain, cycles * dice.gauss(1, self.noise))

    def per_turn(self, code: Sequence[InstructionAccesses]) -> float:
        """Cycles that an iteration of code takes in the long run."""
        first, second = self._until_done(code, _TURNS), self._until_done(code, 2 * _TURNS)
        return (second - first) / _TURNS

    def _until_done(self, code: Sequence[InstructionAccesses], turns: int) -> float:
        written: dict[str, tuple[float, InstructionAccesses]] = {}
        done = 0.0
        for number, instruction in enumerate(instruction for _ in range(turns) for instruction in code):
            dispatched = number / self.width
            results = {
                write.location: self._result(instruction, write.operand, dispatched, written)
                for write in instruction.writes
                if write.location
            }
            done = max([dispatched, done, *results.values()])
            written |= {location: (time, instruction) for location, time in results.items()}
        return done

    def _result(
        self,
        instruction: InstructionAccesses,
        destination: str,
        dispatched: float,
        written: dict[str, tuple[float, InstructionAccesses]],
    ) -> float:
        """When a destination is there."""
        times = [dispatched]
        read = {access.operand for access in instruction.reads}
        unread = (access for access in instruction.writes if access.operand not in read)
        for source in (*instruction.reads, *unread):
            if source.location not in written:
                continue
            ready, by = written[source.location]
            is_queued = ready > dispatched + _IN_TIME
            wait = OperandWait(
                instruction, source.operand, destination, by, is_queued, source.operand in read
            )
            if (cycles := self.cycles(wait)) is not None:
                times.append(max(ready, dispatched) + cycles)
        return max(times)

"""A processor whose front end is known, as a timer of codes."""

from __future__ import annotations

import itertools
import random
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

from inference.isa.blocks import MAX_INSTRUCTIONS, accesses_of, block_of_bytes
from inference.isa.bodies import front_end_maker
from inference.isa.dependences import reads_of_preserved_flags
from inference.isa.front_end import CodeReading, FetchedInstruction, TimedCode
from inference.isa.targets import DEFAULT

_LINE = 64  # bytes of a cache line
_COUNTER_BYTES = 9
"""Bytes of the instructions that close a loop."""

_PASSES = 5  # of a reading, of which the median counts


@dataclass(frozen=True)
class SimulatedFrontEnd:
    """Rates of a front end, per cycle.

    Args:
        slots: In loops of up to `capacity` instructions.
        decoded: Instructions in other code.
        fetched_bytes: Bytes in other code.
        capacity: Instructions of the µop cache.
        taken: Taken branches.
        untaken: Branches that are not taken.
        crossing: Additional cycles of a short loop that crosses a cache line.
        wide: Slots of an instruction with a number of four bytes or more.
        fused: Mnemonics of comparisons that are fused with a branch behind them.
        min_mean_bytes: Mean bytes that instructions of a loop need, not to take a quarter longer.
        portless: Register moves and zeroing idioms; 0 for as many as `slots`.
        kept_flags: Cycles of a shift by 0 whose flags are read.
        moved: Mnemonics of operations on a copy that are fused with the move before them.
        noise: Standard deviation of a Gaussian factor.
        seed: Seed of the noise.
        isa: The instruction set of the codes.
    """

    slots: int = 6
    decoded: int = 4
    fetched_bytes: int = 16
    capacity: int = 4096
    taken: float = 1.0
    untaken: float = 2.0
    crossing: float = 1.0
    wide: int = 1
    fused: frozenset[str] = frozenset({"cmp", "test"})
    min_mean_bytes: int = 0
    portless: float = 0.0
    kept_flags: float = 0.0
    moved: frozenset[str] = frozenset()
    noise: float = 0.0
    seed: int = 1
    isa: str = DEFAULT

    @classmethod
    def sampled(cls, seed: int, noise: float = 0.0, isa: str = DEFAULT) -> SimulatedFrontEnd:
        """A random front end within the range of real ones; equal seeds give equal front ends."""
        dice = random.Random(f"front end {seed}")  # noqa: S311  not for secrets
        fused = dice.sample(("cmp", "test", "add", "sub", "and", "inc", "dec"), dice.randint(0, 7))
        core = cls(
            slots=dice.randint(4, 8),
            decoded=dice.randint(3, 4),
            fetched_bytes=dice.choice((16, 32)),
            capacity=dice.choice((1536, 2048, 4096, 6144)),
            taken=dice.choice((0.5, 1.0)),
            untaken=dice.choice((1.0, 2.0)),
            crossing=float(dice.randint(0, 2)),
            wide=dice.randint(1, 2),
            fused=frozenset(fused),
            noise=noise,
            seed=seed,
            isa=isa,
        )
        moved = dice.sample(("add", "sub", "xor", "shl", "inc", "not"), dice.choice((0, 0, 6)))
        return replace(core, moved=frozenset(moved))

    def time(self, codes: Sequence[TimedCode]) -> Iterator[CodeReading]:
        """See `CodeTimer`; the same code and seed give the same reading."""
        for code in codes:
            dice = random.Random(zlib.crc32(repr(code).encode()) ^ self.seed)  # noqa: S311  not for secrets
            cycles = max(self._cycles(code), self.kept_flags * _stalls(code) if self.kept_flags else 0.0)
            passes = [cycles * dice.gauss(1, self.noise) for _ in range(_PASSES)]
            yield CodeReading(code, median(passes), max(passes) - min(passes))

    def _cycles(self, code: TimedCode) -> float:
        """Cycles per iteration by the narrowest part: fetching, decoding, slots, branches."""
        instructions = front_end_maker(self.isa).fetched_instructions(code.code)
        jumps = [instruction for instruction in instructions if instruction.flow in ("branch", "jump")]
        n_jumps = sum(instruction.flow == "jump" for instruction in jumps)
        reached = instructions if not n_jumps else jumps
        closed = 1 / code.copies if code.copies > 1 else 0.0  # the branch that closes a loop is taken, too
        branching = (n_jumps + closed) / self.taken + (len(jumps) - n_jumps) / self.untaken
        straight = max(len(reached) / self.decoded, len(code.code) / self.fetched_bytes)
        if not code.loop:
            return max(straight, branching)
        closing = 1 if code.copies == 1 else 0  # else there are enough copies to hide it
        slots = sum(map(self._slots, reached)) - self._join_lines(reached) + closing
        if code.copies == 1 and len(reached) > self.capacity:
            return max(straight, branching)
        crowded = 1.25 if len(code.code) < self.min_mean_bytes * len(instructions) else 1.0
        cycles = max(slots / self.slots * crowded, branching, closing / self.taken)
        if self.portless:
            cycles = max(cycles, sum(map(_is_portless, reached)) / self.portless)
        end = code.offset + len(code.code) + _COUNTER_BYTES
        return cycles + (self.crossing if closing and len(code.code) < _LINE < end else 0.0)

    def _slots(self, instruction: FetchedInstruction) -> int:
        return self.wide if instruction.number_bytes > 3 and instruction.mnemonic != "nop" else 1

    def _join_lines(self, instructions: Sequence[FetchedInstruction]) -> int:
        return sum(
            (first.mnemonic in self.fused and second.flow == "branch") or self._joins_move(first, second)
            for first, second in itertools.pairwise(instructions)
        )

    def _joins_move(self, move: FetchedInstruction, update: FetchedInstruction) -> bool:
        is_move = move.mnemonic == "mov" and move.registers[1] is not None
        copied = is_move and bool(update.registers) and update.registers[0] == move.registers[0]
        return copied and update.mnemonic in self.moved


def _stalls(code: TimedCode) -> int:
    if code.instructions > MAX_INSTRUCTIONS:  # of what needs no port
        return 0
    return reads_of_preserved_flags(accesses_of(block_of_bytes(code.code), equal_start=True))


def _is_portless(instruction: FetchedInstruction) -> bool:
    registers = instruction.registers
    if len(registers) != 2 or registers[1] is None:
        return False
    zeroes = instruction.mnemonic == "xor" and registers[0] == registers[1]
    return zeroes or instruction.mnemonic == "mov"

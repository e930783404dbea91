"""The limits of a core's front end, as its core model has them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from numpy import interp

from inference.core.front_end import FrontEnd

LOOP_END = "dec reg + je"
"""The pair that closes a loop of copies, as in `FrontEndLimits.fused`: `jne` fuses as `je` does."""


@dataclass(frozen=True)
class FrontEndLimits:
    """Rates of a front end, per cycle unless noted; None where not measured.

    `loop_capacity`: instructions in the longest loop that is handed over at `slots` per cycle. `taken`:
    branches.
    `nops`: in a loop. `by_length`: (mean bytes of an instruction, instructions per cycle) of straight code,
    by length.
    `fused`: pairs of an instruction and a conditional jump, or of a register move and an operation on the
    copy, that are one µop (`cmp reg, imm + je`, `mov reg, reg + add reg, reg`). `kept_flags`: cycles of a
    shift by 0 whose flags are read, for which some cores wait before they continue. `loops`: cycles per
    iteration of loops of one slot, two, and so on. `free_branches`: comparisons that need no port where they
    are fused with a branch, by the names in `fused`. `indexed`: uses of memory that take another slot with an
    index register, as `AddressUse`.
    """

    slots: float | None = None
    straight_instructions: float | None = None
    straight_bytes: float | None = None
    loop_capacity: float | None = None
    taken: float | None = None
    nops: float | None = None
    fused: frozenset[str] | None = None
    by_length: tuple[tuple[float, float], ...] = ()
    kept_flags: float | None = None
    loops: tuple[float, ...] = ()
    free_branches: frozenset[str] = frozenset()
    indexed: frozenset[str] = frozenset()

    @property
    def pairs_nops(self) -> bool:
        """Whether a NOP and the instruction beside it take one slot."""
        return self.slots is not None and self.nops is not None and self.nops > 1.5 * self.slots

    @property
    def dispatched(self) -> float | None:
        """Slots that a core hands over per cycle: eliminated moves may be a little slower than NOPs."""
        if self.slots is None or self.nops is None or self.pairs_nops:
            return self.slots
        return max(self.slots, self.nops)

    def decoding(self, instructions: int, size: int) -> float | None:
        """Cycles of straight code of `size` bytes, interpolated from measured lengths; None without these."""
        if not self.by_length or not instructions:
            return None
        lengths, rates = zip(*self.by_length, strict=True)
        cycles = interp(size / instructions, lengths, [1 / rate for rate in rates])
        return instructions * float(cycles)


def closing_slots(pairs: Sequence[str], fused: Collection[str] | None) -> int:
    """Slots of the decrement and the jump that close a loop of copies; 0 where no pair stands for these.

    One where it is not known which pairs the core fuses.
    """
    are_separate = fused is not None and not any(pair in fused for pair in pairs)
    return 1 + are_separate if pairs else 0


def front_end_limits(front_end: FrontEnd) -> FrontEndLimits:
    """The limits of a measured front end, as core models have them."""
    capacity = front_end.number("loop_capacity")
    return FrontEndLimits(
        slots=front_end.number("slots").value,
        straight_instructions=front_end.number("straight_instructions").value,
        straight_bytes=front_end.number("straight_bytes").value,
        loop_capacity=None if capacity.at_least else capacity.value,
        taken=front_end.number("taken").value,
        nops=front_end.number("nops").value,
        fused=_fused_pairs(front_end),
        by_length=front_end.straight_lengths,
        kept_flags=front_end.number("kept_flags").value,
        loops=_cycles_by_slots(front_end),
        free_branches=frozenset(times.name for times in front_end.branch_ports if times.holds),
        indexed=frozenset(times.name for times in front_end.indexed if times.holds),
    )


def _cycles_by_slots(front_end: FrontEnd) -> tuple[float, ...]:
    """See `FrontEndLimits.loops`; the measured loops are closed by a decrement and a branch."""
    fused = _fused_pairs(front_end)
    if not front_end.short_loops or fused is None:
        return ()
    closing = closing_slots((LOOP_END,), fused)
    measured = {size + closing: cycles for size, cycles in front_end.short_loops}
    cycles = [min(measured.values())]
    for slots in range(2, max(measured) + 1):
        cycles.append(max(cycles[-1], measured.get(slots, 0.0)))
    return tuple(cycles)


def _fused_pairs(front_end: FrontEnd) -> frozenset[str] | None:
    """The fused pairs; None where none were measured. RISC-V has no comparisons to fuse with a branch."""
    if not front_end.fusion and not front_end.moves:
        return None
    return frozenset(pair.name for pair in (*front_end.fusion, *front_end.moves) if pair.is_fused)

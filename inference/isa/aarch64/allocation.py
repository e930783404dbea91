"""Choosing registers and memory for AArch64 such that no instance waits for another (Algorithm 3.1).

As on x86-64 (`isa/x86/allocation.py`), registers are parted into those only read, only written, and both; of
those that would do, an operand gets the one used least recently. It is simpler here: no operand has a fixed
register, and there are enough of them to part them by number.

- What is read begins at x0 and v0: as many registers as any single scheme reads. Operands that can name v0 to
  v15 alone are read ones, and so are lists of registers for `tbl`.
- What is both comes next, and what is only written last. Where nothing is both, everything else is written.
- Bases of addresses are registers of their own, some for loads, some for stores. A pre- or post-indexed
  access moves its base by 0 bytes, which takes whatever moving it takes, but leaves it where it is. Others
  do not wait for that: they have bases of their own.

What is read lies on cache lines that nothing writes, and one store never goes to the line of the one before,
all within one window of 4 KiB, so that no load seems to alias a store.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from inference.isa.machine_bodies import evenly_mixed

Bank = Literal["general", "vector", "load base", "store base"]
Role = Literal["R", "W", "RW"]

LINE = 64
WRITTEN = 4
"""Registers that mere writes take turns in, where others need registers as well; twice as many as the longest
list of registers, if that is more."""

_STEADY = 2  # bases that nothing moves, where others are moved

MEMORY, COUNTER = 27, 28
_GENERAL = tuple(range(18))  # x18 is the platform's
_LOAD_BASES = (19, 20, 21, 22, 29)
_STORE_BASES = (23, 24, 25, 26, 30)
_BASES: dict[Bank, tuple[int, ...]] = {"load base": _LOAD_BASES, "store base": _STORE_BASES}

READ_SLOT = LINE
_NEAR_SLOTS = tuple(range(-4 * LINE, 0, LINE))  # what the shortest displacements reach
_FAR_SLOTS = tuple(range(2 * LINE, 16 * LINE, LINE))
_LOAD_AREA = 16 * LINE
_STORE_AREA = -32 * LINE

VALUES = {f"x{number}": (16, 32, 48)[number % 3] for number in _GENERAL}
"""As an index, scaled or not, each keeps any access within a line and within its area."""

ADDRESSES = {
    **{f"x{number}": _LOAD_AREA for number in _LOAD_BASES},
    **{f"x{number}": _STORE_AREA + LINE * k for k, number in enumerate(_STORE_BASES)},
}
"""Offsets of the base registers from the middle of the memory region."""


class AArch64AllocationError(ValueError):
    """There are not enough registers that fit."""


@dataclass(frozen=True, slots=True)
class AArch64Choice:
    """An operand, or a part of an address, for which a register is chosen.

    `span`: so many in a row. `below`: it must have a smaller number.
    """

    bank: Bank
    role: Role
    span: int = 1
    below: int = 32


@dataclass(frozen=True, slots=True)
class AArch64Demands:
    """All choices of a scheme in their order, and the memory that it accesses beside the bases.

    `near`: its displacement is short. `memory`: "" where it has none, or a base of its own.
    """

    choices: tuple[AArch64Choice, ...]
    memory: Literal["", "R", "W"] = ""
    near: bool = False


class AArch64Allocator:
    """Chooses operands for one scheme after another; see the module's description."""

    def __init__(self, copy: Sequence[AArch64Demands]) -> None:
        """`copy` is what will be asked for again and again. Raises `AArch64AllocationError`."""
        self._sets: dict[tuple[Bank, Role], tuple[int, ...]] = {
            **_parted("general", _GENERAL, copy),
            **_parted("vector", tuple(range(32)), copy),
        }
        for bank, bases in _BASES.items():
            roles = {one.role for each in copy for one in each.choices if one.bank == bank}
            split = _STEADY if len(roles) > 1 else 0
            self._sets[bank, "R"], self._sets[bank, "RW"] = bases[:split] or bases, bases[split:]
        self._candidates = {
            choice: self._fitting(choice) for choice in {one for each in copy for one in each.choices}
        }
        self._last_uses = [0] * 32, [0] * 32  # of general-purpose registers, and of vectors
        self._last_slots: dict[int, int] = {}
        self._time = 0

    def families(self, bank: Bank, role: Role) -> tuple[int, ...]:
        """The registers for operands of this role, by number."""
        return self._sets.get((bank, role), ())

    def registers(self, scheme: AArch64Demands) -> list[int]:
        """A register for every choice of the scheme, in their order: the first one of a list."""
        return [self._choose(choice) for choice in scheme.choices]

    def slot(self, scheme: AArch64Demands) -> int:
        """An offset for a memory operand, from the middle of the region."""
        if scheme.memory == "R":
            return READ_SLOT
        self._time += 1
        slots = _NEAR_SLOTS if scheme.near else _FAR_SLOTS
        offset = min(slots, key=lambda slot: self._last_slots.get(slot, 0))
        self._last_slots[offset] = self._time
        return offset

    def _choose(self, choice: AArch64Choice) -> int:
        last_uses = self._last_uses[choice.bank == "vector"]
        firsts = self._candidates[choice]
        if choice.span == 1:
            found = min(firsts, key=last_uses.__getitem__)
        else:
            found = min(firsts, key=lambda first: max(last_uses[first : first + choice.span]))
        self._time += 1
        last_uses[found : found + choice.span] = [self._time] * choice.span
        return found

    def _fitting(self, choice: AArch64Choice) -> tuple[int, ...]:
        families = self.families(choice.bank, choice.role)
        firsts = tuple(
            first
            for first in families
            if all(first + k in families and first + k < choice.below for k in range(choice.span))
        )
        if not firsts:
            raise AArch64AllocationError("the registers do not suffice")
        return firsts


def _parted(
    bank: Bank, families: Sequence[int], copy: Iterable[AArch64Demands]
) -> dict[tuple[Bank, Role], tuple[int, ...]]:
    """Which registers of a bank are only read, both, and only written."""
    chosen = [[choice for choice in scheme.choices if choice.bank == bank] for scheme in copy]
    read, written = (
        max((sum(one.span for one in scheme if one.role == role) for scheme in chosen), default=0)
        for role in ("R", "W")
    )
    spans = [one.span for scheme in chosen for one in scheme if one.role == "W"]
    chained = [tuple(scheme) for scheme in chosen for one in scheme if one.role == "RW"]
    rest = families[read:]
    if not chained:
        return {(bank, "R"): tuple(families[:read]), (bank, "W"): tuple(rest), (bank, "RW"): ()}
    kept = max(WRITTEN, written, 2 * max(spans)) if spans else 0
    both = rest[: len(rest) - kept]
    fewest = max(sum(one.role == "RW" for one in scheme) for scheme in chosen)
    operands = len(chained) if len(set(chained)) > 1 else 1
    size = evenly_mixed(fewest, len(both), operands)
    return {
        (bank, "R"): tuple(families[:read]),
        (bank, "RW"): tuple(both[:size]),
        (bank, "W"): tuple(rest[len(rest) - kept :]),
    }

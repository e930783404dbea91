"""Chooses registers and memory for a list of schemes such that none waits for another (Algorithm 3.1).

Registers and memory slots are partitioned into read-only ones, write-only ones, and both (thesis §3.2.1);
each operand gets the least recently used one that fits. The partition is made for the experiment:

- A fixed register that some scheme only reads (cl of `shl r, cl`) is read-only for all of them, one that is
  only written is write-only. One that is read by some and written by others is not chosen for other operands.
- The read-only set is just large enough for any single scheme.
- The write-only set has four registers of each class rather than the thesis's minimum: some cores wait for
  the old value of a mere write (three cycles for `vpermd` on Golden Cove). Four hide that.
- All other registers are for operands that are both read and written, or written where nothing is both. Up to
  two of them stay unused if otherwise slow instructions would share some registers and quick ones the rest:
  with two such operands per copy, an even number of registers would give each of them its own half.

Memory is addressed relative to the middle of the region, within one window of 4 KiB, so that no load seems to
alias an earlier store (processors compare the low twelve bits first). Read operands, written operands and
each slot for both have separate cache lines, and consecutive stores go to different lines:

- Many cores commit two stores per cycle only if these go to the same line. With one line for all mere writes
  these were two per cycle on Zen 3, those that also read one per cycle, and one of each took two cycles, more
  than both in sequence: no port mapping explains that. Now each store takes a cycle, beside any other.
- Zen 3 writes less than four bytes by reading the word first, which takes five cycles if it was written just
  before. Successive stores to one line are merged, unless another store comes between: `setns [m]` and `add
  [n], r` took five cycles together, with lines in turn two.

Reads take turns in the words of their line: a core whose cache has banks reads one word of it twice per cycle
where it could read three (Golden Cove: 0.5 cycles of one word, or of the same word of several lines, 0.33 of
different ones).

The line that is read is within a displacement of eight bits, written lines need 32 bits, so that the length
of an instruction does not depend on the slot.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from inference.isa.machine_bodies import WRITTEN_LINES, evenly_mixed
from inference.isa.x86.demands import Demands
from inference.isa.x86.register_choices import (
    BANKS,
    LEGACY_VECTORS,
    LINE,
    RESERVED,
    RSI,
    Bank,
    Fixed,
    RegisterChoice,
    Role,
)

WORD = 8  # bytes
WINDOW = 4096  # bytes of a loop's memory region
WRITE_REGISTERS: dict[Bank, int] = {"general": 4, "vector": 4, "mask": 2, "mmx": 2, "x87": 1}
"""Write-only registers of a class, where others are needed as well."""

# Farther from the middle than a displacement of eight bits reaches.
_LAST_WRITTEN = -3 * LINE
_FIRST_WRITTEN = _LAST_WRITTEN - (WRITTEN_LINES - 1) * LINE

SLOTS: dict[Role, tuple[int, ...]] = {
    "R": tuple(range(LINE, 2 * LINE, WORD)),
    "W": tuple(range(_FIRST_WRITTEN, -2 * LINE, LINE)),
    "RW": (*range(2 * LINE, WINDOW // 2, LINE), *range(-WINDOW // 2, _FIRST_WRITTEN, LINE)),
}
"""Offsets from the middle of the memory region: words that are read, and lines that are written."""

_ORDERS: dict[Bank, dict[Role, tuple[int, ...]]] = {
    # Only rax to rbx have a second byte (ah to bh): they are taken late for what others can do as well.
    # rsi holds an address at first, which is no value to read.
    "general": {
        "R": (7, 8, 2, 1, 3, 0, 9, 10, 11, 12, 13, 5),
        "W": (13, 12, 11, 10, 9, 6, 5, 7, 8, 3, 2, 1, 0),
        "RW": (0, 3, 2, 1, 5, 6, 7, 9, 10, 11, 12, 13, 8),
    },
    # The low half of the vector registers makes for shorter code where it stands in the last operand.
    "vector": {
        "R": (1, 2, 3, 4, 5, 6, 7, 0, *range(8, 32)),
        "W": (*range(31, 7, -1), 0, *range(7, 0, -1)),
        "RW": (*range(4, 16), 3, 2, 1, 0, *range(16, 32)),
    },
    "mask": {"R": (1, 2, 3, 4, 5, 6, 7), "W": (6, 4, 2, 7, 5, 3, 1), "RW": (7, 6, 5, 4, 3, 2, 1)},
    "mmx": {"R": (1, 2, 3, 0, 4, 5, 6, 7), "W": (7, 6, 5, 4, 0, 3, 2, 1), "RW": (4, 5, 6, 7, 0, 3, 2, 1)},
    "x87": {"R": (1, 2, 3, 4, 5, 6, 7), "W": (7, 6, 5, 4, 3, 2, 1), "RW": (2, 3, 4, 5, 6, 7, 1)},
}
"""The order in which families join the sets."""

_MAX_FAMILIES = 32


class AllocationError(ValueError):
    """There are not enough registers that fit."""


class Partition:
    """The registers of a bank, divided into those that copies read, write, and both read and write."""

    def __init__(self, bank: Bank, copy: Sequence[Demands]) -> None:
        """`copy`: the schemes of one copy. Raises `AllocationError` where a scheme lacks registers."""
        schemes = tuple(dict.fromkeys(copy))
        self._order = _ORDERS[bank]
        fixed = {(used.family, used.role) for scheme in schemes for used in scheme.fixed if used.bank == bank}
        read = {family for family, role in fixed if role != "W"}
        written = {family for family, role in fixed if role != "R"}
        unavailable = read | written | RESERVED[bank]
        if bank == "vector" and not _names_upper_half(schemes):
            unavailable |= frozenset(range(LEGACY_VECTORS, _MAX_FAMILIES))
        if bank == "general" and any(scheme.low_base for scheme in schemes):
            unavailable |= {RSI}
        self._free = set(self._order["W"]) - unavailable
        self._sets: dict[Role, list[int]] = {
            "R": sorted(read - written),
            "W": sorted(written - read),
            "RW": [],
        }
        self._provide_all(bank, schemes)
        chained = [
            used for used in copy for choice in used.choices if (choice.bank, choice.role) == (bank, "RW")
        ]
        mixed = len(set(chained)) > 1
        self._assign_remaining("RW" if chained else "W", len(chained) if mixed else 1)

    def families(self, role: Role) -> tuple[int, ...]:
        return tuple(self._sets[role])

    def _provide_all(self, bank: Bank, schemes: Sequence[Demands]) -> None:
        for role in ("R", "RW", "W"):
            needed = [
                (
                    {reg.family for reg in scheme.fixed if (reg.bank, reg.role) == (bank, role)},
                    [choice for choice in scheme.choices if (choice.bank, choice.role) == (bank, role)],
                )
                for scheme in schemes
            ]
            for used, choices in sorted(needed, key=_most_constrained_first):
                self._provide(role, used, choices)
        for choice in (choice for scheme in schemes for choice in scheme.choices):
            if (choice.bank, choice.role) == (bank, "W"):
                self._widen(choice)

    def _assign_remaining(self, role: Role, operands: int) -> None:
        """Assign all free families to one set, of a size without common factor with `operands` per copy."""
        fewest = len(self._sets[role])
        self._sets[role] += [family for family in self._order[role] if family in self._free]
        del self._sets[role][evenly_mixed(fewest, len(self._sets[role]), operands) :]

    def _provide(self, role: Role, used: set[int], choices: Sequence[RegisterChoice]) -> None:
        """Make the set large enough for the operands of one scheme, which must have different families."""
        for choice in choices:
            fitting = [
                family for family in self._sets[role] if family in choice.registers and family not in used
            ]
            used.add(fitting[0] if fitting else self._assign(role, choice))

    def _widen(self, choice: RegisterChoice) -> None:
        while sum(family in choice.registers for family in self._sets["W"]) < WRITE_REGISTERS[
            choice.bank
        ] and not self._free.isdisjoint(choice.registers):
            self._assign("W", choice)

    def _assign(self, role: Role, choice: RegisterChoice) -> int:
        for family in self._order[role]:
            if family in self._free and family in choice.registers:
                self._free.remove(family)
                self._sets[role].append(family)
                return family
        raise AllocationError("the registers do not suffice")


def _names_upper_half(schemes: Iterable[Demands]) -> bool:
    """Whether a scheme can use the vector registers that only EVEX can encode."""
    return any(
        choice.bank == "vector" and max(choice.registers) >= LEGACY_VECTORS
        for scheme in schemes
        for choice in scheme.choices
    )


def _most_constrained_first(needed: tuple[set[int], list[RegisterChoice]]) -> int:
    return min((len(choice.registers) for choice in needed[1]), default=0)


class Allocator:
    """Chooses registers and addresses for operands, scheme by scheme, so that no copy waits for another."""

    def __init__(self, copy: Iterable[Demands], written_lines: int = WRITTEN_LINES) -> None:
        """`copy`: the schemes of one copy, which is repeated; `written_lines`: lines that mere writes take
        turns in.

        Raises `AllocationError`.
        """
        schemes = self._copy = tuple(copy)
        self._partitions: dict[Bank, Partition] = {bank: Partition(bank, schemes) for bank in BANKS}
        self._last_uses: dict[Bank, list[int]] = {bank: [0] * _MAX_FAMILIES for bank in BANKS}
        self._last_slots = {offset: 0 for offsets in SLOTS.values() for offset in offsets}
        self._slots = {**SLOTS, "W": SLOTS["W"][:written_lines]}
        self._time = 0
        self._candidates = {
            choice: tuple(
                family for family in self.families(choice.bank, choice.role) if family in choice.registers
            )
            for scheme in dict.fromkeys(schemes)
            for choice in scheme.choices
        }

    def families(self, bank: Bank, role: Role) -> tuple[int, ...]:
        return self._partitions[bank].families(role)

    def chains(self) -> float | None:
        """The smallest number of registers per read-write operand of a copy; None without such operands."""
        sharing: dict[tuple[Bank, frozenset[int]], int] = {}
        for scheme in self._copy:
            broken = {breaker.target for breaker in scheme.breakers}
            for choice in scheme.choices:
                if choice.role == "RW" and choice not in broken:
                    key = choice.bank, frozenset(self._candidates[choice])
                    sharing[key] = sharing.get(key, 0) + 1
        return min((len(families) / count for (_, families), count in sharing.items()), default=None)

    def registers(self, scheme: Demands) -> list[int]:
        """A family for each choice of the scheme, in order."""
        for register in scheme.fixed:
            self._use(register)
        return [self._choose(choice) for choice in scheme.choices]

    def slot(self, role: Role, size: int) -> int:
        """An offset for a memory operand of so many bytes, aligned."""
        self._time += 1
        if role == "R":
            return self._word(size)
        offset = min(self._slots[role], key=self._last_slots.__getitem__)
        self._last_slots[offset] = self._time
        return offset

    def _word(self, size: int) -> int:
        """The word in the read line that was read least recently."""
        step = min(max(WORD, 1 << (size - 1).bit_length()), LINE)
        places = [range(offset, offset + step, WORD) for offset in range(LINE, 2 * LINE, step)]
        place = min(places, key=lambda words: max(map(self._last_slots.__getitem__, words)))
        self._last_slots.update(dict.fromkeys(place, self._time))
        return place.start

    def _use(self, register: Fixed) -> None:
        self._time += 1
        self._last_uses[register.bank][register.family] = self._time

    def _choose(self, choice: RegisterChoice) -> int:
        last_uses = self._last_uses[choice.bank]
        family = min(self._candidates[choice], key=last_uses.__getitem__)
        self._time += 1
        last_uses[family] = self._time
        return family

"""Chooses registers and memory for instructions of words such that none waits for another (Algorithm 3.1).

Registers of a bank are partitioned into read-only ones, write-only ones, and both; an operand gets the least
recently used register that fits. No operand has a fixed register, and there are enough registers to partition
them by number.

- Read-only registers come first: as many as any single scheme reads.
- Registers for both come next, and write-only ones last. If no operand is both, all others are write-only.
- Base registers of addresses are separate, some for loads, some for stores.

Read operands lie on cache lines that nothing writes, and consecutive stores go to different lines, all within
one window of 4 KiB, so that no load seems to alias a store.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from inference.isa.machine_bodies import evenly_mixed

Role = Literal["R", "W", "RW"]
Partition = Mapping[tuple[str, Role], Sequence[int]]
"""The numbers of registers by bank and role."""

LINE = 64  # bytes of a cache line
LOAD_BASE, STORE_BASE = "load base", "store base"
"""Banks of registers with addresses of what is read, or written."""

GENERAL_BANKS = ("general", LOAD_BASE, STORE_BASE)
WRITE_REGISTERS = 4
"""Write-only registers, where others are needed as well; twice the longest list of registers, if that is
more."""

_FIXED_BASES = 2  # bases that nothing moves, where others are moved
READ_SLOT = LINE
_NEAR_SLOTS = tuple(range(-4 * LINE, 0, LINE))  # what the shortest displacements reach
_FAR_SLOTS = tuple(range(2 * LINE, 16 * LINE, LINE))
LOAD_AREA = 16 * LINE  # offset in the memory of a loop, in bytes
_STORE_AREA = -32 * LINE  # the same, where no load reads


class WordAllocationError(ValueError):
    """There are not enough registers that fit."""


@dataclass(frozen=True, slots=True)
class OperandChoice:
    """An operand, or a part of an address, whose register can be chosen.

    Attributes:
        span: Number of consecutive registers.
        below: Upper limit of the number, exclusive.
    """

    bank: str
    role: Role
    span: int = 1
    below: int = 32


@dataclass(frozen=True, slots=True)
class OperandDemands:
    """All choices of a scheme in order, and its access to memory at a fixed base.

    Attributes:
        near: The displacement is short.
        memory: "" without, or with a base of its own.
    """

    choices: tuple[OperandChoice, ...]
    memory: Literal["", "R", "W"] = ""
    near: bool = False


class RegisterChooser(Protocol):
    """The registers and the memory of one instruction after another."""

    def registers(self, scheme: OperandDemands) -> list[int]: ...

    def slot(self, scheme: OperandDemands) -> int: ...


class WordAllocator:
    """Chooses registers and addresses for operands, scheme by scheme, so that no copy waits for another."""

    def __init__(self, copy: Sequence[OperandDemands], registers: Partition) -> None:
        """`copy`: the schemes of one copy, which is repeated. Raises `WordAllocationError`."""
        self._sets = registers
        choices = {choice for scheme in copy for choice in scheme.choices}
        self._candidates = {choice: self._fitting_registers(choice) for choice in choices}
        self._last_uses = [0] * 32, [0] * 32  # of general-purpose registers, and of others
        self._last_slots: dict[int, int] = {}
        self._time = 0

    def families(self, bank: str, role: Role) -> Sequence[int]:
        return self._sets.get((bank, role), ())

    def registers(self, scheme: OperandDemands) -> list[int]:
        """A register for each choice of the scheme, in order; of a list the first one."""
        return [self._choose(choice) for choice in scheme.choices]

    def slot(self, scheme: OperandDemands) -> int:
        """An offset for a memory operand, from the middle of the region."""
        if scheme.memory == "R":
            return READ_SLOT
        self._time += 1
        slots = _NEAR_SLOTS if scheme.near else _FAR_SLOTS
        offset = min(slots, key=lambda slot: self._last_slots.get(slot, 0))
        self._last_slots[offset] = self._time
        return offset

    def _choose(self, choice: OperandChoice) -> int:
        last_uses = self._last_uses[choice.bank not in GENERAL_BANKS]
        firsts = self._candidates[choice]
        if choice.span == 1:
            register = min(firsts, key=last_uses.__getitem__)
        else:
            register = min(firsts, key=lambda first: max(last_uses[first : first + choice.span]))
        self._time += 1
        last_uses[register : register + choice.span] = [self._time] * choice.span
        return register

    def _fitting_registers(self, choice: OperandChoice) -> tuple[int, ...]:
        families = self.families(choice.bank, choice.role)
        firsts = tuple(
            first
            for first in families
            if all(first + k in families and first + k < choice.below for k in range(choice.span))
        )
        if not firsts:
            raise WordAllocationError("the registers do not suffice")
        return firsts


def partition(bank: str, families: Sequence[int], copy: Iterable[OperandDemands]) -> Partition:
    """The read-only, read-write and write-only registers of a bank."""
    by_scheme = [[choice for choice in scheme.choices if choice.bank == bank] for scheme in copy]
    read, written = (
        max((sum(part.span for part in scheme if part.role == role) for scheme in by_scheme), default=0)
        for role in ("R", "W")
    )
    spans = [operand.span for scheme in by_scheme for operand in scheme if operand.role == "W"]
    chained = [tuple(scheme) for scheme in by_scheme for operand in scheme if operand.role == "RW"]
    unread = families[read:]
    if not chained:
        return {(bank, "R"): tuple(families[:read]), (bank, "W"): tuple(unread), (bank, "RW"): ()}
    reserved = max(WRITE_REGISTERS, written, 2 * max(spans)) if spans else 0
    both = unread[: len(unread) - reserved]
    fewest = max(sum(operand.role == "RW" for operand in scheme) for scheme in by_scheme)
    operands = len(chained) if len(set(chained)) > 1 else 1
    size = evenly_mixed(fewest, len(both), operands)
    return {
        (bank, "R"): tuple(families[:read]),
        (bank, "RW"): tuple(both[:size]),
        (bank, "W"): tuple(unread[len(unread) - reserved :]),
    }


def partition_bases(bases: Mapping[str, Sequence[int]], copy: Sequence[OperandDemands]) -> Partition:
    """The base registers of addresses: some that nothing moves, where others are moved."""
    parts: dict[tuple[str, Role], Sequence[int]] = {}
    for bank, numbers in bases.items():
        roles = {operand.role for scheme in copy for operand in scheme.choices if operand.bank == bank}
        split = _FIXED_BASES if len(roles) > 1 else 0
        parts[bank, "R"], parts[bank, "RW"] = numbers[:split] or numbers, numbers[split:]
    return parts


def addresses_of_bases(bases: Mapping[str, Sequence[int]]) -> dict[str, int]:
    """{base register: its offset from the middle of the memory}."""
    return {
        **{f"x{number}": LOAD_AREA for number in bases[LOAD_BASE]},
        **{f"x{number}": _STORE_AREA + LINE * k for k, number in enumerate(bases[STORE_BASE])},
    }

"""The reads and writes of instructions by experiment: change one register, and see what else changes.

A program for QEMU's user mode executes each instruction in many states, the *records*: it loads all
registers, flags and a little memory, executes the instruction, and stores them again. A location is written
where it differs afterwards, and read where its change alone makes a difference elsewhere, or to its own new
value. The program is not told what the instruction is: registers to change are those of all fields that could
name one, and all others together.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from random import Random

import numpy as np
import numpy.typing as npt

from tests.isa.emulated_program import BASE, HEADERS, elf_headers

_STATES = 8
_FLIPS = 3
_CHUNK = 150  # instructions of one program
MEMORY_BYTES, MIDDLE = 256, 96


_NZCV = (0, 2, 4, 1, 8, 15, 6, 9, 3, 12)


@dataclass(frozen=True)
class Bank:
    """Registers of a record: their name in locations, numbers, first byte, and bytes of each."""

    name: str
    numbers: Sequence[int]
    start: int
    size: int

    def places(self) -> Iterator[tuple[str, int, int]]:
        for number in self.numbers:
            yield f"{self.name} {number}", self.start + self.size * number, self.size


@dataclass(frozen=True)
class Machine:
    """How an instruction set's registers are in records, and the code around an instruction.

    Attributes:
        number: In ELF files.
        general: General-purpose registers, of 8 bytes, from the record's beginning.
        others: Floating-point or vector registers.
        flags: Start of the flags, None without.
        memory: Start of the memory.
        numbers_in: All numbers of registers that an instruction's fields may name.
        value: A value for one of `others` in a state.
        program_of: Load a record, execute an instruction, store the record, go on while there are more.
        entry: Code before the programs: the address of the first record.
        leave: Code behind: write so many bytes of records at an address, and end.
        qemu: The command.
    """

    number: int
    general: Bank
    others: Bank
    flags: int | None
    memory: int
    numbers_in: Callable[[bytes], set[int]]
    value: Callable[[Random, int], int]
    program_of: Callable[[Case], bytes]
    entry: Callable[[int], bytes]
    leave: Callable[[int, int], bytes]
    qemu: Sequence[str]

    @property
    def mark(self) -> int:
        """Where it is written whether a jump was taken."""
        return self.memory + MEMORY_BYTES

    @property
    def more(self) -> int:
        """Where it is read whether another record follows."""
        return self.mark + 8

    @property
    def record(self) -> int:
        return self.more + 8

    @cached_property
    def locations(self) -> tuple[tuple[str, int, int], ...]:
        """(name, first byte, bytes), in order."""
        flags = [] if self.flags is None else [("flags", self.flags, 8)]
        places = [*self.general.places(), *flags, *self.others.places()]
        return (*places, ("memory", self.memory, MEMORY_BYTES), ("jump", self.mark, 8))

    @cached_property
    def by_name(self) -> dict[str, tuple[int, int]]:
        return {name: (start, size) for name, start, size in self.locations}


@dataclass(frozen=True)
class Case:
    """An instruction, and what its registers have to hold so that it accesses memory near `MIDDLE`.

    `addresses`: {general-purpose register: bytes from the middle}; `indices`: registers that are added.
    """

    code: bytes
    addresses: Mapping[int, int] = field(default_factory=dict)
    indices: Sequence[int] = ()


@dataclass(frozen=True)
class Observed:
    """Locations such as `general 3`; `jump`: where the code goes on."""

    read: frozenset[str]
    written: frozenset[str]


Record = npt.NDArray[np.uint8]


def observe(machine: Machine, cases: Sequence[Case], path: Path) -> list[Observed]:
    """What each instruction reads and writes; the program is written to the path."""
    observed: list[Observed] = []
    for start in range(0, len(cases), _CHUNK):
        chunk = cases[start : start + _CHUNK]
        flips = [_field_locations(machine, case) for case in chunk]
        first = _experiments(machine, chunk, flips, path)
        unnamed = [number for number, (read, _) in enumerate(first) if "others" in read]
        rest = [
            [name for name, *_ in machine.locations[:-2] if name not in flips[number]] for number in unnamed
        ]
        second = _experiments(machine, [chunk[number] for number in unnamed], rest, path) if unnamed else []
        reads = [read - {"others"} for read, _ in first]
        for number, (read, _) in zip(unnamed, second, strict=True):
            assert read - {"memory", "others"}, "others matter only together"
            reads[number] |= read - {"others"}
        observed += [
            Observed(frozenset(read), frozenset(written))
            for read, (_, written) in zip(reads, first, strict=True)
        ]
    return observed


def _field_locations(machine: Machine, case: Case) -> list[str]:
    """The registers of both banks that a field could name, and the flags."""
    numbers = sorted(machine.numbers_in(case.code))
    names = [f"{bank.name} {number}" for bank in (machine.general, machine.others) for number in numbers]
    return [name for name in (*names, "flags") if name in machine.by_name]


def _experiments(
    machine: Machine, cases: Sequence[Case], flips: Sequence[Sequence[str]], path: Path
) -> list[tuple[set[str], set[str]]]:
    """(read, written) of each case; `flips`: the locations to change one by one, then all others at once."""
    records: list[Record] = []
    labels: list[list[tuple[int, str]]] = []  # (its state's record, what was changed)
    code_start = BASE + HEADERS
    programs = [machine.program_of(case) for case in cases]
    data = -(-(code_start + sum(map(len, programs)) + 4096) // 4096) * 4096
    for case, names in zip(cases, flips, strict=True):
        dice = Random(case.code)
        own: list[tuple[int, str]] = []
        first = len(records)
        for state in range(_STATES):
            address = data + machine.record * len(records)
            base = _state(machine, case, dice, state, address)
            origin = len(records)
            records.append(base)
            own.append((origin, ""))
            for name in [*names, "memory", "others"]:
                changed = machine.locations if name == "others" else [(name, *machine.by_name[name])]
                for flip in range(_FLIPS if name not in ("memory", "others") else 1):
                    record = base.copy()
                    _move(case, record, machine.record * (len(records) - origin))
                    bank = name.partition(" ")[0]
                    twins = [
                        machine.by_name[twin][0] for twin in names if twin != name and twin.startswith(bank)
                    ]
                    twin = dice.choice(twins) if flip == 0 and twins else None
                    if flip == 1 and bank == "general" and case.addresses:
                        twin = machine.memory + MIDDLE  # for what compares a register with memory
                    for location, start, size in changed:
                        if name != "others" or location not in (*names, "memory", "jump"):
                            _flip(machine, case, record, (location, start, size), state, dice, twin)
                    records.append(record)
                    own.append((origin, name))
        for number in range(first, len(records)):
            records[number][machine.more] = number + 1 < len(records)
        labels.append(own)
    before = np.stack(records)
    after = _run(machine, programs, before, data, path)
    _undo_moves(machine, cases, labels, before, after)
    return [_outcome(machine, own, before, after) for own in labels]


def _state(machine: Machine, case: Case, dice: Random, state: int, address: int) -> Record:
    """Random registers: numbers of all lengths, and what the machine has in its other ones."""
    record = np.zeros(machine.record, dtype=np.uint8)
    general = machine.general
    for number in general.numbers:
        _write(record, 8 * number, dice.getrandbits(64) >> dice.choice((0, 0, 20, 40, 56, 64)), 8)
    if machine.flags is not None:
        _write(record, machine.flags, _NZCV[state] << 28, 8)
    for _, start, size in machine.others.places():
        _write(record, start, machine.value(dice, state), size)
    _write(record, machine.memory, dice.getrandbits(8 * MEMORY_BYTES), MEMORY_BYTES)
    _write(record, machine.mark, 1, 8)
    for number, distance in case.addresses.items():
        _write(record, 8 * number, address + machine.memory + MIDDLE + distance, 8)
    for number in case.indices:
        _write(record, 8 * number, dice.randrange(4), 8)
    if case.addresses and state % 4 == 3:
        for number in machine.numbers_in(case.code).intersection(general.numbers):
            if number not in case.addresses and number not in case.indices:
                place = machine.memory + MIDDLE
                record[8 * number : 8 * number + 8] = record[place : place + 8]
    return record


def _flip(
    machine: Machine,
    case: Case,
    record: Record,
    location: tuple[str, int, int],
    state: int,
    dice: Random,
    twin: int | None = None,
) -> None:
    """Give a location another value, or that of its twin; addresses stay near, the rest of flags zero."""
    name, start, size = location
    bank, _, number = name.partition(" ")
    if bank == "general" and int(number) in case.addresses:
        value = int.from_bytes(record[start : start + 8].tobytes(), "little")
        _write(record, start, value + dice.choice((-16, 16, 32)), 8)
    elif bank == "general" and int(number) in case.indices:
        value = int.from_bytes(record[start : start + 8].tobytes(), "little")
        _write(record, start, (value + dice.randrange(1, 4)) % 4, 8)
    elif name == "flags":
        record[start + 3] ^= dice.randrange(1, 16) << 4
    elif bank == "memory":
        _write(record, start, dice.getrandbits(8 * size), size)
    elif twin is not None:
        record[start : start + size] = record[twin : twin + size]
    elif bank == machine.others.name:
        _write(record, start, machine.value(dice, state), size)
    else:
        _write(record, start, dice.getrandbits(64) >> dice.choice((0, 40, 64)), size)


def _move(case: Case, record: Record, distance: int) -> None:
    """Let the addresses of a copied record be its own."""
    for number in case.addresses:
        value = int.from_bytes(record[8 * number : 8 * number + 8].tobytes(), "little")
        _write(record, 8 * number, value + distance, 8)


def _undo_moves(
    machine: Machine,
    cases: Sequence[Case],
    labels: Sequence[Sequence[tuple[int, str]]],
    before: npt.NDArray[np.uint8],
    after: npt.NDArray[np.uint8],
) -> None:
    """Count address registers from their own record, so that records can be compared."""
    number = 0
    for case, own in zip(cases, labels, strict=True):
        for _ in own:
            for rows in (before, after):
                for register in case.addresses:
                    place = slice(8 * register, 8 * register + 8)
                    value = int.from_bytes(rows[number, place].tobytes(), "little")
                    _write(rows[number], 8 * register, value - machine.record * number, 8)
            number += 1


def _outcome(
    machine: Machine,
    own: Sequence[tuple[int, str]],
    before: npt.NDArray[np.uint8],
    after: npt.NDArray[np.uint8],
) -> tuple[set[str], set[str]]:
    first = own[0][0]
    numbers = np.arange(first, first + len(own))
    origins = np.array([origin for origin, _ in own])
    written = _by_location(machine, after[numbers] != before[numbers]).any(axis=0)
    labels = np.array([label for _, label in own])
    different = after[numbers] != after[origins]
    stored = (after[numbers] != before[numbers]) | (after[origins] != before[origins])
    different[labels == "memory"] &= stored[labels == "memory"]  # the other bytes stay as they were
    differs = _by_location(machine, different)
    differs &= written | ~_by_location(machine, before[numbers] != before[origins])
    read = {str(label) for label in labels[differs.any(axis=1)] if label}
    names = {machine.locations[place][0] for place in np.flatnonzero(written)}
    return read, names - {"jump"}


def _by_location(machine: Machine, differences: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """For each record and location, whether any byte differs."""
    ends = [start for _, start, _ in machine.locations]
    return np.logical_or.reduceat(differences[:, : machine.more], ends, axis=1)


def _write(record: Record, start: int, value: int, size: int) -> None:
    content = (value & (1 << 8 * size) - 1).to_bytes(size, "little")
    record[start : start + size] = np.frombuffer(content, dtype=np.uint8)


def _run(
    machine: Machine, programs: Sequence[bytes], records: npt.NDArray[np.uint8], data: int, path: Path
) -> npt.NDArray[np.uint8]:
    start = BASE + HEADERS
    code = machine.entry(data) + b"".join(programs) + machine.leave(data, records.size)
    content = code.ljust(data - start, b"\0") + records.tobytes()
    path.write_bytes(elf_headers(machine.number, len(content), len(content)) + content)
    path.chmod(0o755)
    done = subprocess.run([*machine.qemu, path], capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, f"the program ended with {done.returncode}"
    return np.frombuffer(done.stdout, dtype=np.uint8).reshape(records.shape).copy()

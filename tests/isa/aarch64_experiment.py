"""The reads and writes of AArch64 instructions by experiment: change one register, and see what else changes.

A program for QEMU's user mode executes each instruction in many states, the *records*: it loads all
registers, flags and a little memory, executes the instruction, and stores them again. A location is written
where it differs afterwards, and read where its change alone makes a difference elsewhere, or to its own new
value. The program is not told what the instruction is: registers to change are those of all fields that could
name one, and all others together.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import numpy as np
import numpy.typing as npt

from tests.isa.aarch64_program import MACHINE, QEMU, machine_code
from tests.isa.emulated_program import BASE, HEADERS, elf_headers

GENERAL, VECTORS = 31, 32
_FLAGS, _VECTOR, _MEMORY = 8 * GENERAL, 256, 768
MEMORY_BYTES, MIDDLE = 256, 96
_MARK, _MORE = _MEMORY + MEMORY_BYTES, _MEMORY + MEMORY_BYTES + 8
RECORD = _MORE + 8
_FIELDS = (0, 5, 10, 16)  # lowest bits of register numbers in an instruction word
_STATES = 8
_FLIPS = 3
_CHUNK = 150  # instructions of one program
_LOCATIONS = (
    *((f"general {number}", 8 * number, 8) for number in range(GENERAL)),
    ("flags", _FLAGS, 8),
    *((f"vector {number}", _VECTOR + 16 * number, 16) for number in range(VECTORS)),
    ("memory", _MEMORY, MEMORY_BYTES),
    ("jump", _MARK, 8),
)
_NAMES = [name for name, *_ in _LOCATIONS]
_BY_NAME = {name: (start, size) for name, start, size in _LOCATIONS}
_NZCV = (0, 2, 4, 1, 8, 15, 6, 9, 3, 12)


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


def observe(cases: Sequence[Case], path: Path) -> list[Observed]:
    """What each instruction reads and writes; the program is written to the path."""
    observed: list[Observed] = []
    for start in range(0, len(cases), _CHUNK):
        chunk = cases[start : start + _CHUNK]
        flips = [_field_locations(case) for case in chunk]
        first = _experiments(chunk, flips, path)
        unnamed = [number for number, (read, _) in enumerate(first) if "others" in read]
        rest = [[name for name, *_ in _LOCATIONS[:-2] if name not in flips[number]] for number in unnamed]
        second = _experiments([chunk[number] for number in unnamed], rest, path) if unnamed else []
        reads = [read - {"others"} for read, _ in first]
        for number, (read, _) in zip(unnamed, second, strict=True):
            assert read - {"memory", "others"}, "others matter only together"
            reads[number] |= read - {"others"}
        observed += [
            Observed(frozenset(read), frozenset(written))
            for read, (_, written) in zip(reads, first, strict=True)
        ]
    return observed


def _field_locations(case: Case) -> list[str]:
    """The registers of both banks that a field could name, and the flags."""
    numbers = sorted(_field_numbers(case))
    general = [f"general {number}" for number in numbers if number < GENERAL]
    return [*general, *(f"vector {number}" for number in numbers), "flags"]


def _field_numbers(case: Case) -> set[int]:
    word = int.from_bytes(case.code, "little")
    return {word >> low & 31 for low in _FIELDS}


def _experiments(
    cases: Sequence[Case], flips: Sequence[Sequence[str]], path: Path
) -> list[tuple[set[str], set[str]]]:
    """(read, written) of each case; `flips`: the locations to change one by one, then all others at once."""
    records: list[Record] = []
    labels: list[list[tuple[int, str]]] = []  # (its state's record, what was changed)
    code_start = BASE + HEADERS
    programs = [_program_of(case) for case in cases]
    data = -(-(code_start + sum(map(len, programs)) + 4096) // 4096) * 4096
    for case, names in zip(cases, flips, strict=True):
        dice = Random(case.code)
        own: list[tuple[int, str]] = []
        first = len(records)
        for state in range(_STATES):
            address = data + RECORD * len(records)
            base = _state(case, dice, state, address)
            origin = len(records)
            records.append(base)
            own.append((origin, ""))
            for name in [*names, "memory", "others"]:
                changed = _LOCATIONS if name == "others" else [(name, *_BY_NAME[name])]
                for flip in range(_FLIPS if name not in ("memory", "others") else 1):
                    record = base.copy()
                    _move(case, record, RECORD * (len(records) - origin))
                    bank = name.partition(" ")[0]
                    twins = [_BY_NAME[twin][0] for twin in names if twin != name and twin.startswith(bank)]
                    twin = dice.choice(twins) if flip == 0 and twins else None
                    if flip == 1 and bank == "general" and case.addresses:
                        twin = _MEMORY + MIDDLE  # for what compares a register with memory
                    for location, start, size in changed:
                        if name != "others" or location not in (*names, "memory", "jump"):
                            _flip(case, record, location, start, size, dice, twin)
                    records.append(record)
                    own.append((origin, name))
        for number in range(first, len(records)):
            records[number][_MORE] = number + 1 < len(records)
        labels.append(own)
    before = np.stack(records)
    after = _run(programs, before, data, path)
    _undo_moves(cases, labels, before, after)
    return [_outcome(own, before, after) for own in labels]


def _state(case: Case, dice: Random, state: int, address: int) -> Record:
    """Random registers: numbers of all lengths, vectors of usual floating-point numbers or of any bits."""
    record = np.zeros(RECORD, dtype=np.uint8)
    for number in range(GENERAL):
        _write(record, 8 * number, dice.getrandbits(64) >> dice.choice((0, 0, 20, 40, 56, 64)), 8)
    _write(record, _FLAGS, _NZCV[state] << 28, 8)
    for number in range(VECTORS):
        _write(record, _VECTOR + 16 * number, _vector(dice, state), 16)
    _write(record, _MEMORY, dice.getrandbits(8 * MEMORY_BYTES), MEMORY_BYTES)
    _write(record, _MARK, 1, 8)
    for number, distance in case.addresses.items():
        _write(record, 8 * number, address + _MEMORY + MIDDLE + distance, 8)
    for number in case.indices:
        _write(record, 8 * number, dice.randrange(4), 8)
    if case.addresses and state % 4 == 3:
        for number in _field_numbers(case) - {*case.addresses, *case.indices, GENERAL}:
            place = _MEMORY + MIDDLE
            record[8 * number : 8 * number + 8] = record[place : place + 8]
    return record


def _vector(dice: Random, state: int) -> int:
    if dice.randrange(12) == 0:
        return 0
    if state % 3 == 0:
        return dice.getrandbits(128)
    if state % 3 == 1:
        return sum((0x3400 + dice.randrange(0x1000) | dice.getrandbits(1) << 15) << 16 * k for k in range(8))
    return sum(dice.randrange(24) << 8 * k for k in range(16))


def _flip(
    case: Case, record: Record, name: str, start: int, size: int, dice: Random, twin: int | None = None
) -> None:
    """Give a location another value, or that of its twin; addresses stay near, the rest of flags zero."""
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
    elif bank == "vector":
        _write(record, start, _vector(dice, dice.randrange(3)), size)
    else:
        _write(record, start, dice.getrandbits(64) >> dice.choice((0, 40, 64)), size)


def _move(case: Case, record: Record, distance: int) -> None:
    """Let the addresses of a copied record be its own."""
    for number in case.addresses:
        value = int.from_bytes(record[8 * number : 8 * number + 8].tobytes(), "little")
        _write(record, 8 * number, value + distance, 8)


def _undo_moves(
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
                    _write(rows[number], 8 * register, value - RECORD * number, 8)
            number += 1


def _outcome(
    own: Sequence[tuple[int, str]], before: npt.NDArray[np.uint8], after: npt.NDArray[np.uint8]
) -> tuple[set[str], set[str]]:
    first = own[0][0]
    numbers = np.arange(first, first + len(own))
    origins = np.array([origin for origin, _ in own])
    written = _by_location(after[numbers] != before[numbers]).any(axis=0)
    labels = np.array([label for _, label in own])
    different = after[numbers] != after[origins]
    stored = (after[numbers] != before[numbers]) | (after[origins] != before[origins])
    different[labels == "memory"] &= stored[labels == "memory"]  # the other bytes stay as they were
    differs = _by_location(different)
    differs &= written | ~_by_location(before[numbers] != before[origins])
    read = {str(label) for label in labels[differs.any(axis=1)] if label}
    names = {_NAMES[place] for place in np.flatnonzero(written)}
    return read, names - {"jump"}


def _by_location(differences: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """For each record and location, whether any byte differs."""
    ends = [start for _, start, _ in _LOCATIONS]
    return np.logical_or.reduceat(differences[:, :_MORE], ends, axis=1)


def _write(record: Record, start: int, value: int, size: int) -> None:
    content = (value & (1 << 8 * size) - 1).to_bytes(size, "little")
    record[start : start + size] = np.frombuffer(content, dtype=np.uint8)


def _run(
    programs: Sequence[bytes], records: npt.NDArray[np.uint8], data: int, path: Path
) -> npt.NDArray[np.uint8]:
    start = BASE + HEADERS
    entry = machine_code([f"movz x9, #{data & 0xFFFF}", f"movk x9, #{data >> 16}, lsl #16", "mov sp, x9"])
    size = records.size
    leave = machine_code(
        [
            "mov x0, #1",
            *(f"movz x1, #{data & 0xFFFF}", f"movk x1, #{data >> 16}, lsl #16"),
            *(f"movz x2, #{size & 0xFFFF}", f"movk x2, #{size >> 16}, lsl #16"),
            *("1: mov x8, #64", "svc #0", "add x1, x1, x0", "subs x2, x2, x0", "mov x0, #1", "b.hi 1b"),
            *("mov x0, #0", "mov x8, #93", "svc #0"),
        ]
    )
    code = entry + b"".join(programs) + leave
    content = code.ljust(data - start, b"\0") + records.tobytes()
    path.write_bytes(elf_headers(MACHINE, len(content), len(content)) + content)
    path.chmod(0o755)
    assert QEMU is not None
    done = subprocess.run([QEMU, "-cpu", "max", path], capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, f"the program ended with {done.returncode}"
    return np.frombuffer(done.stdout, dtype=np.uint8).reshape(records.shape).copy()


_NOP = 0xD503201F
_EXCLUSIVE, _EXCLUSIVE_STORE = 0x3FE0_0000, 0x0800_0000
_EXCLUSIVE_PAIR, _EXCLUSIVE_STORE_OF_PAIR = 0xBFE0_0000, 0x8820_0000
"""Bits of `stxr` and the like, which store only behind a load of the same place."""


def _program_of(case: Case) -> bytes:
    """Load a record, execute the instruction, store the record, go on while there are more of this case."""
    word = int.from_bytes(case.code, "little")
    before = _NOP
    if word & _EXCLUSIVE == _EXCLUSIVE_STORE:
        before = word | 1 << 22 | 31 << 16 | 31
    elif word & _EXCLUSIVE_PAIR == _EXCLUSIVE_STORE_OF_PAIR:
        before = word | 1 << 22 | 31 << 16 | 31 << 10 | 31
    load, store = _AROUND
    return load + before.to_bytes(4, "little") + case.code + store


def _lines(transfer: str) -> Iterator[str]:
    for number in range(0, VECTORS, 2):
        yield f"{transfer}p q{number}, q{number + 1}, [sp, #{_VECTOR + 16 * number}]"
    for number in range(0, GENERAL - 1, 2):
        yield f"{transfer}p x{number}, x{number + 1}, [sp, #{8 * number}]"
    yield f"{transfer}r x30, [sp, #240]"


def _make_around() -> tuple[bytes, bytes]:
    lines = [
        *("1:", f"ldr x0, [sp, #{_FLAGS}]", "msr nzcv, x0", *_lines("ld"), "nop", "nop"),
        *(f"str xzr, [sp, #{_MARK}]", *_lines("st"), "mrs x0, nzcv", f"str x0, [sp, #{_FLAGS}]"),
        *(f"ldrb w0, [sp, #{_MORE}]", f"add sp, sp, #{RECORD}", "cbnz w0, 1b"),
    ]
    code = machine_code(lines)
    middle = 4 * (3 + len(list(_lines("ld"))) - 1)
    return code[:middle], code[middle + 8 :]


_AROUND = _make_around() if QEMU else (b"", b"")

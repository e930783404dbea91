"""The code around blocks of AArch64 and RISC-V, and the handler of their faults, run in QEMU's user mode.

QEMU refuses to map shared memory once more by `mremap` of size 0, as agents do, so the handler moves nothing
here but leaves what it maps where it is, too (MREMAP_DONTUNMAP).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from inference.agent.frame import FrameError
from inference.agent.protocol import Frame
from inference.agent.targets import aarch64_blocks, riscv64_blocks, riscv_words, words
from inference.agent.targets.block_state import (
    ADDRESS,
    LEFT,
    NEXT,
    PAGE,
    PAGES,
    REASON,
    REFUSED,
    TOO_MANY,
    BlockCode,
    Layout,
    state_of,
)
from inference.agent.targets.words import code as code_of
from tests.isa import aarch64_program, riscv64_program
from tests.isa.emulated_program import Outcome

START = 0x62345600
STATE, HANDLER, LIST, STACK, SOURCE = (0x20_0000_0000 + k * 0x10_0000 for k in range(5))
LAYOUT = Layout(code=0, state=STATE)
EVERYTHING = 1 << 48  # bytes of code that may fault
ANONYMOUS, SHARED = 0x32, 0x31  # with MAP_FIXED
SIGSEGV, MMAP, SIGALTSTACK, SIGACTION = 11, 222, 132, 134
FIRST_WORDS = (0, 1)  # of the memory that all pages are


@dataclass(frozen=True)
class Machine:
    """An instruction set, and how its programs call the system.

    `arguments`: the register of the first argument. `number`: of the call's number. `scratch`: two others.
    `changed`: code of the handler, and what stands in its place here.
    """

    isa: str
    blocks: BlockCode
    words: Any
    program: Any
    arguments: int
    number: int
    scratch: tuple[int, int]
    call: int
    counter: str
    changed: Mapping[str, str]
    increment: Sequence[str]
    store_above_stack: str
    walk: Sequence[str]
    low: tuple[str, str]
    sum: Callable[[str], str]
    sum_register: str
    store_sum: str

    def run(self, functions: Sequence[bytes], path: Path) -> Outcome:
        outcome: Outcome = self.program.run(functions, path)
        return outcome


AARCH64 = Machine(
    "AArch64",
    aarch64_blocks,
    words,
    aarch64_program,
    arguments=0,
    number=8,
    scratch=(9, 10),
    call=0xD4000001,  # svc #0
    counter="x28",
    # mov x1, #4096 in place of 0; MREMAP_DONTUNMAP
    changed={"010080d2": "010082d2", "630080d2": "e30080d2"},
    increment=("ldr x3, [x0]", "add x3, x3, #1", "str x3, [x0]"),
    store_above_stack="str x29, [sp, #4096]",
    walk=("ldr x3, [x0]", "add x0, x0, #1, lsl #12"),
    low=("x5", "ldr x3, [x5]"),
    sum=lambda name: f"add x1, x1, {name}",
    sum_register="x1",
    store_sum="str x1, [x0]",
)
RISCV = Machine(
    "RISC-V",
    riscv64_blocks,
    riscv_words,
    riscv64_program,
    arguments=10,
    number=17,
    scratch=(5, 6),
    call=0x00000073,  # ecall
    counter="s11",
    changed={"93050000": "b7150000", "93063000": "93067000"},  # lui a1, 1; li a3, 7
    increment=("ld a3, 0(a0)", "addi a3, a3, 1", "sd a3, 0(a0)"),
    store_above_stack="lui t6, 1\nadd t6, t6, sp\nsd gp, 0(t6)",
    walk=("ld a3, 0(a0)", "lui t6, 1", "add a0, a0, t6"),
    low=("a5", "ld a3, 0(a5)"),
    sum=lambda name: f"add a1, a1, {name}",
    sum_register="a1",
    store_sum="sd a1, 0(a0)",
)
machines = pytest.mark.parametrize(
    "machine",
    [
        pytest.param(AARCH64, marks=aarch64_program.needs_qemu, id="AArch64"),
        pytest.param(RISCV, marks=riscv64_program.needs_qemu, id="RISC-V"),
    ],
)
either_unrolled = pytest.mark.parametrize("unrolled", [False, True])


def surroundings(machine: Machine, *, unrolled: bool = False, pages: int = 4, **registers: int) -> Frame:
    return Frame(
        isa=machine.isa,
        memory_register="",
        counter_register="" if unrolled else machine.counter,
        registers={**dict.fromkeys(machine.blocks.REGISTERS, START), **registers},
        memory=START,
        pages=pages,
        unrolled=unrolled,
    )


def _call(machine: Machine, number: int, *arguments: int) -> Iterator[int]:
    for register, value in enumerate(arguments, machine.arguments):
        yield from machine.words.set_register(register, value)
    yield from machine.words.set_register(machine.number, number)
    yield machine.call


def _stored(machine: Machine, address: int, content: bytes) -> Iterator[int]:
    base, value = machine.scratch
    yield from machine.words.set_register(base, address)
    for place in range(0, len(content), 8):
        yield from machine.words.set_register(value, int.from_bytes(content[place : place + 8], "little"))
        yield machine.words.store(value, base, place)


def _prepared(machine: Machine, frame: Frame) -> bytes:
    """A function that maps memory, writes the state and installs the handler."""
    moved = machine.blocks.handler(STATE)
    for before, after in machine.changed.items():
        moved = moved.replace(bytes.fromhex(before), bytes.fromhex(after))
    state = state_of(frame, LAYOUT, EVERYTHING, SOURCE, LIST, 0)
    action = b"".join(value.to_bytes(8, "little") for value in (HANDLER, 0x08000004, 0, 0))
    stack = b"".join(value.to_bytes(8, "little") for value in (STACK, 0, 16 * PAGE))
    code: list[int] = []
    for place, size, protection, flags in (
        (STATE, PAGE, 3, ANONYMOUS),
        (HANDLER, PAGE, 7, ANONYMOUS),
        (LIST, PAGE, 3, ANONYMOUS),
        (STACK, 16 * PAGE, 3, ANONYMOUS),
        (SOURCE, PAGES * PAGE, 3, SHARED),
    ):
        code += _call(machine, MMAP, place, size, protection, flags, 2**64 - 1, 0)
    code += [*_stored(machine, STATE, state), *_stored(machine, HANDLER, moved + b"\0" * (-len(moved) % 8))]
    code += [*_stored(machine, STATE + 1024, stack), *_stored(machine, STATE + 2048, action)]
    code += _call(machine, SIGALTSTACK, STATE + 1024, 0)
    code += _call(machine, SIGACTION, SIGSEGV, STATE + 2048, 0, 8)
    return code_of([*code, machine.words.RET])


def _reported(machine: Machine, places: Mapping[str, int]) -> bytes:
    """A function that copies words to the memory that a program writes in the end."""
    code: list[int] = []
    base, value = machine.scratch
    for number, address in enumerate(places.values()):
        code += [*machine.words.set_register(base, address), machine.words.load(value, base, 0)]
        code.append(machine.words.store(value, machine.arguments + 1, 8 * number))
    return code_of([*code, machine.words.RET])


def outcome(
    path: Path, machine: Machine, frame: Frame, *lines: str, copies: int = 2, refills: bool = False
) -> dict[str, int]:
    """What the state and the first words of memory hold after a block ran three times."""
    page = SOURCE + START % (PAGES * PAGE) // PAGE * PAGE + START % PAGE
    places = {name: STATE + place for name, place in (("left", LEFT), ("reason", REASON), ("at", ADDRESS))}
    places |= {"next": STATE + NEXT, **{f"word {k}": page + 8 * k for k in FIRST_WORDS}}
    body = machine.program.machine_code([part for line in lines for part in line.splitlines()])
    code = machine.blocks.function(frame, body * copies, 0, LAYOUT, refills=refills)
    done = machine.run([_prepared(machine, frame), code, _reported(machine, places)], path / "program")
    assert done.status == 0, "what belongs to the caller has changed"
    return dict(zip(places, done.words, strict=False))


@machines
@either_unrolled
def test_pages_are_mapped_when_they_are_touched(tmp_path: Path, machine: Machine, unrolled: bool) -> None:
    frame = surroundings(machine, unrolled=unrolled)
    found = outcome(tmp_path, machine, frame, *machine.increment, machine.store_above_stack)
    assert (found["left"], found["reason"], found["next"]) == (2, 0, LIST + 16)
    assert found["word 0"] == 6  # two copies in three iterations


@machines
@either_unrolled
def test_registers_begin_as_the_frame_says(tmp_path: Path, machine: Machine, unrolled: bool) -> None:
    """Every register but the counter is added up; unrolled code begins anew with each iteration."""
    left_out = ("x0", "a0", "sp", "zero", machine.counter)
    names = [name for name in machine.blocks.REGISTERS if name not in left_out]
    values = {name: 3 * number + 1 for number, name in enumerate(names)}
    lines = [machine.sum(name) for name in values if name != machine.sum_register]
    frame = surroundings(machine, unrolled=unrolled, **values)
    found = outcome(tmp_path, machine, frame, *lines, machine.store_sum, copies=1)
    others = sum(values.values()) - values[machine.sum_register]
    assert found["word 0"] == values[machine.sum_register] + (1 if unrolled else 3) * others
    assert found["reason"] == 0


@machines
def test_memory_begins_anew_where_that_is_asked_for(tmp_path: Path, machine: Machine) -> None:
    frame = surroundings(machine, unrolled=True)
    found = outcome(tmp_path, machine, frame, *machine.increment, copies=1, refills=True)
    assert (found["word 0"], found["word 1"]) == (START + 1, START)


@machines
def test_a_block_is_left_where_it_may_not_go_on(tmp_path: Path, machine: Machine) -> None:
    walk = outcome(tmp_path, machine, surroundings(machine, pages=2), *machine.walk, copies=9)
    assert (walk["reason"], walk["at"]) == (TOO_MANY, START + 2 * PAGE)
    register, load = machine.low
    low = outcome(tmp_path, machine, surroundings(machine, **{register: 64}), load)
    assert (low["reason"], low["at"]) == (REFUSED, 64)


@pytest.mark.parametrize("machine", [AARCH64, RISCV], ids=["AArch64", "RISC-V"])
def test_frames_that_cannot_be_are_refused(machine: Machine) -> None:
    nop = code_of([machine.words.NOP])
    with pytest.raises(FrameError, match="no general-purpose register 'x31'"):
        machine.blocks.function(surroundings(machine, x31=1), nop, 0, LAYOUT, refills=False)
    with pytest.raises(FrameError, match="bytes"):
        machine.blocks.function(surroundings(machine), b"\0", 0, LAYOUT, refills=False)


@pytest.mark.parametrize("machine", [AARCH64, RISCV], ids=["AArch64", "RISC-V"])
@pytest.mark.parametrize("offset", [0, 4, 60])
def test_the_first_copy_stands_where_the_frame_says(machine: Machine, offset: int) -> None:
    frame = Frame(isa=machine.isa, counter_register=machine.counter, pages=1, offset=offset)
    body = code_of([0x0000DEAD])
    code = machine.blocks.function(frame, body, 0x8000, LAYOUT, refills=False)
    assert (0x8000 + code.index(body)) % 64 == offset

"""The code around basic blocks of AArch64, and the handler of their faults, run in QEMU's user mode.

QEMU refuses to map shared memory once more by `mremap` of size 0, as agents do, so the handler moves nothing
here but leaves what it maps where it is, too (MREMAP_DONTUNMAP).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from inference.agent.frame import FrameError
from inference.agent.protocol import Frame
from inference.agent.targets import words
from inference.agent.targets.aarch64_blocks import REGISTERS, function, handler
from inference.agent.targets.block_state import (
    ADDRESS,
    LEFT,
    NEXT,
    PAGE,
    PAGES,
    REASON,
    REFUSED,
    TOO_MANY,
    Layout,
    state_of,
)
from tests.isa.aarch64_program import machine_code, needs_qemu, run

START = 0x62345600
STATE, HANDLER, LIST, STACK, SOURCE = (0x20_0000_0000 + k * 0x10_0000 for k in range(5))
LAYOUT = Layout(code=0, state=STATE)
EVERYTHING = 1 << 48  # bytes of code that may fault
ANONYMOUS, SHARED = 0x32, 0x31  # with MAP_FIXED
SIGSEGV, MMAP, SIGALTSTACK, SIGACTION = 11, 222, 132, 134
FIRST_WORDS = (0, 1)  # of the memory that all pages are


def surroundings(*, unrolled: bool = False, pages: int = 4, **registers: int) -> Frame:
    return Frame(
        isa="AArch64",
        memory_register="",
        counter_register="" if unrolled else "x28",
        registers={**dict.fromkeys(REGISTERS, START), **registers},
        memory=START,
        pages=pages,
        unrolled=unrolled,
    )


def _call(number: int, *arguments: int) -> Iterator[int]:
    for register, value in enumerate(arguments):
        yield from words.set_register(register, value)
    yield from words.set_register(8, number)
    yield 0xD4000001  # svc #0


def _stored(address: int, content: bytes) -> Iterator[int]:
    yield from words.set_register(9, address)
    for place in range(0, len(content), 8):
        yield from words.set_register(10, int.from_bytes(content[place : place + 8], "little"))
        yield words.store(10, 9, place)


def _prepared(frame: Frame) -> bytes:
    """A function that maps memory, writes the state and installs the handler."""
    moved = handler(STATE).replace(bytes.fromhex("010080d2"), bytes.fromhex("010082d2"))  # mov x1, #4096
    moved = moved.replace(bytes.fromhex("630080d2"), bytes.fromhex("e30080d2"))  # with MREMAP_DONTUNMAP
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
        code += _call(MMAP, place, size, protection, flags, 2**64 - 1, 0)
    code += [*_stored(STATE, state), *_stored(HANDLER, moved + b"\0" * (-len(moved) % 8))]
    code += [*_stored(STATE + 1024, stack), *_stored(STATE + 2048, action)]
    code += [*_call(SIGALTSTACK, STATE + 1024, 0), *_call(SIGACTION, SIGSEGV, STATE + 2048, 0, 8)]
    return words.code([*code, words.RET])


def _reported(places: Mapping[str, int]) -> bytes:
    """A function that copies words to the memory that a program writes in the end."""
    code: list[int] = []
    for number, address in enumerate(places.values()):
        code += [*words.set_register(9, address), words.load(10, 9, 0), words.store(10, 1, 8 * number)]
    return words.code([*code, words.RET])


def outcome(path: Path, frame: Frame, *lines: str, copies: int = 2, refills: bool = False) -> dict[str, int]:
    """What the state and the first words of memory hold after a block ran three times."""
    page = SOURCE + START % (PAGES * PAGE) // PAGE * PAGE + START % PAGE
    places = {name: STATE + place for name, place in (("left", LEFT), ("reason", REASON), ("at", ADDRESS))}
    places |= {"next": STATE + NEXT, **{f"word {k}": page + 8 * k for k in FIRST_WORDS}}
    code = function(frame, machine_code(lines) * copies, 0, LAYOUT, refills=refills)
    done = run([_prepared(frame), code, _reported(places)], path / "program")
    assert done.status == 0, "what belongs to the caller has changed"
    return dict(zip(places, done.words, strict=False))


@needs_qemu
@pytest.mark.parametrize("unrolled", [False, True])
def test_pages_are_mapped_when_they_are_touched(tmp_path: Path, unrolled: bool) -> None:
    frame = surroundings(unrolled=unrolled)
    found = outcome(tmp_path, frame, "ldr x3, [x0]", "add x3, x3, #1", "str x3, [x0]", "str x29, [sp, #4096]")
    assert (found["left"], found["reason"], found["next"]) == (2, 0, LIST + 16)
    assert found["word 0"] == 6  # two copies in three iterations


@needs_qemu
@pytest.mark.parametrize("unrolled", [False, True])
def test_registers_begin_as_the_frame_says(tmp_path: Path, unrolled: bool) -> None:
    """Every register but the counter is added up; unrolled code begins anew with each iteration."""
    values = {name: 3 * number + 1 for number, name in enumerate(REGISTERS[:-1]) if name not in ("x0", "x28")}
    lines = [f"add x1, x1, x{name[1:]}" for name in values if name != "x1"]
    found = outcome(tmp_path, surroundings(unrolled=unrolled, **values), *lines, "str x1, [x0]", copies=1)
    others = sum(values.values()) - values["x1"]
    assert found["word 0"] == values["x1"] + (1 if unrolled else 3) * others
    assert found["reason"] == 0


@needs_qemu
def test_memory_begins_anew_where_that_is_asked_for(tmp_path: Path) -> None:
    lines = ["ldr x3, [x0]", "add x3, x3, #1", "str x3, [x0]"]
    found = outcome(tmp_path, surroundings(unrolled=True), *lines, copies=1, refills=True)
    assert (found["word 0"], found["word 1"]) == (START + 1, START)


@needs_qemu
def test_a_block_is_left_where_it_may_not_go_on(tmp_path: Path) -> None:
    walk = outcome(tmp_path, surroundings(pages=2), "ldr x3, [x0]", "add x0, x0, #1, lsl #12", copies=9)
    assert (walk["reason"], walk["at"]) == (TOO_MANY, START + 2 * PAGE)
    low = outcome(tmp_path, surroundings(x5=64), "ldr x3, [x5]")
    assert (low["reason"], low["at"]) == (REFUSED, 64)


def test_frames_that_cannot_be_are_refused() -> None:
    with pytest.raises(FrameError, match="no general-purpose register 'x31'"):
        function(surroundings(x31=1), words.code([words.NOP]), 0, LAYOUT, refills=False)
    with pytest.raises(FrameError, match="4 bytes per instruction"):
        function(surroundings(), b"\0", 0, LAYOUT, refills=False)


@pytest.mark.parametrize("offset", [0, 4, 60])
def test_the_first_copy_stands_where_the_frame_says(offset: int) -> None:
    frame = Frame(isa="AArch64", counter_register="x28", pages=1, offset=offset)
    body = words.code([0x0000DEAD])
    code = function(frame, body, 0x8000, LAYOUT, refills=False)
    assert (0x8000 + code.index(body)) % 64 == offset

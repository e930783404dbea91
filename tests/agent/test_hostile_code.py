"""Code that nobody should run: each ends in a named result, beside others that are measured all the same."""

from __future__ import annotations

import json
import mmap
import os
import struct
from pathlib import Path

import pytest

from inference.agent.passes import LocalHarness
from inference.agent.process import ForkServer, MeasuringProcess
from inference.agent.protocol import Batch, BatchItem, Result
from inference.agent.sandbox import MEMORY_BYTES
from inference.agent.targets import x86_64
from tests.agent.conftest import ADD, HASTY, frame, item, needs_x86
from tests.launched import descendants

pytestmark = needs_x86

FORBIDDEN = "makes a forbidden system call"
NOT_ITS_OWN = "touches memory that is not its own"
TIMES = "changes its own code, or that which times it"
OVERWRITES = "overwrites the process that measures it"

SYSCALL = b"\x0f\x05"
FLAGS = b"\x9c\x81\x0c\x24%b\x9d"  # pushfq; or dword ptr [rsp], …; popfq

_NAMES = (
    "open socket connect clone fork vfork execve kill ptrace prctl arch_prctl mount openat seccomp "
    "memfd_create bpf execveat io_uring_setup clone3 x32-write"
)
_NUMBERS = (
    *(2, 41, 42, 56, 57, 58, 59, 62, 101, 157, 158, 165, 257, 317, 319),
    *(321, 322, 425, 435, 0x4000_0001),
)
SYSTEM_CALLS = dict(zip(_NAMES.split(), _NUMBERS, strict=True))

PRIVILEGED = {"cli": b"\xfa", "hlt": b"\xf4", "wrmsr": b"\x0f\x30", "mov cr3": b"\x0f\x22\xd8", "in": b"\xec"}

STRAY = {
    "rsp = 0": b"\x31\xe4\x50",  # xor esp, esp; push rax
    "returns to nowhere": b"\x68\x34\x12\x00\x00\xc3",  # push 0x1234; ret
    "jumps far away": b"\x48\xb8" + b"\x41" * 8 + b"\xff\xe0",  # mov rax, …; jmp rax
    "beyond its code": b"\x48\x8d\x3d\x00\x10\x00\x00\xb9\x00\x00\x02\x00\xf3\xaa",  # rep stosb
    "the system's": b"\x48\xb8" + struct.pack("<q", -4096) + b"\x48\x89\x00",  # mov [rax], rax
    "no thread": b"\x31\xc0\x64\x48\x89\x04\x25\x00\x00\x00\x00\x64\x8b\x00\xcc",  # mov fs:[0], rax; trap
}

CHANGES = {
    "alignment checks": FLAGS % struct.pack("<I", 1 << 18),
    "direction": b"\xfd",  # std
    "vector exceptions": b"\xc7\x44\x24\xf8\x00\x00\x00\x00\x0f\xae\x54\x24\xf8",  # ldmxcsr [rsp-8]
    "x87 exceptions": b"\xc7\x44\x24\xf8\x00\x00\x00\x00\xd9\x6c\x24\xf8",  # fldcw [rsp-8]
}
"""What code may do to the processor's own state; it may be measured, and nobody else feels it."""


async def measured(harness: LocalHarness, *items: BatchItem) -> dict[str, Result]:
    """Results by id; a block with a known time is among them, and always has one."""
    results = await harness.measure(Batch(frame(), HASTY, (*items, ADD)), lambda _done, _all: None)
    by_id = {result.id: result for result in results}
    assert by_id[ADD.id].cycles is not None
    assert harness.beat().state != "unfit"
    return by_id


async def confined(harness: LocalHarness) -> None:
    await measured(harness)
    if not harness.confinement["system_calls"]:
        pytest.skip("this kernel does not filter system calls")


def calls(number: int, *arguments: int) -> bytes:
    """A system call; arguments in rdi, rsi, rdx, r10, r8, r9."""
    moves = (b"\x48\xbf", b"\x48\xbe", b"\x48\xba", b"\x49\xba", b"\x49\xb8", b"\x49\xb9")
    code = b"".join(move + struct.pack("<q", value) for move, value in zip(moves, arguments, strict=False))
    return code + b"\xb8" + struct.pack("<I", number) + SYSCALL


def says(*messages: object) -> bytes:
    """Lines written to every file that may be open; the connection to the agent is one of them."""
    text = b"".join((one if isinstance(one, bytes) else json.dumps(one).encode()) + b"\n" for one in messages)
    code = b"".join(
        b"\xbf" + struct.pack("<I", descriptor) + b"\xb8\x01\x00\x00\x00" + SYSCALL  # mov edi, …; write
        for descriptor in range(3, 64)
    )
    there = b"\x48\x8d\x35" + struct.pack("<i", 5 + len(code) + 5)  # lea rsi, [rip + …]
    return (
        there + b"\xba" + struct.pack("<I", len(text)) + code + b"\xe9" + struct.pack("<i", len(text)) + text
    )


async def test_system_calls_that_measuring_does_not_need_are_the_end(harness: LocalHarness):
    await confined(harness)
    found = await measured(harness, *(item(name, calls(number)) for name, number in SYSTEM_CALLS.items()))
    assert {name: found[name].note for name in SYSTEM_CALLS} == dict.fromkeys(SYSTEM_CALLS, FORBIDDEN)


async def test_other_ways_into_the_kernel_are_closed(harness: LocalHarness):
    await confined(harness)
    old, fast = item("int 0x80", b"\xb8\x02\x00\x00\x00\xcd\x80"), item("sysenter", b"\x0f\x34")
    found = await measured(harness, old, fast, item("parent", calls(110) + b"\x89\xc7" + calls(62)))
    assert found["parent"].note == FORBIDDEN
    for name in (old.id, fast.id):  # a kernel without 32-bit programs has no such entry at all
        assert found[name].note in {FORBIDDEN, "illegal instruction"} or NOT_ITS_OWN in found[name].note


async def test_stray_code_and_what_only_the_kernel_may_ends_in_a_named_result(harness: LocalHarness):
    items = [item(name, code) for name, code in (STRAY | PRIVILEGED).items()]
    single = item("single steps", FLAGS % struct.pack("<I", 1 << 8))
    found = await measured(harness, *items, single)
    for name in STRAY | PRIVILEGED:
        assert found[name].state == "failed", name
        assert found[name].note, name
    for name in PRIVILEGED:
        assert NOT_ITS_OWN in found[name].note
    assert found[single.id].note == "runs into a trap"


async def test_what_code_does_to_flags_and_control_words_nobody_else_feels(harness: LocalHarness):
    found = await measured(harness, *(item(name, code) for name, code in CHANGES.items()))
    for name in CHANGES:
        assert found[name].cycles is not None or found[name].note
    assert found["direction"].cycles is not None


async def test_code_that_changes_itself_or_the_clock_fails_by_name(harness: LocalHarness):
    itself = item("itself", b"\x48\x8d\x05\x03\x00\x00\x00\xc6\x00\x91\x90")  # mov [rip to the nop], 0x91
    chain = x86_64.function(frame(), x86_64.CHAIN).index(x86_64.CHAIN) + 2
    start = b"\x48\x8d\x05\x00\x00\x00\x00\x48\x25\x00\xf0\xff\xff"  # lea rax, [rip]; and rax, -4096
    clock = item("clock", start + b"\xc6\x80" + struct.pack("<I", chain) + b"\xd9")  # add rcx, rbx instead
    found = await measured(harness, itself, clock)
    assert (found["itself"].note, found["clock"].note) == (TIMES, TIMES)


async def test_code_that_overwrites_the_interpreter_costs_itself(harness: LocalHarness):
    where = struct.pack("<q", id(str) + 8)  # the type `str`, at the same address in every fork
    code = b"\x48\xbf" + where + b"\xb0\x41\xb9\x00\x01\x00\x00\xf3\xaa"  # rep stosb, 256 times
    found = await measured(harness, item("interpreter", code))
    assert found["interpreter"].state == "failed"


FORGED = {
    "another's": {"id": ADD.id, "cycles": 0.01, "ghz": 3.0, "sentinel": 0.25, "counters": {}},
    "unfit": {"unfit": "so it says"},
    "done": {"done": True},
    "no object": [1, 2],
    "no JSON": b"\xff{",
    "no number": b'{"id": "no number", "cycles": NaN, "ghz": 1, "sentinel": 1, "counters": {}}',
    "no text": {"start": ["no text"]},
    "less than nothing": {"id": "less than nothing", "disturbed": -1.0},
    "deep": b"[" * 5000,
    "long": b"x" * 9000,
}


async def test_messages_that_code_writes_itself_are_no_results(harness: LocalHarness):
    found = await measured(harness, *(item(name, says(message)) for name, message in FORGED.items()))
    assert {name: found[name].note for name in FORGED} == dict.fromkeys(FORGED, OVERWRITES)


async def test_code_that_gives_its_own_answer_fails_when_the_true_one_comes(harness: LocalHarness):
    own = {"id": "own", "cycles": 0.01, "ghz": 3.0, "sentinel": 0.25, "counters": {}}
    found = await measured(harness, item("own", says(own)))
    assert found["own"].note == OVERWRITES


async def test_code_that_hangs_up_fails_by_name(harness: LocalHarness):
    code = b"".join(calls(3, descriptor) for descriptor in range(3, 64))
    found = await measured(harness, item("hangs up", code))
    assert found["hangs up"].note.startswith(("ended with status", "hung up"))


@pytest.mark.parametrize("kind", [mmap.MAP_PRIVATE, mmap.MAP_SHARED])
async def test_memory_has_an_end(harness: LocalHarness, kind: int):
    ask = calls(9, 0, 2 * MEMORY_BYTES, 3, kind | mmap.MAP_ANONYMOUS, -1, 0)
    hoards = item("hoards", ask + b"\x48\x85\xc0\x78\x02\x0f\x0b")  # test rax, rax; js on; ud2
    assert (await measured(harness, hoards))["hoards"].cycles is not None


async def test_a_measuring_process_has_no_file_but_its_connection(processes: ForkServer):
    process = await MeasuringProcess.start(processes, frame(), HASTY)
    try:
        links = list(Path(f"/proc/{process.pid}/fd").iterdir())
    except PermissionError:
        pytest.skip("only root may look at a process that cannot be traced")
    files = {link.name: str(link.readlink()) for link in links}
    assert {files.pop(name) for name in "012"} == {os.devnull}
    assert len([target for target in files.values() if "perf_event" not in target]) == 1
    await process.stop()


async def test_nothing_is_left_of_hostile_code(harness: LocalHarness):
    before = set(descendants(os.getpid()))
    await measured(harness, item("fork", calls(57)), item("crash", b"\x0f\x0b"))
    process = harness._process
    assert process is not None
    assert set(descendants(os.getpid())) - before <= {process.pid}

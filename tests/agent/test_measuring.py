"""Machine code in processes of its own, on this very computer."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from inference.agent import fork_server, passes
from inference.agent.facts import choose_core
from inference.agent.passes import LocalHarness
from inference.agent.process import ForkServer, MeasuringProcess, UnfitError
from inference.agent.protocol import Batch, Frame, Settings
from inference.agent.sandbox import MEMORY_BYTES
from tests.agent.conftest import ADD, HASTY, frame, item, needs_x86
from tests.launched import is_alive, wait_until

pytestmark = needs_x86

DEADLY = {
    "illegal instruction": b"\x0f\x0b",  # ud2
    "touches memory that is not its own": b"\x48\x8b\x04\x25\x00\x00\x00\x00",  # mov rax, [0]
    "arithmetic exception": b"\x31\xc9\xf7\xf1",  # xor ecx, ecx; div ecx
    "runs into a trap": b"\xcc",  # int3
    "does not end within": b"\xeb\xfe",  # jmp to itself
    "ended with status 0": b"\xb8\x3c\x00\x00\x00\x31\xff\x0f\x05",  # exit(0)
}
WRITES_EVERYWHERE = b"\x48\x89\xe7\x48\xc7\xc1\xff\xff\xff\x7f\xf3\xaa"  # rep stosb up the stack


async def test_code_that_kills_its_process_costs_one_named_result_and_nothing_else(harness: LocalHarness):
    bad = [item(reason, code) for reason, code in DEADLY.items()] + [item("stack", WRITES_EVERYWHERE)]
    results = await harness.measure(Batch(frame(), HASTY, (*bad, ADD)), lambda _done, _all: None)
    by_id = {result.id: result for result in results}
    for reason in DEADLY:
        assert by_id[reason].state == "failed"
        assert reason in by_id[reason].note
    assert by_id["stack"].state == "failed"
    assert by_id[ADD.id].cycles is not None


async def test_measuring_works_in_a_fork_of_a_large_process():
    ballast = bytearray(3 * MEMORY_BYTES // 2)  # never touched: it costs addresses, no memory
    processes = ForkServer(fork_server.start(choose_core()))
    process = await MeasuringProcess.start(processes, frame(), HASTY)
    assert [message async for message in process.time([ADD], 5.0)]
    await process.stop()
    processes.close()
    del ballast


async def test_a_process_that_has_to_wait_for_its_processor_is_waited_for(processes: ForkServer):
    process = await MeasuringProcess.start(processes, frame(), HASTY)
    os.kill(process.pid, signal.SIGSTOP)
    loop = asyncio.get_running_loop()
    loop.call_later(0.5, os.kill, process.pid, signal.SIGCONT)  # longer than an item may take
    assert [message async for message in process.time([ADD], 0.2) if "cycles" in message]
    await process.stop()


async def test_a_process_killed_from_outside_is_replaced_and_nobody_is_blamed(harness: LocalHarness):
    batch = Batch(frame(), HASTY, tuple(item(f"add {k}", b"\x48\x01\xd8", 100) for k in range(200)))
    measuring = asyncio.create_task(harness.measure(batch, lambda _done, _all: None))
    killed: set[int] = set()
    while len(killed) < 2 and not measuring.done():
        await asyncio.sleep(0.05)
        if harness._process is not None and harness._process.pid not in killed:
            os.kill(harness._process.pid, signal.SIGKILL)
            killed.add(harness._process.pid)
    results = await measuring
    assert killed
    assert [result.id for result in results] == [one.id for one in batch.items]
    assert not [result for result in results if result.state == "failed"]


async def test_measuring_can_be_cancelled_and_leaves_no_process_behind(harness: LocalHarness):
    forever = Batch(frame(), Settings(timeout=30.0), (item("loop", b"\xeb\xfe"),))
    measuring = asyncio.create_task(harness.measure(forever, lambda _done, _all: None))
    while harness._process is None:
        await asyncio.sleep(0.01)
    pid = harness._process.pid
    measuring.cancel()
    with pytest.raises(asyncio.CancelledError):
        await measuring
    await asyncio.to_thread(wait_until, lambda: not is_alive(pid), 10, "the end of the process")


async def test_the_fork_server_ends_all_its_processes_when_the_agent_is_gone(processes: ForkServer):
    process = await MeasuringProcess.start(processes, frame(), HASTY)
    assert is_alive(process.pid)
    processes.close()
    await asyncio.to_thread(wait_until, lambda: not is_alive(process.pid), 10, "the end of the process")
    with pytest.raises(UnfitError):
        await MeasuringProcess.start(processes, frame(), HASTY)


async def test_the_agent_hears_of_the_end_of_its_fork_server():
    lost = asyncio.Event()
    processes = ForkServer(fork_server.start(choose_core()), lost.set)
    process = await MeasuringProcess.start(processes, frame(), HASTY)
    os.kill(int(Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[1]), signal.SIGKILL)
    await asyncio.wait_for(lost.wait(), 60)
    wait_until(lambda: not is_alive(process.pid), 60, "the end of the measuring process")
    await process.stop()
    processes.close()


async def test_a_frame_of_another_instruction_set_makes_the_computer_unfit(harness: LocalHarness):
    with pytest.raises(UnfitError, match="armv8"):
        await harness.measure(Batch(Frame(isa="armv8"), HASTY, (ADD,)), lambda _done, _all: None)


async def test_progress_and_beats_tell_how_it_goes(harness: LocalHarness):
    seen: list[tuple[int, int]] = []
    batch = Batch(frame(), HASTY, tuple(item(f"add {k}", b"\x48\x01\xd8", 50) for k in range(5)))
    results = await harness.measure(batch, lambda done, total: seen.append((done, total)))
    beat = harness.beat()
    assert beat.state in {"idle", "contended"}
    assert beat.ghz is None or beat.ghz > 0
    if all(result.state == "settled" for result in results):
        assert seen[-1] == (5, 5)
        assert beat.rate is not None
        assert beat.rate > 0


@pytest.mark.parametrize(("every", "least", "most"), [(3600.0, 1, 1), (-1.0, 4, 1000)])
async def test_checks_are_asked_now_and_then_whatever_batch_comes(
    harness: LocalHarness, monkeypatch: pytest.MonkeyPatch, every: float, least: int, most: int
):
    looks = 0
    look = harness._run_checks

    async def counted(plain: Frame, settings: Settings) -> str:
        nonlocal looks
        looks += 1
        return await look(plain, settings)

    monkeypatch.setattr(passes, "_CHECK_INTERVAL", every)
    monkeypatch.setattr(harness, "_run_checks", counted)
    for _ in range(2):
        (result,) = await harness.measure(Batch(frame(), HASTY, (ADD,)), lambda _done, _all: None)
        assert result.state != "failed"
    assert least <= looks <= most

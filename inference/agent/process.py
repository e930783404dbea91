"""The agent's side of a measuring process: starts it, sends it items, and finds out how it ended."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

from inference.agent.child import ALTERED
from inference.agent.counter_report import CounterReport, CounterReportError
from inference.agent.fork_server import SPAWN
from inference.agent.protocol import BatchItem, Frame, Settings

_LINE_LIMIT = 1 << 20  # bytes of a message
_START_SECONDS = 20.0  # until a started process must answer
_DEATH_SECONDS = 5.0  # until a killed process must be gone
_STARVED = 6  # timeouts that a process may wait for a processor

_DEATHS = {
    signal.SIGILL: "illegal instruction",
    signal.SIGSEGV: "touches memory that is not its own, or does what is left to the kernel",
    signal.SIGBUS: "touches memory that does not exist, or is not aligned as it asked for",
    signal.SIGFPE: "arithmetic exception (division by zero, or its result does not fit)",
    signal.SIGTRAP: "runs into a trap",
    signal.SIGSYS: "makes a forbidden system call",
}
_OVERWRITTEN = "overwrites the process that measures it"


class UnfitError(Exception):
    """Nothing can be measured on this computer; the message has the reason."""


class FrameRefusedError(UnfitError):
    """The frame is for another kind of computer."""


class LostError(Exception):
    """The measuring process ended. `at_fault`: whether its own code must have caused it."""

    def __init__(self, reason: str, *, at_fault: bool) -> None:
        self.at_fault = at_fault
        super().__init__(reason)


class HungError(Exception):
    """The measuring process did not answer in time, which only its own code can cause."""

    at_fault = True


class ForkServer:
    """Requests processes from the fork server, and receives their exits.

    `on_loss` is called when the fork server has ended, unless by `close`. It cannot be restarted: it has to
    be forked before the agent has threads.
    """

    def __init__(self, connection: socket.socket, on_loss: Callable[[], object] = lambda: None) -> None:
        connection.setblocking(False)
        self._connection = connection
        self._on_loss = on_loss
        self._exits: dict[int, asyncio.Future[int]] = {}
        self._spawned: asyncio.Queue[int] = asyncio.Queue()
        self._receiving: asyncio.Task[None] | None = None

    async def spawn(self) -> tuple[int, socket.socket]:
        """Start a process: (pid, connection). Raises `UnfitError` where the fork server has ended."""
        if self._receiving is None:
            self._receiving = asyncio.create_task(self._receive())
        here, there = socket.socketpair()
        try:
            socket.send_fds(self._connection, [SPAWN], [there.fileno()])
            async with asyncio.timeout(_START_SECONDS):
                pid = await self._spawned.get()
        except (OSError, TimeoutError) as error:
            here.close()
            raise UnfitError("the process that starts measuring processes is gone") from error
        finally:
            there.close()
        return pid, here

    async def wait_status(self, pid: int) -> int | None:
        """The wait status of a process that has ended or ends soon; None if it does not."""
        future = self._exits.get(pid)
        if future is None:
            return None
        try:
            async with asyncio.timeout(_DEATH_SECONDS):
                return await asyncio.shield(future)
        except TimeoutError:
            return None

    def is_dead(self, pid: int) -> bool:
        """Whether a process has ended, so that its pid may be reused."""
        future = self._exits.get(pid)
        return future is None or future.done()

    def forget(self, pid: int) -> None:
        self._exits.pop(pid, None)

    def close(self) -> None:
        """Hang up: the fork server and all measuring processes end."""
        if self._receiving is not None:
            self._receiving.cancel()
        self._connection.close()

    async def _receive(self) -> None:
        with contextlib.suppress(ConnectionError):
            await self._receive_events()
        self._on_loss()

    async def _receive_events(self) -> None:
        loop = asyncio.get_running_loop()
        while message := await loop.sock_recv(self._connection, _LINE_LIMIT):
            facts = json.loads(message)
            if "born" in facts:
                self._exits[facts["born"]] = loop.create_future()
                self._spawned.put_nowait(facts["born"])
            else:
                future = self._exits.get(facts["gone"])
                if future is not None and not future.done():
                    future.set_result(facts["status"])


class MeasuringProcess:
    """A process that times items; it cannot be used after an error."""

    def __init__(self, fork_server: ForkServer, pid: int) -> None:
        self._fork_server = fork_server
        self.pid = pid
        self.confinement: dict[str, bool | str] = {}
        self.counters: Sequence[str] = ()
        self.counters_note = ""
        self._has_run = False
        self._reader: asyncio.StreamReader
        self._writer: asyncio.StreamWriter

    @classmethod
    async def start(cls, fork_server: ForkServer, frame: Frame, settings: Settings) -> MeasuringProcess:
        """Start a process and wait until it is ready for items. Raises `UnfitError`."""
        pid, connection = await fork_server.spawn()
        process = cls(fork_server, pid)
        streams = await asyncio.open_connection(sock=connection, limit=_LINE_LIMIT)
        process._reader, process._writer = streams
        try:
            hello = await process._receive(_START_SECONDS)
        except (LostError, HungError) as error:
            await process.stop()
            raise UnfitError(f"the measuring process does not start: {error}") from error
        if "unfit" in hello:
            await process.stop()
            raise UnfitError(hello["unfit"])
        process.confinement = hello["ready"]
        process.counters, process.counters_note = hello["counters"], hello["note"]
        process._send({"frame": frame.as_json(), "settings": settings.as_json()})
        return process

    async def time(
        self, items: Sequence[BatchItem], timeout: float, quiet: float | None = None
    ) -> AsyncIterator[dict[str, Any]]:
        """The process's messages about each item, in order. `quiet`: see `Timer.time`.

        Raises `FrameRefusedError` where the frame is not for this computer, `LostError` when the process dies
        or says what it cannot mean, and `HungError` when an item takes longer than `timeout` seconds: the
        last `start` tells which.
        """
        self._send({"items": [item.as_json() for item in items], "quiet": quiet})
        report = CounterReport([item.id for item in items])
        while True:
            message = await self._receive(timeout)
            if "unfit" in message and not self._has_run:  # foreign code would say it later
                raise FrameRefusedError(str(message["unfit"]))
            self._has_run = True
            try:
                report.check(message)
            except CounterReportError:
                raise LostError(_OVERWRITTEN, at_fault=True) from None
            if "done" in message:
                return
            yield message

    async def stop(self) -> None:
        """Kill the process and wait for its end."""
        if not self._fork_server.is_dead(self.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        self._writer.close()
        await self._fork_server.wait_status(self.pid)
        self._fork_server.forget(self.pid)

    def _send(self, message: dict[str, Any]) -> None:
        self._writer.write(json.dumps(message).encode() + b"\n")

    async def _receive(self, timeout: float) -> dict[str, Any]:
        try:
            message = json.loads(await self._line(timeout))
        except TimeoutError:
            raise HungError(f"does not end within {timeout:g} s") from None
        except (OSError, asyncio.IncompleteReadError):
            raise await self._end_reason() from None
        except (ValueError, RecursionError, asyncio.LimitOverrunError):
            raise LostError(_OVERWRITTEN, at_fault=True) from None
        if not isinstance(message, dict):
            raise LostError(_OVERWRITTEN, at_fault=True)
        return message

    async def _line(self, timeout: float) -> bytes:
        """The next line. Raises `TimeoutError` when it took its time, or far longer without getting any.

        On a busy computer a process may have to wait for its processor; that says nothing of its code.
        """
        before = _cpu_seconds(self.pid)
        for patience in reversed(range(_STARVED)):
            try:
                async with asyncio.timeout(timeout):  # `wait_for` may swallow a cancellation before 3.12
                    return await self._reader.readuntil(b"\n")
            except TimeoutError:
                now = _cpu_seconds(self.pid)
                if not patience or before is None or now is None or now - before >= timeout / 2:
                    raise
        raise AssertionError("the last attempt returns or raises")

    async def _end_reason(self) -> LostError:
        status = await self._fork_server.wait_status(self.pid)
        if status is None:
            return LostError("hung up without ending", at_fault=True)
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            if number in _DEATHS:
                return LostError(_DEATHS[signal.Signals(number)], at_fault=True)
            return LostError(
                f"ended by signal {number}", at_fault=number not in (signal.SIGKILL, signal.SIGTERM)
            )
        if os.WEXITSTATUS(status) == ALTERED:
            return LostError("changes its own code, or that which times it", at_fault=True)
        return LostError(f"ended with status {os.WEXITSTATUS(status)}", at_fault=True)


def _cpu_seconds(pid: int) -> float | None:
    """The time that a process has had on a processor; None where the system does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return None

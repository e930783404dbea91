"""A foreign program that is kept running and answers one line for each line that it is given."""

from __future__ import annotations

import contextlib
import os
import resource
import select
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from inference.containment import client
from inference.containment.access import FileAccess, access_of
from inference.containment.limits import Limits, WorkerError, WorkerSlowError
from inference.containment.running import make_scratch, remove_scratch, surroundings

_END_SECONDS = 10.0
_TICKS = os.sysconf("SC_CLK_TCK")
_USED = slice(11, 13)
"""Where /proc/PID/stat has the time spent in the program and for it, counted behind the program's name."""


class LineWorker:
    """Started at the first question; one thread at a time may ask.

    `limits.seconds` is the time for an answer, `first_seconds` that for the first, which comes when all is
    loaded. With a `greeting`, a line that it is given whenever it has started, the first answer is that to
    it, and no question has more than its time. After a `WorkerError` the next question starts it anew.
    """

    def __init__(
        self,
        command: Sequence[str],
        limits: Limits,
        *,
        first_seconds: float = 60.0,
        environment: Mapping[str, str] | None = None,
        access: FileAccess | None = None,
        greeting: bytes | None = None,
    ) -> None:
        self._command = command
        self._access = access or access_of(command)
        self._limits = limits
        self._first_seconds = first_seconds
        self._environment = environment
        self._greeting = greeting
        self._program: client.Started | None = None
        self._directory = ""
        self._to = self._from = self._complaints = -1
        self._warm = False

    def ask(self, line: bytes) -> bytes:
        """The line that it answers, without its end.

        Raises `CannotStartError`, `WorkerSlowError`, or `WorkerError` where it ended or printed too much.
        """
        if self._program is None:
            self._start()
            if self._greeting is not None:
                self._exchange(self._greeting)
        return self._exchange(line)

    def _exchange(self, line: bytes) -> bytes:
        seconds = self._limits.seconds if self._warm else max(self._first_seconds, self._limits.seconds)
        until = time.monotonic() + seconds
        self._allow(seconds)
        try:
            self._send(line + b"\n", until)
            answer = self._receive(until)
        except WorkerError:
            self.close()
            raise
        self._warm = True
        return answer

    def close(self) -> None:
        """End it; the next question would start it again."""
        if self._program is None:
            return
        client.end(self._program)
        self._program.over.wait(_END_SECONDS)
        for descriptor in (self._to, self._from, self._complaints):
            os.close(descriptor)
        remove_scratch(self._directory)
        self._program, self._warm = None, False

    def _start(self) -> None:
        self._directory = make_scratch()
        its_input, self._to = os.pipe2(os.O_CLOEXEC)
        self._from, its_output = os.pipe2(os.O_CLOEXEC)
        self._complaints = os.memfd_create("complaints")
        try:
            self._program = client.start(
                self._command,
                (its_input, its_output, self._complaints),
                self._directory,
                surroundings(self._directory, self._environment),
                self._limits,
                self._access,
                endless=True,
            )
        finally:
            os.close(its_input)
            os.close(its_output)
            if self._program is None:
                for descriptor in (self._to, self._from, self._complaints):
                    os.close(descriptor)
                remove_scratch(self._directory)
        os.set_blocking(self._to, False)

    def _allow(self, seconds: float) -> None:
        """Let it compute for the time of this answer, whatever it has used before."""
        assert self._program is not None
        pid = self._program.pid
        with contextlib.suppress(OSError, ValueError):  # it has ended: the question will find out
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            used = sum(map(int, fields[_USED])) / _TICKS
            _, most = resource.prlimit(pid, resource.RLIMIT_CPU)
            resource.prlimit(pid, resource.RLIMIT_CPU, (int(used + 2 * seconds) + 2, most))

    def _send(self, line: bytes, until: float) -> None:
        left = memoryview(line)
        while left:
            _, ready, _ = select.select([], [self._to], [], max(0.0, until - time.monotonic()))
            if not ready:
                raise WorkerSlowError("it does not take its input")
            try:
                left = left[os.write(self._to, left) :]
            except BrokenPipeError:
                raise self._ended() from None

    def _receive(self, until: float) -> bytes:
        parts: list[bytes] = []
        received = 0
        while True:
            ready, _, _ = select.select([self._from], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                raise WorkerSlowError("not done in its time")
            part = os.read(self._from, 1 << 16)
            if not part:
                raise self._ended()
            parts.append(part)
            received += len(part)
            if received > self._limits.output << 20:
                raise WorkerError("printed too much")
            if part.endswith(b"\n"):
                break
        whole = b"".join(parts)
        answer, _, rest = whole.partition(b"\n")
        if rest:
            raise WorkerError("answered with more than one line")
        return answer

    def _ended(self) -> WorkerError:
        assert self._program is not None
        said = os.pread(self._complaints, 1 << 16, max(0, os.fstat(self._complaints).st_size - (1 << 16)))
        lines = [line for line in said.decode(errors="replace").splitlines() if line.strip()]
        self._program.over.wait(1.0)
        return WorkerError(lines[-1].strip()[:300] if lines else f"ended with status {self._program.status}")

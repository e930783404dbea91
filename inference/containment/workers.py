"""A foreign program that stays loaded and answers each line with one line."""

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
from inference.containment.running import make_scratch, program_environment, remove_scratch

_END_SECONDS = 10.0
"""Seconds to wait until a killed worker is gone."""

_TICKS = os.sysconf("SC_CLK_TCK")
"""Clock ticks per second."""

_CPU_FIELDS = slice(11, 13)
"""User and system time in /proc/PID/stat, in clock ticks; counted behind the program's name."""


class LineWorker:
    """A contained process that answers lines, started when it is first asked; not thread-safe.

    After a `WorkerError` the process is gone, and the next `ask` starts another.

    Args:
        command: The program and its arguments.
        limits: Limits of the process; `limits.seconds` is the time for an answer, `limits.output` its size
            in MiB.
        first_seconds: Time for the first answer, which includes loading the program.
        environment: Variables of the program besides the usual ones.
        access: Files that it may use; by default those that `access_of` derives from the command.
        greeting: A line that is sent after each start. Its answer is dropped; it takes the `first_seconds`,
            so that the answer to a question never does.
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
        self._program: client.StartedProgram | None = None
        self._directory = ""
        self._input = self._output = self._stderr = -1
        self._is_warm = False

    def ask(self, line: bytes) -> bytes:
        """Its answer to a line, without the line break.

        Raises `CannotStartError`, `WorkerSlowError`, or `WorkerError` where it ended or printed too much.
        """
        if self._program is None:
            self._start()
            if self._greeting is not None:
                self._exchange(self._greeting)
        return self._exchange(line)

    def _exchange(self, line: bytes) -> bytes:
        """Send a line and receive its answer; after a `WorkerError` the process is ended."""
        seconds = self._limits.seconds if self._is_warm else max(self._first_seconds, self._limits.seconds)
        deadline = time.monotonic() + seconds
        self._extend_cpu_limit(seconds)
        try:
            self._send(line + b"\n", deadline)
            answer = self._receive(deadline)
        except WorkerError:
            self.close()
            raise
        self._is_warm = True
        return answer

    def close(self) -> None:
        """End it; the next question would start it again."""
        if self._program is None:
            return
        client.end(self._program)
        self._program.ended.wait(_END_SECONDS)
        for descriptor in (self._input, self._output, self._stderr):
            os.close(descriptor)
        remove_scratch(self._directory)
        self._program, self._is_warm = None, False

    def _start(self) -> None:
        """Start the process with pipes for its input and output, and a file in memory for its complaints.

        The ends of the pipes that the process has are closed here, or it would never see the end of its
        input. Writing does not block, so that a process that does not read cannot hold `_send` up.
        """
        self._directory = make_scratch()
        program_input, self._input = os.pipe2(os.O_CLOEXEC)
        self._output, program_output = os.pipe2(os.O_CLOEXEC)
        self._stderr = os.memfd_create("complaints")
        try:
            self._program = client.start(
                self._command,
                (program_input, program_output, self._stderr),
                self._directory,
                program_environment(self._directory, self._environment),
                self._limits,
                self._access,
                unbounded_cpu=True,
            )
        finally:
            os.close(program_input)
            os.close(program_output)
            if self._program is None:
                for descriptor in (self._input, self._output, self._stderr):
                    os.close(descriptor)
                remove_scratch(self._directory)
        os.set_blocking(self._input, False)

    def _extend_cpu_limit(self, seconds: float) -> None:
        """Raise its CPU time limit to the time used so far plus twice this answer's, in seconds."""
        assert self._program is not None
        pid = self._program.pid
        with contextlib.suppress(OSError, ValueError):  # it has ended: the question will find out
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            used = sum(map(int, fields[_CPU_FIELDS])) / _TICKS
            _, hard_limit = resource.prlimit(pid, resource.RLIMIT_CPU)
            resource.prlimit(pid, resource.RLIMIT_CPU, (int(used + 2 * seconds) + 2, hard_limit))

    def _send(self, line: bytes, deadline: float) -> None:
        """Write a line to its input, in pieces where the pipe is full; `deadline` in monotonic seconds."""
        unsent = memoryview(line)
        while unsent:
            _, ready, _ = select.select([], [self._input], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise WorkerSlowError("it does not read its input")
            try:
                unsent = unsent[os.write(self._input, unsent) :]
            except BrokenPipeError:
                raise self._error_of_ended() from None

    def _receive(self, deadline: float) -> bytes:
        """Read from its output up to a line break; `deadline` in monotonic seconds."""
        chunks: list[bytes] = []
        received = 0
        while True:
            ready, _, _ = select.select([self._output], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise WorkerSlowError("not done in its time")
            chunk = os.read(self._output, 1 << 16)
            if not chunk:
                raise self._error_of_ended()
            chunks.append(chunk)
            received += len(chunk)
            if received > self._limits.output << 20:
                raise WorkerError("printed too much")
            if chunk.endswith(b"\n"):
                break
        output = b"".join(chunks)
        answer, _, surplus = output.partition(b"\n")
        if surplus:
            raise WorkerError("answered with more than one line")
        return answer

    def _error_of_ended(self) -> WorkerError:
        assert self._program is not None
        stderr = os.pread(self._stderr, 1 << 16, max(0, os.fstat(self._stderr).st_size - (1 << 16)))
        lines = [line for line in stderr.decode(errors="replace").splitlines() if line.strip()]
        self._program.ended.wait(1.0)
        return WorkerError(lines[-1].strip()[:300] if lines else f"ended with status {self._program.status}")

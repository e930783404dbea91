"""One call of a foreign program in a scratch folder of its own, from its input to everything it printed."""

from __future__ import annotations

import logging
import os
import signal
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from inference.containment import client
from inference.containment.access import FileAccess, access_of
from inference.containment.limits import Limits

_END_SECONDS = 10.0
"""Time limit for the kernel to end a killed program."""


@dataclass(frozen=True)
class CallOutcome:
    """How a call ended.

    Attributes:
        status: Exit status, negative for a signal.
        stdout: At most `Limits.output` MiB of it.
        stderr: The same of standard error.
        timed_out: Whether it was killed because it exceeded its wall-clock or CPU time.
        output_exceeded: Whether it was killed because it printed too much.
        seconds: CPU time of it and its children.
    """

    status: int
    stdout: bytes
    stderr: bytes
    timed_out: bool
    output_exceeded: bool
    seconds: float

    @property
    def last_error_line(self) -> str:
        """The last line on its standard error, at most 300 characters; else how it ended."""
        lines = [line.strip() for line in self.stderr.decode(errors="replace").splitlines()]
        last_line = next((line for line in reversed(lines) if line), "")
        return last_line[:300] or self.ending

    @property
    def ending_with_error(self) -> str:
        """How it ended, and its last line on standard error where it has one."""
        last_line = self.last_error_line
        return self.ending if last_line == self.ending else f"{self.ending}: {last_line}"

    @property
    def ending(self) -> str:
        """How it ended, in words."""
        if self.timed_out:
            return "not done in its time"
        if self.output_exceeded:
            return "printed too much"
        if self.status < 0:
            return f"ended by {signal.Signals(-self.status).name}"
        return f"ended with status {self.status}"


def run(
    command: Sequence[str],
    stdin: bytes = b"",
    *,
    limits: Limits,
    files: Mapping[str, bytes] | None = None,
    environment: Mapping[str, str] | None = None,
    working_directory: str = "",
    access: FileAccess | None = None,
) -> CallOutcome:
    """Run a program in an empty directory of its own that contains `files`.

    Args:
        command: Its words; the first is an absolute path.
        stdin: Its standard input.
        limits: Its limits; at `limits.seconds` of wall-clock time it is killed.
        files: {name: content} of its directory.
        environment: Variables beside PATH, HOME, TMPDIR and LC_ALL.
        working_directory: Another directory to run it in, for programs that expect it; "" for its own.
        access: What it may open beside its directory; None: what `access_of` grants its command.

    Returns:
        How it ended, also where it was killed.

    Raises:
        CannotStartError: It is missing or not allowed.
    """
    with scratch_folder() as directory, _memory_files(stdin) as streams:
        for name, content in (files or {}).items():
            with open(os.path.join(directory, name), "xb") as file:  # noqa: PTH118, PTH123
                file.write(content)
        program = client.start(
            command,
            streams,
            directory,
            program_environment(directory, environment),
            limits,
            access or access_of(command),
            directory=working_directory,
        )
        timed_out = not program.ended.wait(limits.seconds)
        if timed_out:
            client.end(program)
            program.ended.wait(_END_SECONDS)
        cpu_limit_reached = program.status == -signal.SIGXCPU
        output_bytes = limits.output << 20
        sizes = [os.fstat(stream).st_size for stream in streams[1:]]
        return CallOutcome(
            status=program.status,
            stdout=os.pread(streams[1], output_bytes, 0),
            stderr=os.pread(streams[2], output_bytes, 0),
            timed_out=timed_out or cpu_limit_reached,
            output_exceeded=program.status == -signal.SIGXFSZ or max(sizes) >= output_bytes,
            seconds=program.cpu_seconds,
        )


def program_environment(directory: str, extra: Mapping[str, str] | None) -> dict[str, str]:
    """The environment of a program: nothing of this process but the path."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": directory,
        "TMPDIR": directory,
        "LC_ALL": "C.UTF-8",
        **(extra or {}),
    }


@contextmanager
def _memory_files(stdin: bytes) -> Iterator[tuple[int, int, int]]:
    """Standard streams in memory: writing never blocks, and the kernel limits the size."""
    streams: list[int] = []
    try:
        streams.extend(map(os.memfd_create, ("input", "output", "complaints")))
        position = 0
        while position < len(stdin):
            position += os.write(streams[0], memoryview(stdin)[position:])
        os.lseek(streams[0], 0, os.SEEK_SET)
        yield streams[0], streams[1], streams[2]
    finally:
        for stream in streams:
            os.close(stream)


logger = logging.getLogger(__name__)

_ONLY_OWNER = 0o700  # mode of a directory
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


def make_scratch() -> str:
    """A new, empty folder that only this user enters; its path."""
    return tempfile.mkdtemp(prefix="pmweb-tool-")


@contextmanager
def scratch_folder() -> Iterator[str]:
    folder = make_scratch()
    try:
        yield folder
    finally:
        remove_scratch(folder)


def remove_scratch(folder: str) -> None:
    """Remove a scratch folder after the end of its program; log what cannot be removed.

    Where the program had a copy of its own (`inference.sandbox.files`), the folder is empty. Otherwise it may
    contain directories without permissions, nested deeper than a recursion reaches.
    """
    try:
        _remove_contents(folder)
        Path(folder).rmdir()
    except OSError as error:
        logger.warning("%s is not removed: %s", folder, error)


def _remove_contents(folder: str) -> None:
    """Descend into each directory in turn, and remove it on the way up."""
    descriptor = os.open(folder, _DIRECTORY)
    names: list[str] = []  # of the directories from the folder to here
    try:
        while True:
            subdirectory = _remove_files_before_directory(descriptor)
            if subdirectory is not None:
                names.append(subdirectory)
                descriptor = _enter_closed(descriptor, subdirectory)
            elif names:
                descriptor = _reopen(descriptor, "..")
                os.rmdir(names.pop(), dir_fd=descriptor)
            else:
                return
    finally:
        os.close(descriptor)


def _remove_files_before_directory(directory: int) -> str | None:
    """Remove files up to the first directory; its name, None where there is none."""
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                return entry.name
            os.unlink(entry.name, dir_fd=directory)
    return None


def _enter_closed(directory: int, name: str) -> int:
    """`_reopen` a directory that may lack permissions; root enters it as it is."""
    try:
        return _reopen(directory, name)
    except PermissionError:
        os.chmod(name, _ONLY_OWNER, dir_fd=directory)
        return _reopen(directory, name)


def _reopen(directory: int, name: str) -> int:
    """Open the directory of this name inside another one, which is closed."""
    descriptor = os.open(name, _DIRECTORY, dir_fd=directory)
    os.close(directory)
    return descriptor

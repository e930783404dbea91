"""One call of a foreign program, from its input to all that it printed, in a scratch folder of its own."""

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
"""How long the kernel may take to end what was killed."""


@dataclass(frozen=True)
class CallOutcome:
    """How a call ended.

    `status`: exit status, negative for a signal. `late`: it was ended because its time was over. `flooded`:
    because it printed too much. `seconds`: CPU time of it and its children.
    """

    status: int
    output: bytes
    complaints: bytes
    late: bool
    flooded: bool
    seconds: float

    @property
    def last_complaint(self) -> str:
        """The last line on its standard error, else how it ended: a few words for a reader."""
        lines = [line.strip() for line in self.complaints.decode(errors="replace").splitlines()]
        said = next((line for line in reversed(lines) if line), "")
        return said[:300] or self.ending

    @property
    def ending_with_complaint(self) -> str:
        """How it ended, and its last words where it had any."""
        said = self.last_complaint
        return self.ending if said == self.ending else f"{self.ending}: {said}"

    @property
    def ending(self) -> str:
        """How it ended, in words."""
        if self.late:
            return "not done in its time"
        if self.flooded:
            return "printed too much"
        if self.status < 0:
            return f"ended by {signal.Signals(-self.status).name}"
        return f"ended with status {self.status}"


def run(
    command: Sequence[str],
    given: bytes = b"",
    *,
    limits: Limits,
    files: Mapping[str, bytes] | None = None,
    environment: Mapping[str, str] | None = None,
    elsewhere: str = "",
    access: FileAccess | None = None,
) -> CallOutcome:
    """Run a program in an empty directory of its own that has `files`; `given` is its standard input.

    The program's path is absolute. `elsewhere`: another directory to run it in, for programs that want to be
    in theirs. `access`: what it may open beside that directory of its own, which it may change; None: what
    `access_of` finds for its command. Raises `CannotStartError`.
    """
    with scratch_folder() as directory, _memory_files(given) as streams:
        for name, content in (files or {}).items():
            with open(os.path.join(directory, name), "xb") as file:  # noqa: PTH118, PTH123
                file.write(content)
        program = client.start(
            command,
            streams,
            directory,
            surroundings(directory, environment),
            limits,
            access or access_of(command),
            directory=elsewhere,
        )
        late = not program.over.wait(limits.seconds)
        if late:
            client.end(program)
            program.over.wait(_END_SECONDS)
        cpu_was_over = program.status == -signal.SIGXCPU
        most = limits.output << 20
        written = [os.fstat(stream).st_size for stream in streams[1:]]
        return CallOutcome(
            status=program.status,
            output=os.pread(streams[1], most, 0),
            complaints=os.pread(streams[2], most, 0),
            late=late or cpu_was_over,
            flooded=program.status == -signal.SIGXFSZ or max(written) >= most,
            seconds=program.seconds,
        )


def surroundings(directory: str, more: Mapping[str, str] | None) -> dict[str, str]:
    """The environment of a program: nothing of ours but the path."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": directory,
        "TMPDIR": directory,
        "LC_ALL": "C.UTF-8",
        **(more or {}),
    }


@contextmanager
def _memory_files(given: bytes) -> Iterator[tuple[int, int, int]]:
    """Standard streams in memory: nobody waits for a reader, and the kernel limits what is written."""
    streams: list[int] = []
    try:
        streams.extend(map(os.memfd_create, ("input", "output", "complaints")))
        begin = 0
        while begin < len(given):
            begin += os.write(streams[0], memoryview(given)[begin:])
        os.lseek(streams[0], 0, os.SEEK_SET)
        yield streams[0], streams[1], streams[2]
    finally:
        for stream in streams:
            os.close(stream)


logger = logging.getLogger(__name__)

_ONLY_OWNER = 0o700
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


def make_scratch() -> str:
    """A new, empty folder that only this user enters; its path."""
    return tempfile.mkdtemp(prefix="pmweb-tool-")


@contextmanager
def scratch_folder() -> Iterator[str]:
    """A scratch folder that ends with the block."""
    folder = make_scratch()
    try:
        yield folder
    finally:
        remove_scratch(folder)


def remove_scratch(folder: str) -> None:
    """Remove a scratch folder after the end of its program; what cannot be removed is in the log.

    Where the program had a copy of its own (`inference.sandbox.files`), nothing of it is here. Otherwise
    there may be directories that may not be entered, and more in each other than a recursion goes down.
    """
    try:
        _empty(folder)
        Path(folder).rmdir()
    except OSError as error:
        logger.warning("%s is not removed: %s", folder, error)


def _empty(folder: str) -> None:
    """Go down into one directory after the other, and remove each on the way up."""
    here = os.open(folder, _DIRECTORY)
    names: list[str] = []  # of the directories from the folder to here
    try:
        while True:
            below = _first_directory(here)
            if below is not None:
                names.append(below)
                here = _opened(here, below)
            elif names:
                here = _moved(here, "..")
                os.rmdir(names.pop(), dir_fd=here)
            else:
                return
    finally:
        os.close(here)


def _first_directory(directory: int) -> str | None:
    """Remove files up to a directory in this one; its name, None where there is none."""
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                return entry.name
            os.unlink(entry.name, dir_fd=directory)
    return None


def _opened(directory: int, name: str) -> int:
    """`_moved` into a directory that may be closed: root enters those as they are."""
    try:
        return _moved(directory, name)
    except PermissionError:
        os.chmod(name, _ONLY_OWNER, dir_fd=directory)
        return _moved(directory, name)


def _moved(directory: int, name: str) -> int:
    """The directory that has this name in another one, which is closed."""
    there = os.open(name, _DIRECTORY, dir_fd=directory)
    os.close(directory)
    return there

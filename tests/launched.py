"""A real site in processes of its own: `manage.py up` on a temporary data directory and any free port."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

from django.conf import settings

from pmweb.launcher.supervisor import tie_to_parent

START_SECONDS = 120.0
STOP_SECONDS = 30.0
_LINK = re.compile(r"(http://\S+?)(/login/\S+/)")


def wait_until(condition: Callable[[], bool], seconds: float, what: str) -> None:
    """Wait for something that happens in another process."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds:g} s in vain for: {what}"
        time.sleep(0.05)


def is_alive(pid: int) -> bool:
    """Whether the process exists and is no zombie."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def wait_for_death(pids: Iterable[int], seconds: float = STOP_SECONDS) -> None:
    """Wait until none of them lives: a signal that was sent is not yet a process that is gone."""
    wait_until(lambda: not any(map(is_alive, pids)), seconds, f"the end of {list(pids)}")


def descendants(pid: int) -> dict[int, str]:
    """Process id and command line of everything that `pid` has started, however far down.

    In place of a command line the processes of runs have their name, which is "run" with the id.
    """
    found: dict[int, str] = {}
    for thread in _threads(pid):
        for child in map(int, _read_if_there(thread / "children").split()):
            command = _read_if_there(Path(f"/proc/{child}/cmdline")).replace("\0", " ")
            if command:
                name = _read_if_there(Path(f"/proc/{child}/comm")).strip()
                found[child] = name if is_run(name) else command
                found |= descendants(child)
    return found


def is_run(name: str) -> bool:
    """Whether a process with this name does a run: a fork server, whose command line it has, calls it so."""
    return name.startswith("run ")


def _threads(pid: int) -> list[Path]:
    try:
        return list(Path(f"/proc/{pid}/task").iterdir())
    except (FileNotFoundError, ProcessLookupError):
        return []


def _read_if_there(file: Path) -> str:
    """What a file below /proc says; nothing if its thread or process has ended meanwhile."""
    try:
        return file.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


class LaunchedSite:
    """`manage.py up` with everything that it prints."""

    program: tuple[str, ...] = (str(Path(__file__).resolve().parents[1] / "manage.py"),)
    command = "up"

    def __init__(self, home: Path, *options: str, environment: Mapping[str, str] | None = None) -> None:
        self.home = home
        self._environment = {**os.environ, "PMWEB_HOME": str(home), **(environment or {})}
        self.lines: list[str] = []
        self._process = subprocess.Popen(
            [sys.executable, *self.program, self.command, *options],
            env={"PYTHONUNBUFFERED": "1", **self._environment},
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=partial(tie_to_parent, os.getpid()),  # noqa: PLW1509  nothing stays when tests are killed
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        self.lines.extend(iter(self._process.stdout.readline, ""))

    def told_by(self, program: str) -> str:
        """What a Python program prints that is run where the site's data is."""
        return subprocess.run(
            [sys.executable, str(settings.BASE_DIR / "manage.py"), "shell", "-c", program],
            env=self._environment,
            stdout=subprocess.PIPE,
            text=True,
            timeout=START_SECONDS,
            check=True,
        ).stdout

    @property
    def pid(self) -> int:
        """The supervisor."""
        return self._process.pid

    @property
    def output(self) -> str:
        """All that has been printed so far."""
        return "".join(self.lines)

    def wait_for(self, text: str, seconds: float = START_SECONDS) -> None:
        """Wait until `text` has been printed."""
        wait_until(lambda: text in self.output or not is_alive(self.pid), seconds, f"{text!r}\n{self.output}")
        assert text in self.output, f"the site ended without saying {text!r}:\n{self.output}"

    def login_link(self) -> tuple[str, str]:
        """Address of the site, and path of the log-in link, once they are printed."""
        self.wait_for("Ctrl-C stops everything")
        match = _LINK.search(self.output)
        assert match is not None, self.output
        return match.group(1), match.group(2)

    @property
    def port(self) -> int:
        """The port at which it answers, once it is printed."""
        return int(self.login_link()[0].rpartition(":")[2])

    def child(self, part: str) -> int:
        """Process id of the supervised process whose command line contains `part`."""
        wait_until(lambda: bool(self._children(part)), START_SECONDS, f"a process with {part!r}")
        return self._children(part)[0]

    def _children(self, part: str) -> list[int]:
        return [pid for pid, command in descendants(self.pid).items() if part in command]

    def kill_child(self, part: str) -> int:
        """`kill -9` for one process; returns the id of the process that takes its place."""
        victim = self.child(part)
        os.kill(victim, signal.SIGKILL)
        wait_until(lambda: victim not in self._children(part), STOP_SECONDS, f"the death of {part!r}")
        return self.child(part)

    def send(self, number: signal.Signals) -> None:
        """Signal the supervisor alone."""
        os.kill(self.pid, number)

    def wait(self, seconds: float = STOP_SECONDS) -> int:
        """Wait for its end; the exit status."""
        status = self._process.wait(seconds)
        self._reader.join(seconds)
        return status

    def stop(self) -> int:
        """Stop it as Ctrl-C does, if it runs; the exit status."""
        if self._process.poll() is None:
            self.send(signal.SIGINT)
        return self.wait()

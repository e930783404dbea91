"""Reads texts of assembly and watches what Python is asked for meanwhile; also as a process of its own."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks._measured import peak_mebibytes
from benchmarks._reader_texts import text_of
from benchmarks._survey import FAILED, Survey

_WATCHED = (
    "open",
    "os.",
    "subprocess.",
    "shutil.",
    "socket.",
    "ctypes.dlopen",
    "glob.",
    "tempfile.",
    "import",
    "exec",
)
_current: list[str] | None = None
_hooked = False


@contextmanager
def traced() -> Iterator[list[str]]:
    """A list that grows by each event, "open ('/etc/passwd', 'r', 524288)", for as long as this lasts."""
    global _current, _hooked  # noqa: PLW0603  a hook stays for as long as the process
    if not _hooked:
        sys.addaudithook(_hear)
        _hooked = True
    events: list[str] = []
    before = _current
    _current = events
    try:
        yield events
    finally:
        _current = before


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if _current is not None and event.startswith(_WATCHED):
        _current.append(f"{event} {arguments!r:.200}")


MAX_SECONDS = 1.0
"""Seconds of computing for one text."""

SECRET = bytes.fromhex("4d0faffe") * 8
"""What the file has that the texts name: instructions (imul r15, r14) that none of them writes."""

MAX_PIECES = 1000  # pieces of code that a text may have
BEGIN, END = "/the-reading-begins", "/the-reading-ends"
_GROWTH = 512  # MiB
_WARM = 300  # texts read before anything is watched, so that imports and caches are over


def fuzzed(seed: int, many: int, file: str) -> Survey:
    """Read so many texts in this process, traced after a warm-up."""
    _warm_up(seed, file)
    survey = Survey("in-process", seed, MAX_SECONDS)
    before = peak_mebibytes()
    with traced() as events:
        for number in range(many):
            text = text_of(seed, number, file)
            survey.count(survey.attempt(lambda text=text: _outcome(text)), text)  # type: ignore[misc]
            if events:
                survey.expect(False, f"it opens or starts: {events[0]}", text)
                events.clear()
    growth = round(peak_mebibytes() - before)
    survey.expect(growth <= _GROWTH, f"memory grows by {growth} MiB")
    return survey


def _warm_up(seed: int, file: str) -> None:
    for number in range(_WARM):
        Survey(longest=MAX_SECONDS).attempt(lambda number=number: _outcome(text_of(seed + 1, number, file)))  # type: ignore[misc]


def _outcome(text: str) -> str:
    """Read a text, and what is printed of each of its pieces again: "read", "refused", or what failed."""
    from inference.isa.blocks import BlockError, read

    try:
        reading = read(text, MAX_PIECES)
    except BlockError:
        return "refused"
    for piece in reading.pieces:
        if SECRET[:8] in piece.block.code:
            return f"{FAILED}the file's content is in a block"
        again = [other.block.code for other in read(piece.block.text, MAX_PIECES).pieces]
        if again != [piece.block.code]:
            return f"{FAILED}what is printed of it is read as other code"
    return "read"


def main() -> None:
    """Read texts for somebody who watches this process: by a seed, how many, and the file that they name.

    Files that do not exist are asked for when it begins and when it ends, so that the watcher knows.
    """
    seed, many, file = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    _warm_up(seed, file)
    survey = Survey(longest=MAX_SECONDS)
    os.access(BEGIN, os.R_OK)
    for number in range(many):
        survey.attempt(lambda number=number: _outcome(text_of(seed, number, file)))  # type: ignore[misc]
    os.access(END, os.R_OK)


if __name__ == "__main__":
    main()

"""Files and pasted texts are read in a process of their own, which ends at its limits; the site goes on."""

from __future__ import annotations

import ast
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.test import Client

from inference.containment import metered
from inference.formats.problems import ExchangeError
from inference.web.reading_process import (
    MAX_CONCURRENT,
    MEMORY_BYTES,
    SlowFileError,
    _server,
    read_isolated,
)
from tests.launched import wait_until

ROOT = Path(__file__).resolve().parents[2]
READERS = {
    *("read_source", "format_of", "importer_of_file", "reads", "read_upload", "look"),
    *("is_archive", "glimpse_of", "read_archive", "sort_of_content", "sort_of_file", "read_core_model"),
    *("block_file_of"),
    *("find_listed_loops", "read_samples", "is_listing", "is_block_csv", "read_part", "read_all"),
}
"""Functions that read what users send, however long it is."""
APART = {("inference/features/library/uploads/api.py", "read_upload")}
"""Calls in pages and operations that hand on what reads the file apart."""
BYTES_ONCE = r"(?:0x|\\x)?(?:[0-9a-f]{2})+(?:[\s_]*(?:0x|\\x)?(?:[0-9a-f]{2})+)*"


def echoed(content: bytes, repeat: int) -> bytes:
    return content * repeat


def frozen(content: bytes) -> bytes:
    import re

    return str(re.fullmatch(BYTES_ONCE, content.decode())).encode()


def counted(_content: bytes, folder: str, name: str) -> bytes:
    """How many of these run beside each other."""
    mark = Path(folder, name)
    mark.touch()
    time.sleep(0.3)  # long enough for others to begin, if they may
    most = len(list(Path(folder).iterdir()))
    mark.unlink()
    return str(most).encode()


def busy(_content: bytes, cpu: float) -> bytes:
    while time.process_time() < cpu:
        pass
    return b"done"


def refused(_content: bytes) -> bytes:
    raise ExchangeError("line 3 has no number: «½»")


def greedy(_content: bytes) -> bytes:
    return bytes(2 * MEMORY_BYTES)


def crashing(_content: bytes) -> bytes:
    os.kill(os.getpid(), signal.SIGSEGV)
    return b""


def test_a_reader_answers_from_a_process_of_its_own() -> None:
    assert read_isolated(echoed, b"ab\0", repeat=2) == b"ab\0ab\0"
    large = os.urandom(1 << 20) * 64
    assert read_isolated(echoed, large, repeat=1) == large


def test_no_more_files_are_read_at_a_time_than_there_is_memory_for(tmp_path: Path) -> None:
    def read(number: int) -> bytes:
        return read_isolated(counted, b"", folder=str(tmp_path), name=str(number))

    with ThreadPoolExecutor(6) as pool:
        most = max(int(answer) for answer in pool.map(read, range(6)))
    assert 1 <= most <= MAX_CONCURRENT


def test_whoever_sent_a_file_pays_for_its_reading() -> None:
    with metered() as read:
        read_isolated(busy, b"a", cpu=0.2)
    with metered() as given_up, pytest.raises(SlowFileError):
        read_isolated(busy, b"a", cpu=60.0, seconds=1.0)
    assert 0.2 <= read.seconds < given_up.seconds


def test_a_pattern_that_holds_the_interpreter_ends_with_its_process() -> None:
    read_isolated(echoed, b"a", repeat=1)
    with pytest.raises(SlowFileError, match=r"longer than 0\.5 s"):
        read_isolated(frozen, b"aa" * 2000 + b"zz", seconds=0.5)  # left alone, it never ends
    assert read_isolated(echoed, b"a", repeat=1) == b"a"


def test_what_a_reader_complains_about_is_told() -> None:
    with pytest.raises(ExchangeError, match="line 3 has no number: «½»"):
        read_isolated(refused, b"")


def test_memory_is_limited() -> None:
    with pytest.raises(ExchangeError, match="more than 1024 MiB of memory"):
        read_isolated(greedy, b"")


def test_a_crash_is_no_answer() -> None:
    with pytest.raises(RuntimeError, match="crashing"):
        read_isolated(crashing, b"a" * (1 << 22))
    assert read_isolated(echoed, b"a", repeat=1) == b"a"


def test_a_server_that_has_died_is_replaced() -> None:
    read_isolated(echoed, b"a", repeat=1)
    assert _server._process is not None
    _server._process.kill()
    _server._process.wait()
    assert read_isolated(echoed, b"a", repeat=1) == b"a"


def test_nothing_stays_behind() -> None:
    read_isolated(echoed, b"a", repeat=1)
    assert _server._process is not None
    children = Path(f"/proc/{_server._process.pid}/task/{_server._process.pid}/children")
    wait_until(lambda: not children.read_text().strip(), 60, "the processes of readers to end")


@pytest.mark.parametrize("pairs", [28, 2000, 400_000])
def test_a_text_that_once_froze_the_site_is_refused_at_once(pairs: int, visitor: Client) -> None:
    text = "aa" * pairs + "zz"
    response = visitor.post("/block-sets/paste/", {"text": text})
    assert response.status_code == 400
    assert "or a table of blocks" in response.content.decode(), "a slow one would be refused for its time"


def test_no_page_and_no_operation_reads_a_file_itself() -> None:
    doors = [
        file
        for package in ("inference", "anica_app", "pmweb")
        for file in (ROOT / package).rglob("*.py")
        if file.stem.endswith(("pages", "api")) and "features" in file.parts
    ]
    assert len(doors) > 60
    calls = {
        (str(file.relative_to(ROOT)), ast.unparse(node.func))
        for file in doors
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in READERS
    }
    assert calls == APART

"""Pasted text is read in warm processes: one that hangs, dies or grows fails; the next works."""

from __future__ import annotations

import ast
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.test import Client

from inference.containment import metered
from inference.isa import blocks
from inference.isa.blocks import BlockError
from inference.sandbox import files
from inference.web import code_reading, reading_process
from inference.web.code_reading import MAX_CONCURRENT, MEMORY_BYTES, UnreadTextError, read, read_blocks
from tests.launched import wait_until
from tests.syntax import trees_with

ROOT = Path(__file__).resolve().parents[2]
LISTINGS = ROOT / "tests" / "isa" / "golden_listings"
LOOP = ".L3:\nmov rax, [rax] # LATENCY 40\nadd rbx, rax ; of the sum\nfrob: jne .L3"
WARM = {"reader", "read", "read_blocks", "block_of_text"}
"""Names of `inference.isa.blocks` that read text in the process itself."""


def workers() -> set[int]:
    """The processes that the fork server has made and that live."""
    server = reading_process._server._process
    if server is None or server.poll() is not None:
        return set()
    children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
    return {int(child) for child in children if _is_alive(int(child))}


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def worker() -> int:
    """The process that reads the next text."""
    read("nop", 1)
    (pid,) = workers()
    return pid


@pytest.fixture(autouse=True)
def alone() -> Iterator[None]:
    """No process from other tests, and none for other tests that has learned from these."""
    close_all()
    yield
    close_all()


def close_all() -> None:
    while code_reading._processes._idle:
        code_reading._processes._idle.pop().close()
    wait_until(lambda: not workers(), 30, "the processes to end with their connections")


def replaced(monkeypatch: pytest.MonkeyPatch, function: object) -> None:
    """Let processes that start now run another function in place of the reader's."""
    monkeypatch.setattr(code_reading, "answer_texts", function)


def answer_with(reader: object, connection: socket.socket, seconds: float) -> None:
    """In the other process, which ends afterwards."""
    pytest.MonkeyPatch().setattr(blocks, "read", reader)
    code_reading.answer_texts(connection, seconds)


def hanging(connection: socket.socket, seconds: float) -> None:
    answer_with(_never_ends, connection, 0.5)


def greedy(connection: socket.socket, seconds: float) -> None:
    answer_with(_takes_memory, connection, seconds)


def crashing(connection: socket.socket, seconds: float) -> None:
    answer_with(_crashes, connection, seconds)


def spying(connection: socket.socket, seconds: float) -> None:
    answer_with(_spies, connection, seconds)


def _never_ends(text: str, most: int, isa: str, usual: str) -> blocks.BlocksOfText:
    while True:
        time.sleep(1)


def _takes_memory(text: str, most: int, isa: str, usual: str) -> blocks.BlocksOfText:
    raise BlockError(str(len(bytes(2 * MEMORY_BYTES))))


def _crashes(text: str, most: int, isa: str, usual: str) -> blocks.BlocksOfText:
    os.kill(os.getpid(), signal.SIGSEGV)
    raise AssertionError


def _spies(text: str, most: int, isa: str, usual: str) -> blocks.BlocksOfText:
    """What it can do with the machine, as the message of an error."""
    attempts = []
    for name, attempt in (
        ("read", lambda: Path(text).read_bytes()),
        ("write", lambda: Path(text).write_bytes(b"")),
        ("start", lambda: subprocess.run(["/bin/true"], check=True)),
    ):
        try:
            attempt()
        except OSError:
            continue
        attempts.append(name)
    raise BlockError(f"it could {attempts}")


@pytest.mark.parametrize(
    "text",
    [
        LOOP,
        "4801d8\n\n90",
        "hex,cycles\n4801d8,1\n",
        "add rax, rbx # ünïcödé – “¼”",
        "\ud800",
        "",
        "mov eax, [",
        "# LATENCY x\nnop",
        *sorted(LISTINGS.glob("*.txt")),
    ],
    ids=lambda text: text.name if isinstance(text, Path) else None,
)
def test_the_answer_is_that_of_the_reader(text: str | Path) -> None:
    content = text.read_text() if isinstance(text, Path) else text
    assert outcome(read, content) == outcome(blocks.read, content)


def outcome(reader: Callable[[str, int], object], text: str) -> object:
    """What it returns, or the parts of its error."""
    try:
        return reader(text, 100)
    except BlockError as error:
        return error.message, error.line, error.column


def test_a_dropped_line_is_refused_where_only_blocks_are_wanted() -> None:
    listing = "  401120: 90   nop\nfrobnicate %rax, %rbx\n  401121: 90   nop\n"
    assert read(listing, 9).dropped
    with pytest.raises(BlockError, match="is in no block"):
        read_blocks(listing, 9)
    assert [block.hex for block in read_blocks("nop", 1)] == ["90"]


def test_one_process_reads_one_text_after_the_other() -> None:
    first = worker()
    assert {worker() for _ in range(5)} == {first}


def test_texts_at_the_same_time_have_a_process_each_up_to_a_limit() -> None:
    with ThreadPoolExecutor(3 * MAX_CONCURRENT) as pool:
        readings = list(pool.map(lambda number: read(f"add rax, {number % 9}", 1), range(60)))
    assert [reading.pieces[0].block.text for reading in readings] == [f"add rax, {n % 9}" for n in range(60)]
    assert 1 <= len(workers()) <= MAX_CONCURRENT


def test_a_process_that_was_killed_is_replaced() -> None:
    dead = worker()
    os.kill(dead, signal.SIGKILL)
    wait_until(lambda: not workers(), 30, "the process to end")
    assert worker() != dead


def test_a_process_that_is_killed_at_work_gives_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    replaced(monkeypatch, crashing)
    with pytest.raises(UnreadTextError, match="ended without an answer: try again"):
        read("nop", 1)
    monkeypatch.undo()
    assert read("nop", 1).pieces


def test_a_text_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    replaced(monkeypatch, hanging)
    monkeypatch.setattr(code_reading, "TEXT_SECONDS", 0.4)
    with metered() as meter, pytest.raises(UnreadTextError, match=r"took longer than 0\.4 s"):
        read("nop", 1)
    assert meter.seconds >= 0.4, "whoever sent it pays for it"
    monkeypatch.undo()
    assert read("nop", 1).pieces


def test_a_process_that_was_stopped_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = worker()
    os.kill(stopped, signal.SIGSTOP)
    monkeypatch.setattr(code_reading, "TEXT_SECONDS", 0.4)
    try:
        with pytest.raises(UnreadTextError, match=r"took longer than 0\.4 s"):
            read("nop", 1)
        monkeypatch.undo()
        assert read("nop", 1).pieces
    finally:
        os.kill(stopped, signal.SIGCONT)


def test_a_text_that_takes_too_much_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    replaced(monkeypatch, greedy)
    with pytest.raises(UnreadTextError, match="more than 512 MiB of memory"):
        read("nop", 1)
    monkeypatch.undo()
    wait_until(lambda: not workers(), 30, "the process to end")
    assert read("nop", 1).pieces


def test_it_says_so_where_all_are_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_reading, "_WAIT_SECONDS", 0.0)
    slots = code_reading._processes._slots
    for _ in range(MAX_CONCURRENT):
        slots.acquire()
    try:
        with pytest.raises(UnreadTextError, match="busy: try again"):
            read("nop", 1)
    finally:
        for _ in range(MAX_CONCURRENT):
            slots.release()
    assert read("nop", 1).pieces


def test_the_process_opens_no_files_and_starts_no_programs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if not files.landlock_version():
        pytest.skip("this kernel has no Landlock")
    file = tmp_path / "secret"
    file.write_text("secret")
    replaced(monkeypatch, spying)
    with pytest.raises(BlockError, match=r"it could \[\]"):
        read(str(file), 1)
    assert file.read_text() == "secret"


def test_a_fork_server_that_has_died_is_replaced() -> None:
    worker()
    server = reading_process._server._process
    assert server is not None
    server.kill()
    server.wait()
    assert read("nop", 1).pieces, "the process goes on without it"
    while code_reading._processes._idle:
        code_reading._processes._idle.pop().close()
    assert read("nop", 1).pieces


def test_no_process_outlives_its_owner() -> None:
    script = (
        "import os; os.environ['DJANGO_SETTINGS_MODULE'] = 'pmweb.settings'\n"
        "import django; django.setup()\n"
        "from inference.web import code_reading, reading_process\n"
        "code_reading.start(); code_reading.read('nop', 1)\n"
        "server = reading_process._server._process.pid\n"
        "print(server, open(f'/proc/{server}/task/{server}/children').read(), flush=True)\n"
        "os._exit(0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True, timeout=120
    )
    pids = [int(word) for word in done.stdout.split()]
    assert len(pids) >= 2, done.stderr
    wait_until(lambda: not any(map(_is_alive, pids)), 30, "server and processes to end")


@pytest.mark.django_db
def test_pages_and_operations_say_what_happened(monkeypatch: pytest.MonkeyPatch, visitor: Client) -> None:
    replaced(monkeypatch, crashing)
    page = visitor.get("/blocks/", {"isa": "x86-64", "code": "nop"})
    assert "ended without an answer" in page.content.decode()
    answer = visitor.post("/api/v1/decode", {"code": "nop"}, content_type="application/json")
    assert answer.status_code == 422
    assert "ended without an answer" in answer.content.decode()
    monkeypatch.undo()
    answer = visitor.post("/api/v1/decode", {"code": "nop"}, content_type="application/json")
    assert answer.status_code == 200


def test_no_feature_reads_text_in_the_web_process() -> None:
    """Commands do, which start no server for a single text, and runs, which have processes of their own."""
    readers = {
        str(file.relative_to(ROOT))
        for file, tree in trees_with(
            ["inference.isa.blocks"], "inference/features", "anica_app/features", "inference/web", "pmweb"
        )
        if file.name != "code_reading.py"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        and node.module == "inference.isa.blocks"
        and WARM & {name.name for name in node.names}
    }
    allowed = {"inference/web/data_command.py", "inference/features/asking/blocks/decode_command.py"}
    assert readers <= allowed

"""The agent's token: no process that runs foreign code ever has it, however it is given."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from inference.agent import fork_server, token
from inference.agent.facts import choose_core
from inference.agent.passes import LocalHarness
from inference.agent.process import ForkServer, UnfitError
from inference.agent.protocol import Settings
from inference.sandbox import call_filter
from tests.agent.conftest import frame, needs_x86
from tests.launched import descendants, wait_until

SECRET = "pmweb_the-token-that-nobody-may-see"
ROOT = Path(__file__).parents[2]
MEMORY = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) (r\S+)")


@contextmanager
def agent(*options: str, given: str = "", **environment: str) -> Iterator[subprocess.Popen[str]]:
    """An agent whose site does not answer."""
    command = [sys.executable, "-m", "inference.agent", "--server", "http://127.0.0.1:9", *options]
    command += ["--allow-root"] if os.geteuid() == 0 else []
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], **environment},
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        process.stdin.write(given)
        process.stdin.close()
        try:
            yield process
        finally:
            process.kill()


def knows(pid: int) -> bool:
    """Whether a process has the token in its environment, command line or memory."""
    where = Path(f"/proc/{pid}")
    with (where / "mem").open("rb", buffering=0) as memory:
        for line in (where / "maps").read_text().splitlines():
            found = MEMORY.match(line)
            if found is None or "[vv" in line or "[vsyscall]" in line:
                continue
            begin, end = int(found[1], 16), int(found[2], 16)
            memory.seek(begin)
            try:
                content = memory.read(end - begin)
            except OSError:  # a guard page
                continue
            if SECRET.encode() in content:
                return True
    return SECRET.encode() in (where / "environ").read_bytes() + (where / "cmdline").read_bytes()


@needs_x86
@pytest.mark.skipif(os.geteuid() != 0, reason="only root looks into these processes")
@pytest.mark.parametrize("way", ["environment", "option", "option=", "file", "standard input"])
def test_no_measuring_process_has_the_token_in_its_memory(tmp_path, way):
    (tmp_path / "token").write_text(f"{SECRET}\n")
    options = {
        "option": ("--token", SECRET),
        "option=": (f"--token={SECRET}",),
        "file": ("--token-file", str(tmp_path / "token")),
        "standard input": ("--token-file", "-"),
    }.get(way, ())
    environment = {"PMWEB_AGENT_TOKEN": SECRET} if way == "environment" else {}
    given = f"{SECRET}\n" if way == "standard input" else ""
    with agent(*options, given=given, **environment) as process:
        said = ""
        while "does not answer" not in said:  # by then it measures its known blocks
            assert process.stderr is not None
            said += process.stderr.readline()
        wait_until(lambda: len(descendants(process.pid)) >= 2, 60, "the process that measures")
        assert knows(process.pid)  # or this test sees nothing
        family = descendants(process.pid)
        assert not [pid for pid in family if knows(pid)]
        assert SECRET not in "".join(family.values())
        assert SECRET.encode() not in Path(f"/proc/{process.pid}/environ").read_bytes()
        assert SECRET.encode() not in Path(f"/proc/{process.pid}/cmdline").read_bytes()
        assert ("is deprecated" in said) == (way in {"environment", "option", "option="})


@pytest.mark.parametrize(
    ("options", "given", "words"),
    [
        ((), "", "a token is needed: --token-file FILE"),
        (("--token-file", "/no/such/file"), "", "/no/such/file with the token cannot be read: No such file"),
        (("--token-file", "-"), "", "the standard input has no token in its first line"),
        (("--token-file", "-"), "two words\n", "the standard input has no token in its first line"),
    ],
)
def test_an_agent_without_a_token_says_what_it_needs(options, given, words):
    with agent(*options, given=given) as process:
        assert process.stderr is not None
        assert words in process.stderr.read()
        assert process.wait(60) == 2


def test_a_token_that_others_can_read_is_warned_of(tmp_path, caplog):
    file = tmp_path / "token"
    file.write_text(f"{SECRET}\n")
    for mode, warned in ((0o600, False), (0o644, True)):
        caplog.clear()
        file.chmod(mode)
        assert token.read(str(file)) == SECRET
        assert ("can be read by others" in caplog.text) == warned


def test_a_command_line_without_its_token_has_all_else():
    line = [
        "-m",
        "inference.agent",
        "--token",
        SECRET,
        "--core",
        "1",
        f"--token={SECRET}",
        "--user",
        "nobody",
    ]
    assert token.without_token(line) == ["-m", "inference.agent", "--core", "1", "--user", "nobody"]


@needs_x86
@pytest.mark.parametrize("sandboxed", [True, False])
async def test_where_machine_code_cannot_be_confined_it_runs_only_if_that_is_said_by_name(
    monkeypatch, sandboxed
):
    monkeypatch.setattr(
        call_filter, "install", lambda _program, **_options: False
    )  # a kernel without filters
    harness = LocalHarness(
        ForkServer(fork_server.start(choose_core(), sandboxed=sandboxed)), {}, avx=frame().avx
    )
    try:
        if sandboxed:
            with pytest.raises(UnfitError, match="start the agent with --without-sandbox"):
                await harness.preflight(frame(), Settings())
        else:
            await harness.preflight(frame(), Settings())
            assert harness.confinement["no_new_privileges"]
            assert not harness.confinement["system_calls"]
    finally:
        await harness.close()

"""What a foreign program takes of this computer is bounded, and it is handed nothing but its streams."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from inference.containment import CannotStartError, Limits, LineWorker, host, run
from inference.containment.running import make_scratch, remove_scratch
from inference.sandbox.users import UNPRIVILEGED
from tests.predictors.fakes import python, script

ROOT = Path(__file__).parents[2]
LIMITS = Limits(seconds=30.0, memory=256, output=64, processes=64)

needs_filter = pytest.mark.skipif(not host().system_calls, reason="system calls are not filtered here")
needs_mounts = pytest.mark.skipif(not host().mounts, reason="this host has no mount namespaces for the site")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only a site that runs as root has rights to drop")


def printed(tmp_path: Path, body: str) -> str:
    ended = run([python(tmp_path / "tool" / "tool", body)], limits=LIMITS)
    assert ended.status == 0, ended.ending_with_error
    return ended.stdout.decode().strip()


@needs_mounts
@pytest.mark.parametrize("then", ["pass", "os.unlink(str(number))"])
def test_a_scratch_folder_is_no_larger_than_the_memory_of_its_program(tmp_path, then):
    body = f"""
import os
total, files = 0, []
try:
    for number in range(16):
        files.append(open(str(number), "wb", 0))
        {then}
        for _ in range(32):
            total += files[-1].write(bytes(1 << 20))
except OSError as error:
    print(error.strerror, total >> 20)
"""
    reason, mebibytes = printed(tmp_path, body).rsplit(" ", 1)
    assert (reason, int(mebibytes)) in {("No space left on device", size) for size in range(240, 257)}


@needs_mounts
def test_a_scratch_folder_has_a_largest_number_of_files(tmp_path):
    body = """
try:
    for number in range(100_000):
        open(str(number), "w").close()
except OSError as error:
    print(error.strerror, number)
"""
    reason, number = printed(tmp_path, body).rsplit(" ", 1)
    assert reason == "No space left on device"
    assert int(number) <= 10_000


@needs_filter
def test_a_program_makes_no_files_in_memory(tmp_path):
    body = """
import os
try:
    os.memfd_create("more")
except OSError as error:
    print(error.strerror)
"""
    assert printed(tmp_path, body) == "Function not implemented"


@pytest.mark.parametrize("limit", ["AS", "FSIZE", "NPROC", "NOFILE", "CPU"])
def test_a_program_does_not_raise_its_limits(tmp_path, limit):
    body = f"""
import resource
limit = resource.RLIMIT_{limit}
before = resource.getrlimit(limit)
try:
    resource.setrlimit(limit, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
except ValueError:
    print("refused", before[1] - before[0])
"""
    assert printed(tmp_path, body) == f"refused {int(limit == 'CPU')}"


@needs_root
def test_root_starts_programs_as_a_user_who_owns_nothing(tmp_path):
    body = """
import os
print(os.getresuid(), os.getresgid(), os.getgroups(), os.stat(".").st_uid, os.stat("block").st_uid)
open("block", "a").write("may be changed")
"""
    ended = run([python(tmp_path / "tool" / "tool", body)], limits=LIMITS, files={"block": b"abc"})
    assert ended.status == 0, ended.ending_with_error
    everything = (UNPRIVILEGED,) * 3
    assert ended.stdout.decode().split(" ", 6) == (
        f"{everything} {everything} [] {UNPRIVILEGED} {UNPRIVILEGED}\n".split(" ", 6)
    )


@needs_root
def test_a_program_that_only_root_may_execute_is_refused_with_the_reason(tmp_path):
    tool = Path(script(tmp_path / "tool", "echo ran"))
    tool.chmod(0o700)
    with pytest.raises(CannotStartError, match=f"Permission denied for user {UNPRIVILEGED}"):
        run([str(tool)], limits=LIMITS)


@needs_root
@pytest.mark.skipif(
    shutil.which("setpriv") is None, reason="setpriv is not installed: apt install util-linux"
)
@pytest.mark.parametrize(
    ("capabilities", "unprivileged"),
    [("chown,dac_override,setuid,setgid", True), ("chown,setuid,setgid", False), ("", False)],
)
def test_root_of_a_container_starts_programs_as_whom_it_can(capabilities, unprivileged):
    code = (
        "from inference.containment import Limits, host, run\n"
        "print(host().unprivileged, host().namespaces, host().mounts)\n"
        "print(run(['/usr/bin/id', '-u'], limits=Limits(seconds=30), files={'block': b''}).stdout.decode())"
    )
    rights = ",".join(["-all", *(f"+{name}" for name in capabilities.split(",") if name)])
    command = ["setpriv", "--bounding-set", rights, "--inh-caps=-all", sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [
        *(str(unprivileged), "False", "False", str(UNPRIVILEGED if unprivileged else 0))
    ]
    assert ("run the site as an ordinary user" in done.stderr.lower()) is not unprivileged


@needs_root
def test_a_right_to_read_is_kept_only_below_directories_that_are_closed_to_others(tmp_path, monkeypatch):
    if not host().landlock:
        pytest.skip("without Landlock no such right is left to programs")
    monkeypatch.setenv("PATH", "/usr/bin")
    path = script(tmp_path / "tool", "exec grep CapEff /proc/self/status")
    assert tmp_path.parent.stat().st_mode & 0o001 == 0, "pytest's directories are its user's alone"
    assert run([path], limits=LIMITS).stdout.split()[1] == b"0000000000000004"
    ended = run(["/usr/bin/sh", "-c", "exec grep CapEff /proc/self/stat?s"], limits=LIMITS)
    assert ended.stdout.split()[1] == b"0" * 16


@needs_root
def test_root_hands_over_the_directories_of_a_cache_but_no_file(tmp_path, monkeypatch):
    (tmp_path / "cache" / "models").mkdir(parents=True)
    (tmp_path / "cache" / "models" / "kept").write_text("old")
    monkeypatch.setenv("PMWEB_TOOL_CACHES", str(tmp_path / "cache"))
    tool = script(
        tmp_path / "tool" / "tool", f"cd {tmp_path}/cache/models; echo new > new; echo more >> kept"
    )
    assert "kept" in run([tool], limits=LIMITS).last_error_line
    assert (tmp_path / "cache" / "models" / "new").read_text() == "new\n"
    assert (tmp_path / "cache" / "models" / "kept").read_text() == "old"


def test_a_program_has_three_open_files_however_many_its_owner_has(tmp_path):
    tool = python(tmp_path / "tool", "import os; print(sorted(map(int, os.listdir('/proc/self/fd')))[:-1])")
    code = f"""
import os
files = [os.open(os.devnull, os.O_RDONLY) for _ in range(400)]
for number in files[::2]:
    os.set_inheritable(number, True)
from inference.containment import Limits, LineWorker, run
print(run([{tool!r}], limits=Limits(seconds=30)).stdout.decode().strip())
worker = LineWorker([{tool!r}], Limits(seconds=30))
print(worker.ask(b"").decode())
worker.close()
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[0, 1, 2]"] * 2


def test_what_a_program_left_behind_is_removed_however_deep_or_closed():
    folder = make_scratch()
    home = Path.cwd()
    try:
        os.chdir(folder)
        for _ in range(1 + sys.getrecursionlimit()):
            Path("moved-0").mkdir()
            os.chdir("moved-0")
        Path("file").write_text("deep")
        os.chdir(folder)
        Path("closed").mkdir()
        Path("closed", "file").write_text("secret")
        Path("closed").chmod(0)
        Path("link").symlink_to(home)
    finally:
        os.chdir(home)
    remove_scratch(folder)
    assert not Path(folder).exists()
    assert home.exists()


def test_a_worker_leaves_nothing_behind(tmp_path):
    body = """
import os, sys
os.mkdir("closed", 0)
print(os.getcwd(), flush=True)
sys.stdin.read()
"""
    worker = LineWorker([python(tmp_path / "tool", body)], LIMITS)
    folder = worker.ask(b"").decode()
    worker.close()
    assert not Path(folder).exists()


INHERITABLE = {
    "inference/web/reading_process.py": "requests to the server that reads files, which starts no programs",
    "inference/containment/client.py": "the starter's socket",
    "inference/runs/child.py": "the fork server's socket",
    "pmweb/launcher/supervisor.py": "the listening socket of the site",
}
"""Files that pass descriptors on to programs, and which."""

MAKERS = {
    "recvmsg": "MSG_CMSG_CLOEXEC",
    "recvmsg_into": "MSG_CMSG_CLOEXEC",
    "recv_fds": "MSG_CMSG_CLOEXEC",
    "pipe2": "O_CLOEXEC",
    "set_inheritable": "False",
    "closerange": "no range is all of them",
    "memfd_create": "CLOEXEC",
    "eventfd": "CLOEXEC",
}
"""Calls whose descriptors a program inherits, and the word that keeps it from that."""


def test_no_descriptor_is_made_that_programs_inherit():
    flaws = []
    passing = set()
    for package in ("inference", "anica_app", "pmweb"):
        for file in sorted((ROOT / package).rglob("*.py")):
            name, text = file.relative_to(ROOT).as_posix(), file.read_text()
            if not any(word in text for word in (*MAKERS, "pass_fds")):
                continue
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.Call):
                    text = ast.unparse(node)
                    flaws += [f"{name}:{node.lineno}: {text}"] if _is_inheritable(node, text) else []
                    if any(word.arg == "pass_fds" for word in node.keywords):
                        passing.add(name)
    assert not flaws, "name O_CLOEXEC or MSG_CMSG_CLOEXEC, or use `close_all_but`"
    assert passing == INHERITABLE.keys()


def _is_inheritable(call: ast.Call, text: str) -> bool:
    """Python's own calls make none that is; these do where they are not told otherwise."""
    name = text.partition("(")[0].rpartition(".")[2]
    if name in {"memfd_create", "eventfd"}:
        return len(call.args) > 1 and "CLOEXEC" not in text
    return name in MAKERS and MAKERS[name] not in text

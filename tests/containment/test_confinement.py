"""A foreign program that attacks what is around it, and fails."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from inference.containment import FileAccess, Limits, host, run
from inference.containment.private import shield
from tests.predictors.fakes import python, script

LIMITS = Limits(seconds=30.0, memory=512, output=1)
SECRET = "the-lease-of-this-run"
REFUSALS = {"PermissionError", "OSError"}
"""The latter: a link leads to another device, or the file system cannot be changed."""

needs_landlock = pytest.mark.skipif(not host().landlock, reason="this kernel has no Landlock")
needs_filter = pytest.mark.skipif(not host().system_calls, reason="system calls are not filtered here")


@pytest.fixture
def victim() -> Iterator[subprocess.Popen[bytes]]:
    """A process of the same user that holds a secret in its environment, and is an ordinary one."""
    process = subprocess.Popen(
        [sys.executable, "-ISc", "print(flush=True); input()"],
        env={"PMWEB_SECRET_KEY": SECRET},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.readline()
    yield process
    process.kill()
    process.communicate()


def attacked(tmp_path: Path, body: str) -> str:
    """What a Python program says of its attack: `did it`, or the name of the error that it got."""
    indented = "\n".join(f"    {line}" for line in body.strip().splitlines())
    attack = (
        f"import os, sys\ntry:\n{indented}\n    print('did it')\nexcept OSError as e: print(type(e).__name__)"
    )
    ended = run([python(tmp_path / "tool" / "attack", attack)], limits=LIMITS)
    assert ended.status == 0, ended.ending_with_error
    return ended.stdout.decode().strip()


@needs_landlock
@pytest.mark.parametrize(
    "deed",
    [
        "open({home!r} + '/pmweb.sqlite3', 'rb').read()",
        "os.listdir({home!r})",
        "open({home!r} + '/planted', 'w')",
        "os.rename({home!r} + '/pmweb.sqlite3', {home!r} + '/gone')",
        "os.unlink({home!r} + '/pmweb.sqlite3')",
        "os.truncate({home!r} + '/pmweb.sqlite3', 0)",
        "os.symlink({home!r} + '/pmweb.sqlite3', 'link'); open('link').read()",
        "os.link({home!r} + '/pmweb.sqlite3', 'link')",
    ],
)
def test_the_data_of_the_site_is_neither_read_nor_changed(tmp_path, deed):
    home = tmp_path / "data"
    home.mkdir()
    (home / "pmweb.sqlite3").write_text("rows")
    assert attacked(tmp_path, deed.format(home=str(home))) in REFUSALS
    assert [(one.name, one.read_text()) for one in home.iterdir()] == [("pmweb.sqlite3", "rows")]


@needs_filter
@pytest.mark.parametrize(
    "deed", ["os.chmod({0!r}, 0o777)", "os.chown({0!r}, -1, 0)", "os.utime({0!r}, (1, 1))"]
)
def test_whom_data_is_open_to_is_not_changed(tmp_path, deed):
    kept = tmp_path / "kept"
    kept.write_text("rows")
    kept.chmod(0o600)
    before = kept.stat()
    assert attacked(tmp_path, deed.format(str(kept))) == "PermissionError"
    assert kept.stat() == before


@needs_landlock
def test_a_program_does_not_change_itself_but_its_own_directory(tmp_path):
    assert attacked(tmp_path, "open(sys.argv[0], 'a').write('# more')") in REFUSALS
    assert attacked(tmp_path, "open('note', 'w').write('x'); assert open('note').read() == 'x'") == "did it"


@needs_filter
@pytest.mark.parametrize("family", ["AF_INET", "AF_INET6", "AF_UNIX", "AF_NETLINK"])
def test_there_is_no_network(tmp_path, family):
    kind = "SOCK_RAW" if family == "AF_NETLINK" else "SOCK_STREAM"
    deed = f"import _socket; _socket.socket(_socket.{family}, _socket.{kind})"
    assert attacked(tmp_path, deed) == "PermissionError"


@needs_filter
@pytest.mark.parametrize("kind", ["SOCK_DGRAM", "SOCK_RAW"])
def test_nothing_arrives_at_a_socket_with_a_path(tmp_path, kind):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
        log.bind(str(tmp_path / "log"))
        (tmp_path / "log").chmod(0o666)
        log.settimeout(0.2)
        deed = (
            f"import _socket; a, b = _socket.socketpair(_socket.AF_UNIX, _socket.{kind})\n"
            f"a.sendto(b'forged', {str(tmp_path / 'log')!r})"
        )
        assert attacked(tmp_path, deed) == "PermissionError"
        with pytest.raises(TimeoutError):
            log.recv(10)


@needs_filter
def test_a_program_talks_to_what_it_starts(tmp_path):
    deed = """
import subprocess
import _socket
a, b = _socket.socketpair()
if os.fork() == 0:
    a.send(subprocess.run(["/bin/echo", "heard"], capture_output=True).stdout)
    os._exit(0)
assert b.recv(10) == b"heard\\n"
"""
    assert attacked(tmp_path, deed) == "did it"


def test_nothing_arrives_at_a_port_of_this_host(tmp_path):
    if not (host().system_calls or host().namespaces or host().landlock >= 4):
        pytest.skip("this host cannot keep a program from the network")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        body = f"exec 3<>/dev/tcp/127.0.0.1/{server.getsockname()[1]} && echo connected"
        path = script(tmp_path / "tool", f"bash -c '{body}' 2>/dev/null")
        assert run([path], limits=LIMITS).stdout == b""
        with pytest.raises(TimeoutError):
            server.accept()


@pytest.mark.parametrize("secret", ["environ", "mem", "fd"])
def test_no_process_of_the_same_user_is_looked_into(tmp_path, victim, secret):
    if not (host().landlock or host().namespaces):
        pytest.skip("neither Landlock nor namespaces here")
    path = f"/proc/{victim.pid}/{secret}"
    deed = f"os.listdir({path!r})" if secret == "fd" else f"open({path!r}, 'rb').read(1)"
    assert attacked(tmp_path, deed) == "PermissionError"


@needs_filter
@pytest.mark.parametrize(
    "deed",
    [
        "os.kill({pid}, 15)",
        "os.pidfd_open({pid})",
        "import resource; resource.prlimit({pid}, resource.RLIMIT_CPU, (0, 0))",
        "os.sched_setaffinity({pid}, {{0}})",
        "os.setpriority(os.PRIO_PROCESS, {pid}, 19)",
        "os.setpriority(os.PRIO_USER, 0, 19)",
        "os.setpriority(os.PRIO_USER, {user}, 19)",
        "import fcntl; fcntl.fcntl(os.pipe()[0], fcntl.F_SETOWN, {pid})",
        "import fcntl, struct; fcntl.ioctl(os.pipe()[0], 0x8901, struct.pack('i', {pid}))",
    ],
)
def test_no_process_of_the_same_user_is_disturbed(tmp_path, victim, deed):
    before = os.sched_getaffinity(victim.pid), os.getpriority(os.PRIO_PROCESS, victim.pid)
    assert attacked(tmp_path, deed.format(pid=victim.pid, user=os.getuid())) in {
        *REFUSALS,
        "ProcessLookupError",
    }
    assert (os.sched_getaffinity(victim.pid), os.getpriority(os.PRIO_PROCESS, victim.pid)) == before
    assert victim.poll() is None


@needs_filter
@pytest.mark.parametrize("number", [101, 272, 165, 425, 321, 298])
def test_calls_that_no_predictor_needs_fail(tmp_path, number):
    if os.uname().machine != "x86_64":
        pytest.skip("numbers of x86-64")
    # ptrace, unshare, mount, io_uring_setup, bpf, perf_event_open
    deed = f"import ctypes; assert ctypes.CDLL(None).syscall({number}, 0, 0, 0, 0) == -1"
    path = python(tmp_path / "tool", f"{deed}\nprint('failed')")
    assert run([path], limits=LIMITS).stdout == b"failed\n"


def test_a_program_gets_no_rights_by_set_user_id(tmp_path):
    path = script(tmp_path / "tool", "exec grep NoNewPrivs /proc/self/status")
    assert run([path], limits=LIMITS).stdout.split() == [b"NoNewPrivs:", b"1"]


def test_a_program_has_no_capabilities(monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin")
    ended = run(["/usr/bin/sh", "-c", "exec grep ^Cap /proc/self/stat?s"], limits=LIMITS)
    capabilities = dict(line.split(b":\t") for line in ended.stdout.splitlines())
    assert capabilities.pop(b"CapBnd")
    assert set(capabilities.values()) == {b"0" * 16}


def test_the_environment_has_no_more_than_a_program_needs(tmp_path, monkeypatch):
    monkeypatch.setenv("PMWEB_HOME", "/var/lib/pmweb")
    monkeypatch.setenv("PMWEB_SECRET_KEY", SECRET)
    ended = run(["/usr/bin/env"], limits=LIMITS)
    assert {line.partition("=")[0] for line in ended.stdout.decode().split()} <= {
        *("PATH", "HOME", "TMPDIR", "LC_ALL", "PWD", "SHLVL", "_"),
    }


def test_the_process_that_starts_programs_has_no_secret_either(monkeypatch):
    code = (
        "import os, pathlib\n"
        "from inference.containment import host\n"
        "host()\n"
        "child = pathlib.Path(f'/proc/self/task/{os.getpid()}/children').read_text().split()[0]\n"
        "print(child, flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PMWEB_SECRET_KEY": SECRET},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as owner:
        assert owner.stdout is not None
        environment = Path(f"/proc/{int(owner.stdout.readline())}/environ")
        try:
            held = environment.read_bytes()
        except PermissionError:  # closed to this user, who is not root
            held = b""
        owner.send_signal(signal.SIGKILL)
    assert held == b""


@needs_landlock
def test_a_tool_reads_what_it_is_installed_with(tmp_path):
    prefix = tmp_path / "prefix"
    (prefix / "share").mkdir(parents=True)
    (prefix / "share" / "data").write_text("ports")
    tool = script(prefix / "bin" / "tool", f"cat {prefix}/share/data")
    linked = tmp_path / "elsewhere" / "linked"
    linked.parent.mkdir()
    linked.symlink_to(tool)
    for path in (tool, str(linked)):
        assert run([path], limits=LIMITS).stdout == b"ports"


@needs_landlock
def test_a_tool_reads_what_the_operator_adds(tmp_path, monkeypatch):
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "weights").write_text("more")
    tool = script(tmp_path / "tool" / "tool", f"cat {tmp_path}/more/weights")
    assert run([tool], limits=LIMITS).stdout == b""
    monkeypatch.setenv("PMWEB_TOOL_DIRECTORIES", f"/nowhere:{tmp_path}/more")
    assert run([tool], limits=LIMITS).stdout == b"more"


@needs_landlock
def test_a_tool_beside_the_data_of_the_site_does_not_read_it(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "pmweb.sqlite3").write_text("rows")
    shield(tmp_path / "data")
    tool = script(tmp_path / "tool", f"cat {tmp_path}/data/pmweb.sqlite3; echo ran")
    assert run([tool], limits=LIMITS).stdout == b"ran\n"


@needs_landlock
def test_what_may_only_open_libraries_opens_nothing_else(tmp_path):
    (tmp_path / "note").write_text("note")
    reads = ("/lib", "/lib64", "/usr/lib", "/usr/bin/cat", "/etc/ld.so.cache")
    access = FileAccess(reads=reads, own_directory=False)
    for path in (tmp_path / "note", "/etc/passwd", "/proc/self/environ"):
        ended = run(["/usr/bin/cat", str(path)], limits=LIMITS, access=access)
        assert ended.stdout == b""
        assert "Permission denied" in ended.last_error_line

"""Foreign programs that hang, crash, fork, flood or eat memory do no harm."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from inference.containment import (
    CannotStartError,
    Limits,
    LineWorker,
    WorkerError,
    WorkerSlowError,
    run,
)
from tests.launched import is_alive, wait_for_death, wait_until
from tests.predictors.fakes import python, script

QUICK = Limits(seconds=0.4, memory=256, output=1)
USUAL = Limits(seconds=20.0, memory=256, output=1)


def test_a_program_gets_its_input_and_is_heard(tmp_path):
    path = script(tmp_path / "tool", "cat; echo oh >&2; exit 3")
    ended = run([path], b"x" * 200_000, limits=USUAL)
    assert (ended.status, ended.stdout, ended.stderr) == (3, b"x" * 200_000, b"oh\n")
    assert not ended.timed_out
    assert ended.ending_with_error == "ended with status 3: oh"


def test_it_runs_in_an_empty_directory_of_its_own_which_is_removed(tmp_path):
    path = script(tmp_path / "tool", "ls; pwd; echo $HOME; echo ${PMWEB_SECRET_KEY:-none}")
    os.environ["PMWEB_SECRET_KEY"] = "do not tell"
    try:
        ended = run([path], limits=USUAL, files={"block": b"abc"})
    finally:
        del os.environ["PMWEB_SECRET_KEY"]
    name, directory, home, secret = ended.stdout.decode().split()
    assert (name, home, secret) == ("block", directory, "none")
    assert not Path(directory).exists()


def test_a_program_that_hangs_is_ended_with_all_that_it_started(tmp_path):
    body = """
import os, time
def tell():
    os.write(1, f"{os.getpid()}\\n".encode())
for away in (False, True):
    if os.fork() == 0:
        if away:
            os.setsid()
            if os.fork(): os._exit(0)
        tell()
        time.sleep(600)
tell()
time.sleep(600)
"""
    ended = run([python(tmp_path / "tool", body)], limits=Limits(seconds=5.0, memory=256))
    assert ended.timed_out
    assert ended.ending == "not done in its time"
    started = [int(line) for line in ended.stdout.split()]
    assert len(started) == 3
    assert not any(map(is_alive, started))


def test_what_a_program_leaves_behind_is_ended_as_well(tmp_path):
    path = script(tmp_path / "tool", "sleep 600 >/dev/null 2>&1 </dev/null &\necho $!")
    ended = run([path], limits=USUAL)
    assert not is_alive(int(ended.stdout))


def test_a_busy_loop_and_a_sleep_end_alike(tmp_path):
    for number, body in enumerate(("while :; do :; done", "sleep 600")):
        assert run([script(tmp_path / f"tool{number}", body)], limits=QUICK).timed_out


def test_a_program_that_prints_without_end_is_stopped(tmp_path):
    ended = run([script(tmp_path / "tool", "exec cat /dev/zero")], limits=Limits(seconds=20, output=1))
    assert ended.output_exceeded
    assert len(ended.stdout) == 1 << 20


def test_a_program_that_eats_memory_fails_by_itself(tmp_path):
    ended = run([python(tmp_path / "tool", "kept = 'x' * (1 << 33)")], limits=USUAL)
    assert ended.status == 1
    assert ended.last_error_line == "MemoryError"


def test_a_crash_is_told_by_its_signal(tmp_path):
    ended = run([script(tmp_path / "tool", "kill -SEGV $$")], limits=USUAL)
    assert ended.status == -signal.SIGSEGV
    assert ended.ending == "ended by SIGSEGV"


@pytest.mark.parametrize(("make", "reason"), [(False, "No such file"), (True, "Permission denied")])
def test_a_program_that_cannot_be_started_is_named(tmp_path, make, reason):
    path = tmp_path / "tool"
    if make:
        path.write_text("no program")
    with pytest.raises(CannotStartError, match=f"tool cannot be started: {reason}"):
        run([str(path)], limits=USUAL)


def test_nothing_outlives_its_owner(tmp_path):
    told = tmp_path / "told"
    told.mkdir()
    pid = told / "pid"
    path = script(tmp_path / "tool", f"echo $$ > {pid}.new; mv {pid}.new {pid}; exec sleep 600")
    code = (
        "from inference.containment import FileAccess, Limits, run\n"
        f"access = FileAccess(reads=('/usr', '/bin', '/lib', '/lib64', {path!r}), writes=({str(told)!r},))\n"
        f"run([{path!r}], limits=Limits(seconds=600), access=access)"
    )
    owner = subprocess.Popen([sys.executable, "-c", code], cwd=Path(__file__).parents[2])
    try:
        wait_until(pid.exists, 60, "the program to run")
        assert is_alive(int(pid.read_text()))
    finally:
        owner.kill()
        owner.wait()
    wait_for_death([int(pid.read_text())])


def test_a_worker_answers_line_by_line_in_one_process(tmp_path):
    worker = LineWorker([script(tmp_path / "tool", "while read line; do echo $$ $line; done")], USUAL)
    try:
        pid, word = worker.ask(b"one").split()
        assert worker.ask(b"two").split() == [pid, b"two"]
        assert word == b"one"
    finally:
        worker.close()
    assert not is_alive(int(pid))


def test_a_worker_that_ends_is_started_anew(tmp_path):
    body = 'while read line; do [ "$line" = bad ] && { echo "it broke" >&2; exit 1; }; echo $line; done'
    worker = LineWorker([script(tmp_path / "tool", body)], USUAL)
    try:
        assert worker.ask(b"good") == b"good"
        with pytest.raises(WorkerError, match="it broke"):
            worker.ask(b"bad")
        assert worker.ask(b"good") == b"good"
    finally:
        worker.close()


def test_a_worker_that_hangs_is_ended_after_its_time(tmp_path):
    body = 'while read line; do [ "$line" = bad ] && sleep 600; echo $line; done'
    worker = LineWorker([script(tmp_path / "tool", body)], QUICK, first_seconds=300)
    try:
        worker.ask(b"good")
        began = time.monotonic()
        with pytest.raises(WorkerSlowError):
            worker.ask(b"bad")
        assert time.monotonic() - began < 60  # of 0.4 s, where a first answer may take 300 s
        assert worker.ask(b"good") == b"good"
    finally:
        worker.close()


def test_a_worker_that_is_greeted_has_no_more_than_its_time_for_its_first_question(tmp_path):
    body = 'while read line; do [ "$line" = bad ] && sleep 600; echo $line; done'
    limits = Limits(seconds=2.0, memory=256, output=1)
    worker = LineWorker([script(tmp_path / "tool", body)], limits, first_seconds=300, greeting=b"good day")
    try:
        began = time.monotonic()
        for _ in range(2):  # the second time in a process of its own
            with pytest.raises(WorkerSlowError):
                worker.ask(b"bad")
        assert time.monotonic() - began < 60  # of 2 s each, where a first answer may take 300 s
        assert worker.ask(b"good") == b"good"  # not what it says to the greeting
    finally:
        worker.close()


@pytest.mark.parametrize("body", ["cat /dev/zero", "printf 'one\\ntwo\\n'; sleep 600"])
def test_a_worker_that_answers_too_much_is_ended(tmp_path, body):
    worker = LineWorker([script(tmp_path / "tool", body)], Limits(seconds=20, output=1))
    with pytest.raises(WorkerError, match=r"too much|more than one line"):
        worker.ask(b"x")
    worker.close()

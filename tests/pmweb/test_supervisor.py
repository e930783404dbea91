"""The supervisor with small processes of its own."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from pmweb.launcher import supervisor as supervising
from pmweb.launcher.supervisor import Child, LaunchError, ProcessSupervisor
from tests.launched import wait_for_death, wait_until

STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); "


def child(directory: Path, code: str) -> Child:
    return Child("the child", [sys.executable, "-c", code], os.environ, directory)


def supervise(*children: Child, when_up: Callable[[], None]) -> None:
    ProcessSupervisor(children, is_up=lambda: True, when_up=when_up).run()


def stop_soon(after: float = 0.0) -> None:
    threading.Timer(after, os.kill, (os.getpid(), signal.SIGTERM)).start()  # until then nothing more happens


def test_when_up_is_called_once_and_a_stop_signal_ends_the_children(tmp_path):
    calls = []
    sleeper = child(tmp_path, "import time; time.sleep(60)")

    def when_up() -> None:
        calls.append(sleeper.process)
        stop_soon(0.5)

    supervise(sleeper, when_up=when_up)
    assert len(calls) == 1
    wait_for_death([calls[0].pid])


def test_the_handlers_of_signals_are_put_back(tmp_path):
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)}
    supervise(child(tmp_path, "import time; time.sleep(60)"), when_up=stop_soon)
    assert {number: signal.getsignal(number) for number in before} == before


def test_a_child_that_does_not_listen_is_killed_with_all_that_it_started(tmp_path, monkeypatch):
    monkeypatch.setattr(supervising, "GRACE_SECONDS", 0.5)
    written = tmp_path / "grandchild"
    deaf = child(
        tmp_path,
        f"{STUBBORN} import subprocess, pathlib; own = subprocess.Popen(['sleep', '60']); "
        f"pathlib.Path({str(written)!r}).write_text(str(own.pid)); time.sleep(60)",
    )

    def when_up() -> None:
        wait_until(lambda: written.exists() and written.read_text() != "", 60, "the grandchild")
        stop_soon()

    supervise(deaf, when_up=when_up)
    wait_for_death([int(written.read_text())])


def test_a_second_stop_signal_ends_the_waiting(tmp_path, monkeypatch):
    monkeypatch.setattr(supervising, "GRACE_SECONDS", 300.0)
    ready, asked = tmp_path / "ready", tmp_path / "asked"
    deaf = child(
        tmp_path,
        "import pathlib, signal, time\n"
        f"signal.signal(signal.SIGTERM, lambda *_: pathlib.Path({str(asked)!r}).touch())\n"
        f"pathlib.Path({str(ready)!r}).touch()\n"
        "time.sleep(600)",
    )

    def insist() -> None:
        wait_until(asked.exists, 60, "the first signal to be passed on")
        stop_soon()

    def when_up() -> None:
        wait_until(ready.exists, 60, "the deaf child")
        threading.Thread(target=insist).start()
        stop_soon()

    began = time.monotonic()
    supervise(deaf, when_up=when_up)
    assert time.monotonic() - began < 200  # of 300 s that it would wait after the first signal


def test_what_dies_before_the_site_answered_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(supervising, "FIRST_PAUSE_SECONDS", 0.01)
    starts = tmp_path / "starts"
    dying = child(tmp_path, f"open({str(starts)!r}, 'a').write('x'); raise SystemExit(3)")
    with pytest.raises(LaunchError, match="ended 3 times before the site answered"):
        ProcessSupervisor([dying], is_up=lambda: False, when_up=lambda: None).run()
    assert starts.read_text() == "x" * supervising.MAX_FAILED_STARTS


def test_what_dies_afterwards_is_started_again_and_again(tmp_path, monkeypatch):
    monkeypatch.setattr(supervising, "FIRST_PAUSE_SECONDS", 0.01)
    starts = tmp_path / "starts"
    dying = child(tmp_path, f"open({str(starts)!r}, 'a').write('x')")

    def stop_after_some() -> None:
        threading.Thread(target=watch).start()

    def watch() -> None:
        wait_until(lambda: starts.exists() and len(starts.read_text()) >= 5, 60, "five starts")
        stop_soon()

    supervise(dying, when_up=stop_after_some)
    assert len(starts.read_text()) >= 5


def test_the_pause_doubles_with_every_early_death_up_to_a_limit(tmp_path):
    dying = child(tmp_path, "raise SystemExit(1)")
    pauses = []
    for _ in range(12):
        dying.start()
        assert dying.process is not None
        dying.process.wait()
        before = time.monotonic()
        obituary = dying.record_death()
        pauses.append(float(obituary.removesuffix(" s").rpartition(" ")[2]))
        assert before + pauses[-1] <= dying.next_start <= time.monotonic() + pauses[-1]
    assert pauses[:4] == [0.25, 0.5, 1.0, 2.0]
    assert pauses[-1] == supervising.MAX_PAUSE_SECONDS


def test_a_child_that_lived_for_long_is_started_again_at_once(tmp_path):
    dying = child(tmp_path, "")
    dying.early_deaths = 7
    dying.start()
    assert dying.process is not None
    dying.process.wait()
    dying.started -= supervising.STABLE_SECONDS
    dying.record_death()
    assert dying.early_deaths == 0
    assert dying.next_start - time.monotonic() <= supervising.FIRST_PAUSE_SECONDS


def test_what_is_not_essential_is_started_when_the_site_has_answered_and_its_deaths_stop_nothing(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(supervising, "FIRST_PAUSE_SECONDS", 0.01)
    starts = tmp_path / "starts"
    dying = child(tmp_path, f"open({str(starts)!r}, 'a').write('x'); raise SystemExit(1)")
    dying.essential = False
    looks = []

    def is_up() -> bool:
        assert dying.process is None
        looks.append(starts.exists())
        return len(looks) >= 3

    def watch() -> None:
        enough = supervising.MAX_FAILED_STARTS + 1
        wait_until(lambda: starts.exists() and len(starts.read_text()) >= enough, 60, "more starts")
        stop_soon()

    ProcessSupervisor([dying], is_up=is_up, when_up=threading.Thread(target=watch).start).run()
    assert looks == [False] * 3


def test_what_says_that_it_is_of_no_use_is_not_started_again(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(supervising, "FIRST_PAUSE_SECONDS", 0.01)
    starts = tmp_path / "starts"
    useless = child(tmp_path, f"open({str(starts)!r}, 'a').write('x'); raise SystemExit(3)")
    useless.final_status = 3

    def watch() -> None:
        wait_until(lambda: "starting it again would change nothing" in caplog.text, 60, "its end")
        stop_soon(0.5)

    supervise(useless, when_up=threading.Thread(target=watch).start)
    assert starts.read_text() == "x"


BEATING = (
    "import os, signal, sys, time\n"
    f"sys.path.insert(0, {str(Path(supervising.__file__).parents[2])!r})\n"
    "from inference.runs.lifeline import Heartbeat\n"
    "heart = Heartbeat()\n"
)


def beating(directory: Path, code: str, seconds: float) -> Child:
    return Child(
        "the child", [sys.executable, "-c", BEATING + code], os.environ, directory, silence_seconds=seconds
    )


def test_a_child_whose_heart_stops_is_killed_and_started_again(tmp_path, caplog):
    started = tmp_path / "started"
    code = (
        f"file = open({str(started)!r}, 'a'); file.write(f'{{os.getpid()}}\\n'); file.close()\n"
        "heart.beat()\n"
        "os.kill(os.getpid(), signal.SIGSTOP)"
    )
    hung = beating(tmp_path, code, 1.0)

    def stop_when_started_twice() -> None:
        wait_until(lambda: started.exists() and started.read_text().count("\n") > 1, 60, "a second start")
        os.kill(os.getpid(), signal.SIGTERM)

    supervise(hung, when_up=threading.Thread(target=stop_when_started_twice).start)
    assert "the child has not answered for 1 s and is killed" in caplog.text
    assert "the child was ended by SIGKILL; starting it again" in caplog.text
    wait_for_death([int(started.read_text().split()[0])])


@pytest.fixture
def clock(monkeypatch):
    """The supervisor's, which a test sets."""
    stopped = SimpleNamespace(now=0.0, monotonic=lambda: stopped.now)
    monkeypatch.setattr(supervising, "time", stopped)
    return stopped


def wait_for_beat(child: Child, moment: float) -> None:
    """Until the supervisor hears its heart at a moment of a clock that stands still."""
    wait_until(lambda: child.listen(was_absent=False) or child._last_heartbeat == moment, 60, "a beat")


def test_a_child_whose_heart_beats_and_one_that_is_still_starting_are_left_alone(tmp_path, clock):
    alive = beating(tmp_path, "while True: heart.beat(); time.sleep(0.1)", 1.0)
    starting = beating(tmp_path, "time.sleep(60)", 1.0)
    for each in (alive, starting):
        each.start()
    for clock.now in (5.0, 10.0, 15.0):
        wait_for_beat(alive, clock.now)
        starting.listen(was_absent=False)
        assert not any(each.end_if_hung() for each in (alive, starting))
    for each in (alive, starting):
        each.send(signal.SIGKILL)
        assert each.process is not None
        assert each.process.wait(60) == -signal.SIGKILL


def test_a_supervisor_that_was_away_itself_begins_to_count_anew(tmp_path, clock):
    hung = beating(tmp_path, "heart.beat(); time.sleep(60)", 0.2)
    hung.start()
    assert hung.process is not None
    wait_for_beat(hung, clock.now)
    clock.now += 0.3
    hung.listen(was_absent=True)
    assert not hung.end_if_hung()
    clock.now += 0.3
    hung.listen(was_absent=False)
    assert hung.end_if_hung()
    assert hung.process.wait(60) == -signal.SIGKILL
    assert not hung.end_if_hung()

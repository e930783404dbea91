"""Signals to a command that waits for its run: Ctrl-C cancels it, the others leave it to the site."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

from inference.models import Run
from inference.runs import lifecycle
from tests.launched import descendants, wait_for_death
from tests.runs.fixtures import environment, hurry, reached, state, wait_for

COUNT = [sys.executable, str(settings.BASE_DIR / "manage.py"), "count"]


def counting(process: subprocess.Popen) -> Run:
    """The run of a command, once it is being worked on."""
    wait_for(lambda: process.poll() is not None or any(reached(run, 3) for run in Run.objects.all()))
    return Run.objects.get()


def said(site) -> str:
    return (Path(site.home) / "log-0").read_text()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_run_is_left_to_the_site_and_the_shell_says_how_to_find_and_end_it(site, number):
    shell = site.manage("count")
    run = counting(shell)
    family = descendants(shell.pid)
    shell.send_signal(number)
    assert shell.wait(60) == 1
    wait_for_death(family)
    assert f"run {run.pk} is queued and left to the site" in said(site)
    assert f"`manage.py runs show {run.pk}`" in said(site)
    assert f"`manage.py runs cancel {run.pk}` ends it" in said(site)
    assert state(run) == "queued"
    hurry(run)
    site.worker()
    wait_for(lambda: state(run) == "done")


def test_ctrl_c_cancels_the_run(site):
    shell = site.manage("count")
    run = counting(shell)
    shell.send_signal(signal.SIGINT)
    assert shell.wait(60) == 1
    assert state(run) == "cancelled"
    assert f"run {run.pk} was cancelled" in said(site)


def test_a_run_is_left_to_the_site_when_its_terminal_is_closed(site):
    ours, theirs = pty.openpty()
    shell = subprocess.Popen(
        ["setsid", "--ctty", *COUNT],
        env=environment(site.home),
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    site.processes.append(shell)
    os.close(theirs)
    run = counting(shell)
    os.close(ours)
    assert shell.wait(60) != 0
    assert state(run) == "queued"


def test_a_run_that_somebody_has_paused_says_how_it_goes_on(site):
    shell = site.manage("count")
    run = counting(shell)
    lifecycle.pause(run)
    assert shell.wait(60) == 1
    assert f"run {run.pk} is paused: `manage.py runs resume {run.pk}`" in said(site)

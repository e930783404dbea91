"""Niceness that counts: of the process, and of the session that it leads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from inference.agent import priority

SESSION = Path("/proc/self/autogroup")
TOLD = (
    "import os; from pathlib import Path; from inference.agent.priority import set_niceness;"
    "before = os.nice(0);"
    "set_niceness(3); session = Path('/proc/self/autogroup');"
    "print(os.nice(0) - before, session.read_text() if session.exists() else '')"
)


def told(*, leads: bool) -> list[str]:
    command = [sys.executable, "-c", TOLD]
    run = subprocess.run(command, start_new_session=leads, capture_output=True, text=True, check=True)
    return run.stdout.split()


def test_a_process_becomes_nicer_and_so_does_the_session_that_it_leads():
    words = told(leads=True)
    assert words[0] == "3"
    if not SESSION.exists():
        pytest.skip("this kernel does not share processors between sessions")
    assert words[-1] == "3"


def test_a_program_is_so_nice_from_its_first_moment_on():
    program = [sys.executable, "-c", "import os, sys; print(os.nice(0), sys.argv[1:])", "a b", "c"]
    run = subprocess.run(
        [sys.executable, priority.__file__, "3", *program], capture_output=True, text=True, check=True
    )
    assert run.stdout == f"{os.nice(0) + 3} ['a b', 'c']\n"


def test_the_session_of_somebody_else_is_left_alone():
    before = SESSION.read_text().split()[1:] if SESSION.exists() else []
    assert told(leads=False)[2:] == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may have any priority")
def test_who_may_not_be_served_first_goes_on_without():
    code = "from inference.agent.priority import set_niceness; set_niceness(-10)"
    subprocess.run([sys.executable, "-c", code], check=True)

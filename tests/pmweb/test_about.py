"""The About page and the sign of life."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from django.urls import reverse
from django.utils import timezone

from inference.agent.protocol import PROTOCOL
from inference.models import ISA, Machine
from inference.sandbox.confinement import Abilities
from pmweb import __version__, installation
from pmweb.installation import OptionalProgram


def executable(path: Path, script: str) -> Path:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def found(commands: tuple[str, ...]) -> list[installation.InstalledProgram]:
    [(_, executables)] = installation.find_programs(
        [OptionalProgram("tool", "test", commands, "apt install tool")]
    )
    return executables


def test_the_page_names_versions_and_how_to_get_what_is_missing(client, administrator, monkeypatch, tmp_path):
    monkeypatch.setattr(
        installation,
        "find_programs",
        lambda: [(OptionalProgram("gone", "shows a gap", ("gone",), "apt install gone"), [])],
    )
    client.force_login(administrator)
    page = client.get(reverse("about")).content.decode()
    assert __version__ in page
    assert "SQLite" in page
    assert "apt install gone" in page


def test_the_page_of_this_very_computer_renders(client, administrator):
    client.force_login(administrator)
    page = client.get(reverse("about"))
    assert page.status_code == 200
    assert reverse("agent-download") in page.content.decode()
    for program in installation.PROGRAMS:
        assert program.name in page.content.decode()


def test_without_a_dask_scheduler_the_page_says_how_to_add_computers(client, administrator, settings):
    settings.DASK = ""
    client.force_login(administrator)
    page = client.get(reverse("about")).content.decode()
    assert "not configured" in page
    assert "PMWEB_DASK=tls://host:8786" in page


def test_a_dask_scheduler_that_is_away_does_not_break_the_page(client, administrator, settings):
    settings.DASK = "tcp://127.0.0.1:9"
    client.force_login(administrator)
    page = client.get(reverse("about"))
    assert page.status_code == 200
    assert "tcp://127.0.0.1:9 cannot be reached" in page.content.decode()


def test_before_the_first_start_of_an_agent_the_page_says_so(db):
    told = dict(installation.measuring())
    assert f"{__version__}, protocol {PROTOCOL}" in told["Agent"]
    assert told["This computer"] == "no agent has been started here yet"


def test_what_the_agent_of_this_computer_says_is_shown(db):
    Machine.objects.create(
        name="here",
        kind=Machine.Kind.AGENT,
        local=True,
        isa=ISA.objects.create(name="x"),
        cpu="A processor",
        state=Machine.State.UNFIT,
        state_note="memory for machine code is not to be had",
        last_seen=timezone.now(),
        session=1,
        facts={"counters": "none", "confinement": {"no_new_privileges": True, "system_calls": False}},
    )
    told = dict(installation.measuring())
    assert told["This computer"] == "here · cannot measure · memory for machine code is not to be had"
    assert told["Processor"] == "A processor"
    assert told["Counts"] == "time only"
    assert told["Foreign code"] == "this kernel filters no system calls"


def test_what_this_host_closes_to_foreign_programs_is_told(client, administrator, monkeypatch):
    client.force_login(administrator)
    monkeypatch.setattr(
        installation,
        "host",
        lambda: Abilities(5, system_calls=True, namespaces=False, mounts=False, unprivileged=True),
    )
    page = client.get(reverse("about")).content.decode()
    assert "closed by Landlock 5" in page
    assert "none: this host keeps user namespaces from the site" in page


def test_what_this_host_leaves_open_to_foreign_programs_is_told(monkeypatch):
    monkeypatch.setattr(
        installation,
        "host",
        lambda: Abilities(0, system_calls=False, namespaces=False, mounts=False, unprivileged=False),
    )
    told = dict(installation.containment())
    assert told["Files"] == "all of the site's user: this host lacks Linux 5.13 with Landlock on"
    assert (
        told["Changes of files"] == "those of the site's user: this host lacks Landlock or mount namespaces"
    )
    assert told["Scratch folders"].startswith("on disk, not bounded")
    assert told["Network"] == "open to them: this host lacks user namespaces or seccomp"
    assert told["System calls"] == "all: this host lacks seccomp on x86-64, AArch64 or RISC-V"


@pytest.mark.parametrize(("user", "unprivileged"), [(0, True), (0, False), (1000, True)])
def test_the_user_of_foreign_programs_is_told(monkeypatch, user, unprivileged):
    monkeypatch.setattr(os, "geteuid", lambda: user)
    host = Abilities(7, system_calls=True, namespaces=True, mounts=True, unprivileged=unprivileged)
    monkeypatch.setattr(installation, "host", lambda: host)
    told = dict(installation.containment())
    right = {(0, True): "65533, who owns", (0, False): "root, as the site", (1000, True): "the site's own"}
    assert told["User"].startswith(right[user, unprivileged])
    assert told["Scratch folders"] == "in memory, at most as large as a program's memory"


def test_a_program_is_found_on_the_path_with_its_version(monkeypatch, tmp_path):
    executable(tmp_path / "tool", "echo tool version 12.3.4-debian")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert found(("tool",)) == [installation.InstalledProgram(str(tmp_path / "tool"), "12.3.4")]


def test_two_names_of_one_file_count_once(monkeypatch, tmp_path):
    (tmp_path / "alias").symlink_to(executable(tmp_path / "tool", "echo 1.0"))
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert len(found(("tool", "alias"))) == 1


def test_a_broken_or_silent_program_is_found_without_a_version(monkeypatch, tmp_path):
    executable(tmp_path / "broken", "exit 3")
    (tmp_path / "garbage").write_bytes(b"\x7fELF\x00\xff")
    (tmp_path / "garbage").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert [each.version for each in found(("broken", "garbage"))] == ["", ""]


def test_a_program_that_never_answers_is_not_waited_for(monkeypatch, tmp_path):
    executable(tmp_path / "tool", "exec sleep 60")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(installation, "_VERSION_SECONDS", 0.2)
    assert [each.version for each in found(("tool",))] == [""]


def test_an_updated_program_is_asked_again(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    os.utime(executable(tmp_path / "tool", "echo 1.0"), ns=(1, 1))
    assert found(("tool",))[0].version == "1.0"
    os.utime(executable(tmp_path / "tool", "echo 2.0"), ns=(2, 2))
    assert found(("tool",))[0].version == "2.0"


def test_a_missing_library_is_reported_and_does_not_break_the_page(monkeypatch):
    monkeypatch.setattr(installation, "LIBRARIES", ("django", "no-such-library"))
    versions = dict(installation.library_versions())
    assert versions["django"]
    assert versions["no-such-library"] == ""


def test_the_sign_of_life_needs_no_log_in(client, db):
    answer = client.get("/health/")
    assert answer.json() == {"product": "pmweb", "version": __version__}

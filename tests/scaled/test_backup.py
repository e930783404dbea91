"""Back-ups of PostgreSQL by its own programs: complete, all or nothing, and never under a running site."""

from __future__ import annotations

import io
import threading

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection

from inference.models import ISA, Run, RunEvent
from inference.runs import journal, leases
from tests.runs.fixtures import assert_journal_is_whole, numbers, payloads
from tests.ways_in import lets_in, make_ways_in


def command(*arguments: object) -> str:
    said = io.StringIO()
    call_command(*map(str, arguments), stdout=said)
    return said.getvalue()


def test_what_was_backed_up_comes_back_and_numbering_goes_on(site, tmp_path):
    file = tmp_path / "mine.pmweb-backup"
    run = site.count("one")
    assert "rows of" in command("backup", file)
    Run.objects.all().delete()
    ISA.objects.create(name="made later")
    with pytest.raises(CommandError, match="is not empty: --replace"):
        command("restore", file)
    assert "has been replaced" in command("restore", file, "--replace")
    assert list(Run.objects.values_list("name", flat=True)) == ["one"]
    assert not ISA.objects.filter(name="made later").exists()
    assert site.count("two").pk > run.pk  # the sequences came along
    assert numbers(run) == [1]


def test_a_back_up_that_is_put_back_lets_nobody_in_unless_tokens_shall_stay(site, tmp_path):
    session = make_ways_in()
    file = tmp_path / "mine.pmweb-backup"
    command("backup", file)
    assert lets_in(session) == {"session", "link", "token", "agent"}
    assert "are kept" in command("restore", file, "--replace", "--keep-tokens")
    assert lets_in(session) == {"token", "agent"}
    assert "are revoked" in command("restore", file, "--replace")
    assert lets_in(session) == set()


def test_others_that_are_connected_are_not_robbed(site, tmp_path, postgresql):
    file = tmp_path / "mine.pmweb-backup"
    command("backup", file)
    with (
        postgresql.connect(connection.settings_dict["NAME"]),
        pytest.raises(CommandError, match=r"1 other connections to .* are open: stop"),
    ):
        command("restore", file, "--replace")
    assert Run.objects.count() == 0


def test_one_moment_is_backed_up_while_others_write(site, tmp_path):
    """Events and the number of the next one belong together: in the back-up they fit."""
    run = site.count("busy")
    lease = leases.claim("w")
    stop = threading.Event()

    def write():
        step = 0
        while not stop.is_set():
            step += 1
            journal.append(lease, [("generation", {"generation": step})])
        connection.close()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        command("backup", tmp_path / "mine.pmweb-backup")
    finally:
        stop.set()
        writer.join()
    written = RunEvent.objects.count()
    command("restore", tmp_path / "mine.pmweb-backup", "--replace")
    run.refresh_from_db()
    assert run.next_seq == len(numbers(run)) + 1
    assert_journal_is_whole(run, len(payloads(run, "generation")))
    assert 0 < RunEvent.objects.count() <= written


def test_a_dump_that_cannot_be_put_back_changes_nothing(site, tmp_path, monkeypatch):
    from pmweb.backup import postgresql as dumping

    file = tmp_path / "mine.pmweb-backup"
    command("backup", file)
    site.count("one")
    monkeypatch.setattr(dumping, "_EMPTY", dumping._EMPTY + "; SELECT 1 / 0")
    with pytest.raises(CommandError, match=r"psql failed: .*division by zero"):
        command("restore", file, "--replace")
    assert Run.objects.count() == 1

"""Back-ups of SQLite: complete while others write, put back as they were, refused where unsound."""

from __future__ import annotations

import json
import shutil
import sqlite3
import stat
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from django.core.management.base import CommandError
from django.db import connections

from inference.models import Run
from pmweb.accounts import people
from pmweb.backup import sqlite
from pmweb.launcher.instance import only_instance
from tests.doors import printed
from tests.runs.fixtures import migrated, site
from tests.ways_in import LINK, lets_in, make_ways_in

__all__ = ["migrated", "site"]


@pytest.fixture
def home(site, settings) -> Iterator[Path]:
    """A site with two runs and a secret key, as the commands see it."""
    settings.HOME = site.home
    (site.home / "secret-key").write_text("the key")
    site.count("one")
    site.count("two")
    # Not the `monkeypatch` of the test: pytest-django asks for that first, so it would outlive the site's own
    # patch of the name and leave the file's name to all tests that follow.
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(settings.DATABASES["default"], "NAME", site.home / "pmweb.sqlite3")
        yield site.home


def names(database: Path) -> list[str]:
    with closing(sqlite3.connect(database)) as rows:
        return [name for (name,) in rows.execute("SELECT name FROM inference_run ORDER BY id")]


def changed(source: Path, target: Path, **parts: bytes) -> Path:
    """A copy of a back-up in which some parts are others."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            new.writestr(name, parts.get(name.partition(".")[0], old.read(name)))
    return target


def test_what_was_backed_up_comes_back_and_what_was_there_is_kept(home, tmp_path):
    file = tmp_path / "mine.pmweb-backup"
    assert "rows of" in printed("backup", file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    Run.objects.filter(name="one").delete()
    (home / "secret-key").write_text("another key")
    connections.close_all()
    with pytest.raises(CommandError, match="--replace puts the back-up in its place"):
        printed("restore", file)
    assert names(home / "pmweb.sqlite3") == ["two"]
    assert "is kept as" in printed("restore", file, "--replace")
    assert names(home / "pmweb.sqlite3") == ["one", "two"]
    assert (home / "secret-key").read_text() == "the key"
    (kept,) = home.glob("pmweb.sqlite3.before-*")
    assert names(kept) == ["two"]
    assert not list(home.glob(".restore-*"))


def test_into_an_empty_directory_it_needs_no_leave(home, tmp_path, settings):
    file = tmp_path / "mine.pmweb-backup"
    printed("backup", file)
    settings.HOME = tmp_path / "new"
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(settings.DATABASES["default"], "NAME", settings.HOME / "pmweb.sqlite3")
        printed("restore", file)
    assert names(settings.HOME / "pmweb.sqlite3") == ["one", "two"]
    assert stat.S_IMODE((settings.HOME / "secret-key").stat().st_mode) == 0o600


def test_a_back_up_that_is_put_back_lets_nobody_in(home, tmp_path):
    session = make_ways_in()
    file = tmp_path / "stolen.pmweb-backup"
    printed("backup", file)
    assert lets_in(session) == {"session", "link", "token", "agent"}
    said = printed("restore", file, "--replace")
    assert lets_in(session) == set()
    assert "all tokens of programs and agents are revoked: `manage.py login-link` prints a way in" in said


def test_a_link_that_was_used_after_the_back_up_is_not_unused_again(home, tmp_path):
    session = make_ways_in()
    printed("backup", tmp_path / "mine.pmweb-backup")
    assert people.redeem(LINK) is not None
    connections.close_all()
    printed("restore", tmp_path / "mine.pmweb-backup", "--replace")
    assert "link" not in lets_in(session)


def test_tokens_are_kept_where_that_is_asked_for_which_is_said(home, tmp_path):
    session = make_ways_in()
    file = tmp_path / "mine.pmweb-backup"
    printed("backup", file)
    connections.close_all()
    said = printed("restore", file, "--replace", "--keep-tokens")
    assert lets_in(session) == {"token", "agent"}
    assert "Tokens of programs and agents are kept" in said


def test_a_running_site_is_left_alone(home, tmp_path):
    file = tmp_path / "mine.pmweb-backup"
    printed("backup", file)
    with (
        only_instance(home),
        pytest.raises(CommandError, match="Stop the site before you replace its database"),
    ):
        printed("restore", file, "--replace")


def test_a_database_that_somebody_else_has_open_stays_where_it_is(home, tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite, "_LOCK_TIMEOUT", 0.2)
    file = tmp_path / "mine.pmweb-backup"
    printed("backup", file)
    connections.close_all()
    with closing(sqlite3.connect(home / "pmweb.sqlite3")) as other:
        other.execute("SELECT count(*) FROM inference_run").fetchone()
        with pytest.raises(CommandError, match=r"another program has .* open"):
            printed("restore", file, "--replace")
    assert names(home / "pmweb.sqlite3") == ["one", "two"]


def test_what_is_being_written_meanwhile_is_there_whole_or_not_at_all(home, tmp_path):
    with sqlite3.connect(home / "pmweb.sqlite3", isolation_level=None) as writer:
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("UPDATE inference_run SET name = name || '!'")
        printed("backup", tmp_path / "mine.pmweb-backup")
        writer.execute("ROLLBACK")
    with zipfile.ZipFile(tmp_path / "mine.pmweb-backup") as packed:
        (tmp_path / "copy").write_bytes(packed.read("database"))
    assert names(tmp_path / "copy") == ["one", "two"]


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"database": b"another"}, "is damaged: the dump has another checksum"),
        ({"manifest": b"{}"}, "is no back-up of pmweb"),
        ({"manifest": b"["}, "is no back-up of pmweb, or a damaged one"),
        (
            {"manifest": json.dumps({"product": "pmweb", "format": 9, "version": "99.0"}).encode()},
            "needs version 99.0",
        ),
        ({"manifest": json.dumps({"product": "pmweb", "format": 1}).encode()}, "malformed manifest"),
    ],
)
def test_a_file_that_is_not_sound_changes_nothing(home, tmp_path, parts, said):
    printed("backup", tmp_path / "mine.pmweb-backup")
    bad = changed(tmp_path / "mine.pmweb-backup", tmp_path / "bad.pmweb-backup", **parts)
    with pytest.raises(CommandError, match=said):
        printed("restore", bad, "--replace")
    assert names(home / "pmweb.sqlite3") == ["one", "two"]
    assert not list(home.glob("pmweb.sqlite3.before-*"))


def manifest_of(file: Path) -> dict:
    with zipfile.ZipFile(file) as packed:
        return json.loads(packed.read("manifest.json"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda facts: facts["rows"].update(inference_run=3),
            "the table inference_run has 2 rows, and the back-up 3",
        ),
        (
            lambda facts: facts["migrations"].append("inference.9999_later"),
            "does not know inference.9999_later",
        ),
        (lambda facts: facts.update(database="postgresql"), "is of a postgresql database"),
    ],
)
def test_a_manifest_that_does_not_fit_changes_nothing(home, tmp_path, change, said):
    file = tmp_path / "mine.pmweb-backup"
    printed("backup", file)
    facts = manifest_of(file)
    change(facts)
    bad = changed(file, tmp_path / "bad.pmweb-backup", manifest=json.dumps(facts).encode())
    with pytest.raises(CommandError, match=said):
        printed("restore", bad, "--replace")
    assert not list(home.glob("pmweb.sqlite3.before-*"))


def test_a_truncated_file_is_no_back_up(home, tmp_path):
    file = tmp_path / "mine.pmweb-backup"
    printed("backup", file)
    file.write_bytes(file.read_bytes()[:-200])
    with pytest.raises(CommandError, match="no back-up of pmweb, or a damaged one"):
        printed("restore", file, "--replace")


def test_of_a_directory_the_newest_are_kept(home, tmp_path):
    directory = tmp_path / "backups"
    for k in range(4):
        printed("backup", "--directory", directory, "--keep", 2)
        (made,) = set(directory.iterdir()) - set(directory.glob("old-*"))
        shutil.move(made, directory / f"old-{k}.pmweb-backup")
    printed("backup", "--directory", directory, "--keep", 2)
    assert len(list(directory.iterdir())) == 2
    assert (directory / "old-3.pmweb-backup").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "name the target of the back-up"),
        (["a", "--directory", "b"], "name the target of the back-up"),
        (["a", "--keep", "3"], "--keep N goes with --directory"),
        (["--directory", "b", "--keep", "0"], "at least 1"),
    ],
)
def test_what_makes_no_sense_is_said(home, arguments, said):
    with pytest.raises(CommandError, match=said):
        printed("backup", *arguments)


def test_a_back_up_replaces_no_file(home, tmp_path):
    (tmp_path / "there").write_text("mine")
    with pytest.raises(CommandError, match="exists already"):
        printed("backup", tmp_path / "there")

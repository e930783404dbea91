"""Getting the data directory ready: only what has changed."""

from __future__ import annotations

import pytest
from django.db import OperationalError

from pmweb.launcher import prepare
from pmweb.launcher.supervisor import LaunchError


@pytest.fixture
def static_source(tmp_path, settings):
    """A directory of static files in place of the product's."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "page.css").write_text("body { color: black }")
    settings.STATICFILES_DIRS = [source]
    settings.STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder"]
    settings.STATIC_ROOT = tmp_path / "collected"
    settings.HOME = tmp_path
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "pmweb.static_files.StaticFiles"},
    }
    return source


def hashed_names(collected) -> set[str]:
    return {path.name for path in collected.glob("page.*.css")}


def test_static_files_are_collected_once(static_source, settings, caplog):
    with caplog.at_level("INFO"):
        prepare.collect_static_files()
        prepare.collect_static_files()
    assert caplog.text.count("collecting the static files") == 1
    assert len(hashed_names(settings.STATIC_ROOT)) == 1


def test_a_changed_static_file_is_collected_again_and_the_old_one_goes(static_source, settings):
    prepare.collect_static_files()
    before = hashed_names(settings.STATIC_ROOT)
    (static_source / "page.css").write_text("body { color: white; background: black }")
    prepare.collect_static_files()
    after = hashed_names(settings.STATIC_ROOT)
    assert len(after) == 1
    assert before != after


def test_lost_collected_files_are_collected_again(static_source, settings):
    prepare.collect_static_files()
    (settings.STATIC_ROOT / "staticfiles.json").unlink()
    prepare.collect_static_files()
    assert (settings.STATIC_ROOT / "staticfiles.json").is_file()


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("database is locked", "another program holds the database"),
        ("attempt to write a readonly database", "cannot write the database"),
        ("unable to open database file", "cannot write the database"),
        ("database or disk is full", "no space left"),
        ("disk I/O error", "cannot be used: disk I/O error"),
    ],
)
def test_trouble_with_the_database_is_told_in_words(monkeypatch, said, words):
    def fail() -> None:
        raise OperationalError(said)

    monkeypatch.setattr(prepare, "migrate_database", fail)
    with pytest.raises(LaunchError, match=words):
        prepare.prepare()

"""The secret key of an installation."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from pmweb.environment import load_secret_key


def test_the_key_is_made_once_and_only_its_owner_can_read_it(tmp_path: Path):
    home = tmp_path / "new"
    first = load_secret_key(home)
    assert load_secret_key(home) == first
    assert len(first) >= 50
    assert stat.S_IMODE((home / "secret-key").stat().st_mode) == 0o600


def test_two_installations_have_different_keys(tmp_path: Path):
    assert load_secret_key(tmp_path / "one") != load_secret_key(tmp_path / "two")


def test_no_draft_of_the_key_stays_behind(tmp_path: Path):
    load_secret_key(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["secret-key"]


def test_an_unusable_directory_is_named_with_the_way_out(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(ImproperlyConfigured, match="PMWEB_HOME"):
        load_secret_key(tmp_path / "file" / "home")

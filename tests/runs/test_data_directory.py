"""Others on the computer try to read what the site has written: the directory is its owner's alone."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from django.conf import settings

from inference.runs import data_directory
from inference.runs.data_directory import _NON_OWNER_BITS, make_contents_private, make_private
from inference.runs.errors import NotPrivateError
from pmweb.launcher.instance import only_instance
from pmweb.launcher.supervisor import LaunchError

NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as somebody else")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def open_to_all(home: Path) -> list[Path]:
    """A directory as an older version has left it: database, log beside it, uploads' folder, a back-up."""
    (home / "backups" / "old").mkdir(parents=True)
    files = [home / name for name in ("pmweb.sqlite3", "pmweb.sqlite3-wal", "backups/old/a.pmweb-backup")]
    for file in files:
        file.write_text("secret")
        file.chmod(0o664)
    for folder in (home / "backups/old", home / "backups", home):
        folder.chmod(0o775)
    return files


def test_what_was_open_is_closed_at_the_start(tmp_path: Path):
    files = open_to_all(tmp_path / "home")
    outside = tmp_path / "outside"
    outside.touch(mode=0o644)
    outside.chmod(0o644)
    (tmp_path / "home/link").symlink_to(outside)
    make_contents_private(tmp_path / "home")
    assert mode(tmp_path / "home") == mode(tmp_path / "home/backups/old") == 0o700
    assert {mode(file) for file in files} == {0o600}
    assert mode(outside) == 0o644


def test_a_file_that_may_be_run_still_may_by_its_owner(tmp_path: Path):
    tool = tmp_path / "tool"
    tool.touch()
    tool.chmod(0o755)
    make_contents_private(tmp_path)
    assert mode(tool) == 0o700


def test_a_directory_that_is_new_is_closed_whatever_the_umask(tmp_path: Path):
    before = os.umask(0)
    try:
        make_private(tmp_path / "a" / "home")
    finally:
        os.umask(before)
    assert mode(tmp_path / "a" / "home") == 0o700


@contextmanager
def as_nobody() -> Iterator[None]:
    """What happens within is done as another user."""
    groups = os.getgroups()
    os.setgroups([])
    os.setegid(NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(groups)


def stolen(files: list[Path]) -> list[str]:
    """What another user gets out of these files."""
    found = []
    with as_nobody():
        for file in files:
            with suppress(PermissionError):
                found.append(file.read_text())
    return found


@as_root
def test_somebody_else_reads_nothing_not_even_what_was_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    tmp_path.chmod(0o755)
    monkeypatch.chdir(tmp_path)  # above it the tests' own directories are closed
    files = open_to_all(Path("home"))
    assert stolen(files) == ["secret"] * len(files)
    make_contents_private(Path("home"))
    assert stolen(files) == []


@as_root
def test_an_open_directory_of_somebody_else_is_refused_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    tmp_path.chmod(0o777)
    monkeypatch.chdir(tmp_path)
    said = rf"belongs to user 0, but this program runs as user {NOBODY}.*`chown -R` it, or let PMWEB_HOME"
    with as_nobody(), pytest.raises(NotPrivateError, match=said):
        make_contents_private(Path())


def test_a_file_system_without_permissions_is_refused_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    tmp_path.chmod(0o755)
    monkeypatch.setattr(Path, "chmod", lambda _path, _mode: None)  # as vfat does
    with pytest.raises(NotPrivateError, match=r"without permissions: .* PMWEB_HOME"):
        make_private(tmp_path)


def test_the_launcher_says_so_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    tmp_path.chmod(0o755)
    monkeypatch.setattr(Path, "chmod", lambda _path, _mode: None)
    with pytest.raises(LaunchError, match="other users of this computer can read"), only_instance(tmp_path):
        pass


def test_what_a_command_writes_is_its_owners_alone(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, str(settings.BASE_DIR / "manage.py"), "migrate", "--verbosity=0"],
        env={**os.environ, "PMWEB_HOME": str(tmp_path / "home")},
        umask=0,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    written = [tmp_path / "home", *(tmp_path / "home").rglob("*")]
    assert len(written) > 1
    assert [str(path) for path in written if mode(path) & _NON_OWNER_BITS] == []


def test_a_stricter_umask_is_kept():
    before = os.umask(0o177)
    try:
        data_directory.set_private_umask()
        assert os.umask(0) == 0o177
    finally:
        os.umask(before)

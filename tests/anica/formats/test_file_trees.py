"""Archives and directories are read without being trusted."""

from __future__ import annotations

import io
import os
import stat
import zipfile
from pathlib import Path

import pytest

from inference.formats import file_trees
from inference.formats.file_trees import Directory, ZipTree
from inference.formats.problems import ExchangeError


def zipped(files: dict[str, bytes], **options: int) -> io.BytesIO:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", **options) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return out


def test_a_single_directory_around_all_files_does_not_show() -> None:
    tree = ZipTree(zipped({"run/a.json": b"1", "run/sub/b.json": b"2"}), "x.zip")
    assert (tree.name, tree.names()) == ("x", ["a.json", "sub/b.json"])
    assert tree.read("sub/b.json") == b"2"
    with tree.on_disk("a.json", 10) as path:
        assert path.read_bytes() == b"1"
    assert not path.exists()


@pytest.mark.parametrize(
    "name", ["../a", "/etc/passwd", "a/../../b", "a\\..\\b", "C:a", "a//b", "./a", "a\x01b", "n" * 400]
)
def test_names_that_lead_elsewhere_are_refused(name: str) -> None:
    with pytest.raises(ExchangeError, match=r"file (named|with a name)"):
        ZipTree(zipped({name: b"x", "other": b"y"}), "x.zip")


def test_links_in_an_archive_are_refused() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        info = zipfile.ZipInfo("link")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
    with pytest.raises(ExchangeError, match="link"):
        ZipTree(out, "x.zip")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_the_same_name_twice_is_refused() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a", "1")
        archive.writestr("a", "2")
    with pytest.raises(ExchangeError, match="twice"):
        ZipTree(out, "x.zip")


def test_a_bomb_is_read_no_further_than_the_limit() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", bytes(50_000_000))
    assert len(out.getvalue()) < 100_000
    with pytest.raises(ExchangeError, match="larger than 1 MiB"):
        ZipTree(out, "x.zip").read("zeros", 1 << 20)


def test_what_all_files_unpack_to_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_trees, "MAX_BYTES", 1500)
    tree = ZipTree(zipped({"a": bytes(1000), "b": bytes(1000)}), "x.zip")
    tree.read("a")
    with pytest.raises(ExchangeError, match="unpacks to more"):
        tree.read("b")


def test_too_many_files_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(file_trees, "MAX_FILES", 2)
    with pytest.raises(ExchangeError, match="3 files"):
        ZipTree(zipped({"a": b"", "b": b"", "c": b""}), "x.zip")
    for name in "abc":
        (tmp_path / name).write_text(name)
    with pytest.raises(ExchangeError, match="more than 2 files"):
        Directory(tmp_path)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 nonsense", b"no archive"])
def test_what_is_no_archive_is_refused(content: bytes) -> None:
    with pytest.raises(ExchangeError, match="no zip archive"):
        ZipTree(io.BytesIO(content), "x.zip")


def test_a_damaged_file_is_told(tmp_path: Path) -> None:
    out = zipped({"a": b"hello hello"})
    data = bytearray(out.getvalue())
    at = data.index(b"hello")
    data[at] ^= 1
    with pytest.raises(ExchangeError, match="a in the archive x is broken"):
        ZipTree(io.BytesIO(bytes(data)), "x.zip").read("a")


def test_links_in_a_directory_are_passed_over(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    inside = tmp_path / "inside"
    (inside / "sub").mkdir(parents=True)
    (inside / "sub" / "a").write_text("a")
    (inside / "linked").symlink_to(outside)
    (inside / "file").symlink_to(outside / "secret")
    os.mkfifo(inside / "pipe")
    tree = Directory(inside)
    assert (tree.name, tree.names()) == ("inside", ["sub/a"])
    with pytest.raises(ExchangeError, match="larger"):
        tree.read("sub/a", 0)

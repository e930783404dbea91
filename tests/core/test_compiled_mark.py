"""The mark that says whether the inner loops have been compiled for this computer."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from inference.core import compiled_mark
from inference.core.compiled_mark import cache_directory, is_compiled, record_compiled


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty place for what numba compiles."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    return tmp_path


def test_it_is_there_once_it_was_made_and_goes_with_numbas_files(cache: Path) -> None:
    assert not is_compiled()
    record_compiled()
    assert is_compiled()
    for directory in cache.iterdir():
        shutil.rmtree(directory)
    assert not is_compiled()


def test_it_does_not_hold_on_another_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    record_compiled()
    monkeypatch.setattr(compiled_mark, "_processor", lambda: "another one")
    assert not is_compiled()


def test_it_does_not_hold_for_other_sources(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sources = tmp_path / "core"
    sources.mkdir()
    monkeypatch.setattr(compiled_mark, "_SOURCES", sources)
    (sources / "loops.py").write_text("x = 1")
    record_compiled()
    assert is_compiled()
    (sources / "loops.py").write_text("x = 12")
    assert not is_compiled()


def test_where_nothing_can_be_written_it_is_never_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/proc/nowhere")
    record_compiled()
    assert not is_compiled()


def test_other_sources_have_another_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sources = tmp_path / "core"
    sources.mkdir()
    monkeypatch.setattr(compiled_mark, "_SOURCES", sources)
    (sources / "called.py").write_text("x = 1")
    before = cache_directory()
    assert cache_directory() == before
    (sources / "called.py").write_text("x = 12")
    assert cache_directory() != before


def test_numba_keeps_its_files_there_and_other_installations_theirs(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numba = pytest.importorskip("numba")
    from inference.core import compiling

    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    others = cache / f"{compiled_mark.PREFIX}of-others"
    others.mkdir()
    compiling._keep_in_a_directory_of_these_sources()
    assert Path(numba.config.CACHE_DIR) == cache_directory()
    assert cache_directory().is_dir()
    assert others.is_dir()


def test_what_was_compiled_of_earlier_sources_goes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    numba = pytest.importorskip("numba")
    from inference.core import compiling

    monkeypatch.delenv("NUMBA_CACHE_DIR")
    monkeypatch.setattr(compiled_mark, "_SOURCES", tmp_path)
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    old = tmp_path / "__pycache__" / f"{compiled_mark.PREFIX}old"
    old.mkdir(parents=True)
    compiling._keep_in_a_directory_of_these_sources()
    assert not old.exists()
    assert cache_directory().is_dir()

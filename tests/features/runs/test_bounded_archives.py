"""The zip of a run takes no more memory than it is worth, and its preview less work than its import."""

from __future__ import annotations

import io
import tracemalloc
import zipfile
from collections.abc import Callable

import pytest

from inference.agent import reading as json_reading
from inference.formats import file_trees, run_archive_reading
from inference.formats.file_trees import entry_count
from inference.formats.problems import ExchangeError
from inference.formats.run_archive import set_file
from inference.formats.run_archive_reading import archive_summary, is_archive, read_archive
from inference.models import Run, Upload
from inference.runs.lifecycle import submit
from inference.storage.run_archive_writing import write_archive
from tests.features.runs.test_archive import ROWS, isa, measured
from tests.work import work_off
from tests.zips import packed, unpacked

__all__ = ["isa", "measured"]
pytestmark = pytest.mark.django_db


def bomb(files: dict[str, bytes], name: str, content: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for other, each in {**files, name: content}.items():
            archive.writestr(other, each)
    return out.getvalue()


@pytest.mark.parametrize("read", [read_archive, archive_summary])
def test_a_manifest_that_would_fill_the_memory_is_not_parsed(
    measured: Run, read: Callable[[bytes], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    files = unpacked(write_archive(measured))
    monkeypatch.setattr(json_reading.json, "loads", lambda *_, **__: pytest.fail("it was parsed"))
    many = b"[" + b"{}," * run_archive_reading.VALUE_LIMIT + b"{}]"
    with pytest.raises(ExchangeError, match=r"run\.json: there are more than [\d,]+ values and keys"):
        read(bomb(files, "run.json", many))
    with pytest.raises(ExchangeError, match=r"run\.json is larger than 32 MiB"):
        read(bomb(files, "run.json", b" " * (run_archive_reading.RUN_LIMIT + 1)))


def test_a_zip_with_a_name_that_is_no_text_is_refused(measured: Run) -> None:
    content = bomb(unpacked(write_archive(measured)), "é", b"")
    with pytest.raises(ExchangeError, match="no zip archive"):
        read_archive(content.replace("é".encode(), b"\xff\xff"))


def test_lines_are_read_one_at_a_time_and_have_an_end(measured: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    files = unpacked(write_archive(measured))
    monkeypatch.setattr(run_archive_reading, "LINE_LIMIT", 1 << 20)
    with pytest.raises(ExchangeError, match=r"events\.jsonl, line 1 is larger than 1 MiB"):
        read_archive(bomb(files, "events.jsonl", b"x" * (3 << 20)))
    tracemalloc.start()
    with pytest.raises(ExchangeError, match=r"events\.jsonl has more than 200,000 lines"):
        read_archive(bomb(files, "events.jsonl", b"\n" * (32 << 20)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40 << 20, "of which the bytes of this test are most"


def test_a_zip_with_endless_files_is_not_opened(measured: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    content = write_archive(measured)
    monkeypatch.setattr(file_trees, "MAX_FILES", 2)
    assert not is_archive(content)
    with pytest.raises(ExchangeError, match="of 2 at most"):
        read_archive(content)


def test_a_glimpse_counts_what_an_import_would_read(measured: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    content = write_archive(measured)
    archive, glimpse = read_archive(content), archive_summary(content)
    assert glimpse.manifest == archive.manifest
    assert (glimpse.rows, glimpse.events) == (len(ROWS), len(archive.events))
    sets = {set_file(row.description.id): len(row.measured) for row in archive.sets}
    assert glimpse.measurements == sets
    monkeypatch.setattr(run_archive_reading, "ROW_LIMIT", 2)
    with pytest.raises(ExchangeError, match="more than 2 lines"):
        archive_summary(content)
    monkeypatch.setattr(run_archive_reading, "UNPACKED_LIMIT", len(unpacked(content)["run.json"]))
    with pytest.raises(ExchangeError, match="unpacks to more"):
        archive_summary(content)


def test_an_import_says_what_a_glimpse_did_not_see(measured: Run) -> None:
    files = unpacked(write_archive(measured))
    content = packed({**files, "events.jsonl": b"nonsense\n"})
    assert archive_summary(content).events == 1
    upload = Upload.objects.create(file_name="measured.zip", beginning=content, sha256="0" * 64)
    run = submit("import", {"upload": upload.pk}, "import it")
    work_off(run)
    assert run.state == "failed"
    assert "events.jsonl, line 1" in run.error


def test_files_are_counted_wherever_pieces_of_the_zip_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    content = packed({f"{number}.txt": b"x" * number for number in range(50)})
    for piece in (1, 2, 3, 7, 4096):
        monkeypatch.setattr(file_trees, "_PIECE", piece)
        file = io.BytesIO(content)
        assert entry_count(file) == 50
        assert file.tell() == 0


def test_neither_is_the_zip_of_a_campaign(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_trees, "MAX_FILES", 2)
    content = io.BytesIO(bomb({"a": b"", "b": b""}, "c", b""))
    monkeypatch.setattr(file_trees.zipfile, "ZipFile", lambda _: pytest.fail("it was opened"))
    with pytest.raises(ExchangeError, match="has 3 files, of 2 at most"):
        file_trees.ZipTree(content, "c.zip")

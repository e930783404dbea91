"""Every reader takes whatever it is given for values or refuses it: hostile files by hand, and drawn ones."""

from __future__ import annotations

import gzip
import io
import json
import sqlite3
import stat
import struct
import zipfile
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from anica_app.formats.anica_measurements import open_measurements
from benchmarks._input_importers import IMPORTERS, Importer
from benchmarks.hostile import input_of, outcome_of
from inference.agent.protocol import Beat, Result
from inference.agent.reading import ProtocolError
from inference.formats.file_trees import ZipTree
from inference.formats.import_formats import bytes_to_store
from inference.formats.parsing import AnyNames, parse
from inference.formats.problems import ExchangeError
from inference.formats.run_archive_reading import read_archive
from inference.isa.blocks import BlockError, block_of_text
from pmweb.backup import archive, sqlite
from pmweb.backup.archive import BackupError
from tests.anica.formats.published import write_measurements
from tests.zips import packed, unpacked

pytestmark = pytest.mark.django_db
DRAWN = 25
DEEP = 100_000
LAUGHS = b"".join(b'<!ENTITY l%d "%s">' % (n, b"&l%d;" % (n - 1) * 10) for n in range(1, 10))


FILES = {
    "nothing": b"",
    "a NUL": b"experiment,cycles\na\0b,1\n",
    "no UTF-8": b"experiment,cycles\n\xff\xfe,1\n",
    "UTF-16": "experiment,cycles\na,1\n".encode("utf-16"),
    "a byte order mark alone": b"\xef\xbb\xbf",
    "half a character": b"experiment,cycles\n\xed\xa0\x80,1\n",
    "half a character in JSON": b'[["\\ud800", "\\udfff"]]',
    "a NUL in JSON": b'{"kind": "Mapping3", "a\\u0000b": 1}',
    "deep lists": b"[" * DEEP + b"]" * DEEP,
    "deep objects": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "almost too deep": b'{"a": [{"measurements": {"SKL": %s1%s}}]}' % (b"[" * 960, b"]" * 960),
    "an endless number": b'{"kind": "ExperimentList", "exps": ' + b"9" * 10_000 + b"}",
    "no finite numbers": b'{"kind": "ExperimentList", "exps": [NaN, 1e999, -Infinity, -0]}',
    "a million columns": b"experiment,cycles" + b",x" * 1_000_000 + b"\n",
    "a million blocks' columns": b"bb" + b",x" * 1_000_000 + b"\n",
    "an open quote": b'experiment,cycles\n"' + b"a\n" * 100_000,
    "a billion laughs": b'<!DOCTYPE x [<!ENTITY l0 "ha">' + LAUGHS + b"]><root>&l9;</root>",
    "a file of ours": b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><root>&e;</root>',
    "another server": b'<!DOCTYPE x SYSTEM "http://127.0.0.1:9/x.dtd"><root/>',
    "deep elements": b"<a>" * DEEP,
    "an endless attribute": b"<root a='" + b"x" * 3_000_000,
    "an endless tag": b"<" + b"x" * 3_000_000,
    "gzip of nothing": gzip.compress(b""),
    "half of gzip": gzip.compress(b"<root>" * 1000)[:40],
    "gzip in gzip": gzip.compress(gzip.compress(b"<root/>")),
    "an XML bomb": gzip.compress(b"<root>" + b"<a/>" * 2_000_000),
    "an empty zip": packed({}),
    "a zip of nonsense": b"PK\x03\x04" + bytes(200),
    "unknown packing": packed({"run.json": b"{}", "campaign.json": b"{}"}, zipfile.ZIP_LZMA),
}
"""No reader can make anything of these."""


@pytest.mark.parametrize(
    "importer", {each.value: each for each in IMPORTERS}.values(), ids=lambda each: each.name
)
def test_what_makes_no_sense_is_refused_by_every_reader(importer: Importer) -> None:
    outcomes = {name: outcome_of(importer, content) for name, content in FILES.items()}
    if importer.name == "rejects":  # two texts are the name of a scheme and a reason, whatever they say
        outcomes.pop("half a character in JSON")
    assert set(outcomes.values()) == {"refused"}, outcomes


@pytest.mark.parametrize("importer", IMPORTERS, ids=lambda each: each.name)
def test_what_is_drawn_is_accepted_or_refused_by_every_reader(importer: Importer) -> None:
    sound = importer.sound()
    assert {outcome_of(importer, content) for content in sound} == {"accepted"}
    found = {number: outcome_of(importer, input_of(importer.name, number, sound)) for number in range(DRAWN)}
    assert set(found.values()) <= {"accepted", "refused"}, found
    assert "refused" in found.values()


_ZIPS = ("run-archive", "campaign-archive", "anica-directory", "back-up")
ARCHIVES = [each for each in IMPORTERS if each.name in _ZIPS]


def lying(content: bytes, field: int, form: str, value: int) -> bytes:
    """The archive whose directory says something else of its first file."""
    changed = bytearray(content)
    struct.pack_into(form, changed, content.index(b"PK\x01\x02") + field, value)
    return bytes(changed)


@pytest.mark.parametrize("importer", ARCHIVES, ids=lambda each: each.name)
def test_archives_that_lie_are_refused_and_nothing_else(importer: Importer) -> None:
    sound = importer.sound()[0]
    files = unpacked(sound)
    first = next(iter(files))
    cases = {
        "encrypted": lying(sound, 8, "<H", 1),
        "of an unknown packing": lying(sound, 10, "<H", 99),
        "packed as bzip2, it says": lying(sound, 10, "<H", zipfile.ZIP_BZIP2),
        "packed as LZMA, it says": lying(sound, 10, "<H", zipfile.ZIP_LZMA),
        "with another checksum": lying(sound, 16, "<L", 1),
        "larger than it is": lying(sound, 24, "<L", 0xFFFFFFF0),
        "somewhere else": lying(sound, 42, "<L", 0x7FFFFFFF),
        "without its first file": packed({name: each for name, each in files.items() if name != first}),
        "with a name that is no text": sound.replace(first.encode(), b"\xff" * len(first), 1),
    }
    outcomes = {name: outcome_of(importer, content) for name, content in cases.items()}
    assert set(outcomes.values()) <= {"accepted", "refused"}, outcomes
    assert outcomes["encrypted"] == outcomes["of an unknown packing"] == "refused"


@pytest.mark.parametrize(
    "name", ["../a", "/etc/passwd", "a/../../b", "..\\b", "C:\\a", "C:a", "a//b", "./a", "a\x01b", ""]
)
def test_no_name_in_an_archive_leads_anywhere(name: str) -> None:
    content = packed({name: b"x", "campaign.json": b"{}", "discoveries.json": b"[]"})
    with pytest.raises(ExchangeError):
        ZipTree(io.BytesIO(content), "x.zip")


def test_links_and_names_that_differ_by_case_stay_apart() -> None:
    link = packed({"a": b"/etc/passwd"}, external_attr=(stat.S_IFLNK | 0o777) << 16)
    with pytest.raises(ExchangeError, match="link"):
        ZipTree(io.BytesIO(link), "x.zip")
    tree = ZipTree(io.BytesIO(packed({"a": b"1", "A": b"2"})), "x.zip")
    assert (tree.read("a"), tree.read("A")) == (b"1", b"2"), "nothing is written where case does not count"


def test_an_archive_of_a_run_reads_no_other_names() -> None:
    (sound,) = next(each for each in IMPORTERS if each.name == "run-archive").sound()
    assert read_archive(packed({**unpacked(sound), "RUN.JSON": b"{}"})) == read_archive(sound)
    for name in ("../../etc/passwd", "C:\\x"):
        with pytest.raises(ExchangeError, match="a relative path"):
            read_archive(packed({**unpacked(sound), name: b"x"}))


def test_an_xml_bomb_is_told_from_a_table_that_is_merely_large() -> None:
    with pytest.raises(ExchangeError, match="no table of"):
        bytes_to_store(io.BytesIO(FILES["an XML bomb"]), "instructions.xml.gz")


def test_a_report_of_the_published_tool_may_be_anything() -> None:
    importer = next(each for each in IMPORTERS if each.name == "anica-directory")
    files = unpacked(importer.sound()[0])
    for value in (1, "x", True, {"a": 1}, [1], [[1]], None, 10**400, [{"per_interesting_sample_stats": 1}]):
        for name, key in (("report.json", "per_batch_stats"), ("campaign_config.json", "abstraction_config")):
            document = {**json.loads(files[name]), key: value, "seconds_passed": value}
            outcome = outcome_of(importer, packed({**files, name: json.dumps(document).encode()}))
            assert outcome in ("accepted", "refused"), (key, value, outcome)


def test_bytes_that_are_no_text_in_a_foreign_database_are_an_error_of_the_file(tmp_path: Path) -> None:
    write_measurements(path := tmp_path / "measurements.db")
    path.write_bytes(
        path.read_bytes().replace(b"source_computer", b"source_\xff\xfe\xfd\xfc\xfb\xfa\xf9\xf8")
    )
    with pytest.raises(ExchangeError), open_measurements(path, "measurements.db") as measurements:
        list(measurements.series(["one", "two"]))


def test_a_dump_that_is_no_database_is_a_damaged_back_up(tmp_path: Path) -> None:
    (tmp_path / "dump").write_bytes(b"SQLite format 3\0" + bytes(4000))
    with closing(sqlite3.connect(tmp_path / "dump")) as dump, pytest.raises(BackupError, match="damaged"):
        sqlite._check_integrity(dump, tmp_path / "dump")


def test_a_back_up_that_would_fill_the_disk_is_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.pmweb-backup"
    path.write_bytes(next(each for each in IMPORTERS if each.name == "back-up").sound()[0])
    manifest = archive.read_manifest(path)
    monkeypatch.setattr(archive.shutil, "disk_usage", lambda _: SimpleNamespace(free=100))
    with pytest.raises(BackupError, match="are needed"):
        archive.unpack(path, manifest, tmp_path / "dump")
    assert not (tmp_path / "dump").exists()


@pytest.mark.parametrize(
    ("number", "said"),
    [
        ("9" * 400, "64 bits"),
        ("0x" + "f" * 400, "64 bits"),
        ("-" + "1" * 101, "64 bits"),
        ("9" * 5000, "at most 500 characters"),
    ],
)
def test_numbers_of_hundreds_of_digits_do_not_fit_into_an_instruction(number: str, said: str) -> None:
    with pytest.raises(BlockError, match=said):
        block_of_text(f"add rax, {number}")


def test_a_complaint_about_a_message_is_shorter_than_the_message() -> None:
    for reading, given in (
        (Beat.read, {"state": "x" * 100_000}),
        (Beat.read, {"y" * 100_000: 1}),
        (Result.read, {"id": "x" * 100_000, "state": "z" * 100_000}),
    ):
        with pytest.raises(ProtocolError) as error:
            reading(given)
        assert len(str(error.value)) < 300


def test_what_a_table_leaves_out_has_names_that_can_be_stored() -> None:
    several = [{"measurements": {"SKL": "1*p0"}}, {"measurements": {"SKL": "1*p1"}}]
    document = {"add": [{"measurements": {"SKL": "1*p0"}}], "a\0b": several}
    parsed = parse(json.dumps(document).encode(), "upload.json", AnyNames())
    assert parsed.problem_count == 1
    assert "\0" not in "".join(parsed.left_out)

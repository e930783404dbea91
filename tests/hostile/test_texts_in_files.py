"""No reader of files lets a control character into a name, wherever the file has one."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator

import pytest

from benchmarks import _input_importers as importers
from benchmarks._input_importers import IMPORTERS, Importer, UnsoundError
from benchmarks.hostile import outcome_of
from inference.core.texts import is_line
from inference.formats.file_formats import FORMATS, Format
from inference.formats.import_formats import bytes_to_store
from inference.formats.problems import Problems
from inference.formats.source import read_source
from tests.zips import packed, unpacked

pytestmark = pytest.mark.django_db
TEXTLESS = {"program", "samples", "back-up", "agent-message"}
"""Machine code, and readers whose texts other tests are about."""
OTHER_PARTS = {
    *("uops-info-measured", "osaca-latencies", "winic-latencies"),
    *("instlat-latencies", "insn-bench-latencies", "agner-latencies", "agner-ports"),
}
"""Formats of files that another format reads as well, unless a part of them is chosen."""
HOSTILE = ("\n--- a/x", "\u2028x", "\u202e", "\x1b[2J", "\x85x")
_IN_WORDS = re.compile(rb"(?<=[A-Za-z])(?=[A-Za-z])")


@pytest.fixture
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is accepted has nothing in its texts but what a note may have."""

    def check(text: str) -> None:
        if any(not is_line(char) and char not in "\t\n\r" for char in text):
            raise UnsoundError(f"{ascii(text)[:80]} was let in")

    monkeypatch.setattr(importers, "_check_text", check)


@pytest.mark.parametrize(
    "importer", [each for each in IMPORTERS if each.name not in TEXTLESS], ids=lambda each: each.name
)
def test_a_hostile_character_is_refused_or_left_out(importer: Importer, strict: None) -> None:
    sound = importer.sound()
    assert {outcome_of(importer, content) for content in sound} == {"accepted"}
    outcomes = [outcome_of(importer, content) for one in sound for content in changed(one)]
    assert set(outcomes) <= {"accepted", "refused"}
    assert "refused" in outcomes


def changed(content: bytes) -> Iterator[bytes]:
    """The file with a hostile text in one of its words, one after the other; in some dozens at most."""
    if content.startswith(b"PK"):
        files = unpacked(content)
        for name in files:
            if name.endswith((".json", ".jsonl", ".csv")):
                for inner in changed_text(files[name]):
                    yield packed({**files, name: inner})
    else:
        yield from changed_text(content)


def changed_text(content: bytes) -> Iterator[bytes]:
    places = [match.start() for match in _IN_WORDS.finditer(content)]
    escaped = content.lstrip()[:1] in (b"{", b"[")
    for number, place in enumerate(places[:: max(len(places) // 40, 1)]):
        text = HOSTILE[number % len(HOSTILE)]
        inserted = json.dumps(text)[1:-1] if escaped else text
        yield content[:place] + inserted.encode() + content[place:]


@pytest.mark.parametrize(
    "known", [each for each in FORMATS if each.key not in OTHER_PARTS], ids=lambda known: known.key
)
def test_every_format_has_a_reader_that_is_tried(known: Format) -> None:
    contents = [one for each in IMPORTERS if each.name not in TEXTLESS for one in each.sound()]
    sources = [read_source(bytes_to_store(io.BytesIO(one), "x"), "x", Problems()) for one in contents]
    assert any(source is not None and known.reads(source) for source in sources), "add it to `IMPORTERS`"

"""A file that is in no known format: what it looks like, and which formats are near."""

from __future__ import annotations

import pytest

from inference.formats.import_formats import read
from inference.formats.near_formats import CLUES


def message_of(content: bytes) -> str:
    (problem,) = read(content, "upload").problems
    return problem.line("upload")


@pytest.mark.parametrize(
    ("content", "appearance", "near"),
    [
        (
            b"name,wert\nadd,1\nsub,2\n",
            "a table of 2 columns separated by commas: name, wert",
            "experiments (CSV",
        ),
        (b"a\tb\tc\n1\t2\t3\n", "a table of 3 columns separated by tabs: a, b, c", "basic blocks (CSV"),
        (b'{"kind": "Mapping2"}', "a JSON object with the key kind", "PMEvo Mapping3"),
        (
            b'[{"ports": [], "usage": {}}]',
            "a JSON list of 1 object with the keys ports, usage",
            "port mapping",
        ),
        (b"[1, 2]", "a JSON list of 2 entries", "Help"),
        (b"[]", "an empty JSON list", "Help"),
        (b"arch_code: x\nload_latency: 3\nports: 1\n", "YAML with the keys arch_code,", "OSACA"),
        (b"add rax, rbx\nimul rcx, rdx\n", "assembly, or a listing", "page of loops"),
        (b"<!DOCTYPE html>\n<p>uops</p>", "a web page", "Help"),
        (b"| a | b |\n|---|---|\n| 1 | 2 |", "a Markdown table", "Help"),
        (b"hello world", "text that begins with 'hello world'", "Help"),
        (b"\x1b[31mred\x1b[0m", "text that begins with '\\x1b[31mred\\x1b[0m'", "Help"),
    ],
)
def test_an_unknown_file_is_described(content: bytes, appearance: str, near: str) -> None:
    message = message_of(content)
    assert "the format is not recognised: this is " in message
    assert appearance in message
    assert near in message


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"%PDF-1.7\n\xe2\xe3\xcf\xd3\n", "a PDF document"),
        (b"PAR1\0\0", "a Parquet table"),
        (b"SQLite format 3\0", "an SQLite database"),
    ],
)
def test_a_binary_file_is_named(content: bytes, kind: str) -> None:
    assert kind in message_of(content)


def test_a_long_line_is_described_quickly() -> None:
    assert "the format is not recognised" in message_of(b"a," * 2_000_000 + b"\n")


def test_every_format_has_clues_of_its_own() -> None:
    assert len(set(CLUES.values())) == len(CLUES)

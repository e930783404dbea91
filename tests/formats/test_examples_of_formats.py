"""The examples of file formats in the documentation can be read."""

from __future__ import annotations

import re
from io import BytesIO
from pathlib import Path

import pytest

from inference.formats.block_tables import is_block_table, open_blocks
from inference.formats.blocks_csv import BrokenRows
from inference.formats.import_formats import read
from inference.formats.parsing import AnyNames, resolve

DOCUMENTATION = (Path(__file__).parents[2] / "docs" / "formats.md").read_text()


def example_of(heading: str) -> bytes:
    section = DOCUMENTATION.split(f"# {heading}\n", 1)[1]
    match = re.search(r"^```\w*\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert match is not None
    return match[1].encode()


@pytest.mark.parametrize(
    "heading", ["Dumps of InstLatX64", "Agner Fog's tables", "Reports of insn_bench_aarch64"]
)
@pytest.mark.parametrize("part", ["throughputs", "latencies"])
def test_the_example_of_a_table_has_numbers(heading: str, part: str) -> None:
    parsed = resolve(read(example_of(heading), "example.txt", part=part), AnyNames())
    assert parsed.lines() == []
    assert len(parsed.measured) >= 3 if part == "throughputs" else len(parsed.latencies) >= 2


def test_the_example_of_vectors_has_numbers_in_modes() -> None:
    parsed = resolve(read(example_of("Tables of rvv-bench"), "index.html"), AnyNames())
    assert parsed.lines() == []
    assert len(parsed.measured) == 6


@pytest.mark.parametrize(
    "heading",
    [
        "Output of nanoBench",
        "Tables of uarch-bench",
        "Basic blocks CSV",
        "Blocks by machine",
        "Blocks of gematria",
        "Predictions of llvm-mca",
    ],
)
def test_the_example_of_blocks_has_blocks(heading: str) -> None:
    content = example_of(heading)
    assert is_block_table(content)
    blocks = open_blocks(BytesIO(content), "example.txt", BrokenRows.STOP)
    assert len(list(blocks.rows())) >= 2
    assert not blocks.problems

"""Opens a file with blocks and numbers by its content, whichever of the formats it is in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import BinaryIO

from inference.formats import gematria_blocks, mca_json, nanobench_output, uarch_bench_tables
from inference.formats.block_entries import BlockEntries, ListedBlocks
from inference.formats.blocks_csv import BlockFile, BrokenRows, is_block_csv
from inference.formats.machine_tables import TITLE as MACHINE_TABLES
from inference.formats.machine_tables import is_machine_table, machine_of, read_machine_table
from inference.formats.problems import Problems

PEEK = 8192
"""Bytes at the beginning from which the format is detected."""


@dataclass(frozen=True)
class BlockFormat:
    """A format of files that list blocks.

    Attributes:
        recognises: From the first bytes of a file.
        read: Of (content, file name, problems).
    """

    title: str
    recognises: Callable[[bytes], object]
    read: Callable[[bytes, str, Problems], BlockEntries]


_GEMATRIA = BlockFormat(
    gematria_blocks.TITLE,
    gematria_blocks.BEGINNING.match,
    lambda content, _, problems: gematria_blocks.read_gematria(content, problems),
)
_MCA = BlockFormat(mca_json.TITLE, mca_json.BEGINNING.match, mca_json.read_mca_json)
BLOCK_FORMATS = (
    _GEMATRIA,
    _MCA,
    BlockFormat(
        nanobench_output.TITLE,
        nanobench_output.is_nanobench,
        lambda content, _, problems: nanobench_output.read_nanobench(content, problems),
    ),
    BlockFormat(
        uarch_bench_tables.TITLE,
        uarch_bench_tables.is_uarch_bench,
        lambda content, _, problems: uarch_bench_tables.read_uarch_bench(content, problems),
    ),
)
"""In the order of their detection."""

TABLE_TITLES = (*(block_format.title for block_format in BLOCK_FORMATS), MACHINE_TABLES)
"""Titles of the formats besides CSV with a column per tool."""


def is_block_table(beginning: bytes) -> bool:
    """Whether a file that begins with these bytes has blocks and numbers, even if it has problems."""
    first = beginning[:PEEK]
    listed = any(block_format.recognises(first) for block_format in BLOCK_FORMATS)
    return listed or is_machine_table(first) or is_block_csv(first)


def open_blocks(file: BinaryIO, file_name: str, broken: BrokenRows) -> BlockFile:
    """The rows of a file at its beginning; problems are noted in them."""
    first = file.read(PEEK)
    file.seek(0)
    problems = Problems()
    for block_format in BLOCK_FORMATS:
        if block_format.recognises(first):
            return ListedBlocks(block_format.read(file.read(), file_name, problems), broken, problems)
    if is_machine_table(first):
        return ListedBlocks(read_machine_table(file, problems), broken, problems)
    blocks = BlockFile(file, broken)
    machine, columns = machine_of(file_name), blocks.columns
    if machine and columns is not None and not columns.titled and len(columns.names) == 1:
        blocks.columns = replace(columns, names=(machine,))
    return blocks


def beginning_of(file: BinaryIO, limit: int) -> bytes:
    """The first blocks of a file, about `limit` bytes of it; all of a report in JSON, which has no parts."""
    content = file.read(limit + 1)
    if len(content) <= limit:
        return content
    if _MCA.recognises(content):
        return content + file.read()
    mark = b"\nbasic_blocks" if _GEMATRIA.recognises(content) else b"\n"
    return content[: content.rfind(mark, 0, limit) + 1 or limit]

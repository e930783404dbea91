"""Opens a file with blocks and numbers by its content, whichever of the formats it is in."""

from __future__ import annotations

from dataclasses import replace
from typing import BinaryIO

from inference.formats.block_entries import ListedBlocks
from inference.formats.blocks_csv import BlockFile, BrokenRows, is_block_csv
from inference.formats.gematria_blocks import BEGINNING as GEMATRIA
from inference.formats.gematria_blocks import read_gematria
from inference.formats.machine_tables import is_machine_table, machine_of, read_machine_table
from inference.formats.mca_json import BEGINNING as MCA
from inference.formats.mca_json import read_mca_json
from inference.formats.nanobench_output import is_nanobench, read_nanobench
from inference.formats.problems import Problems
from inference.formats.uarch_bench_tables import is_uarch_bench, read_uarch_bench

PEEK = 8192
"""Bytes at the beginning from which the format is detected."""


def is_block_table(beginning: bytes) -> bool:
    """Whether a file that begins with these bytes has blocks and numbers, even if it has problems."""
    first = beginning[:PEEK]
    if GEMATRIA.match(first) or MCA.match(first) or is_nanobench(first) or is_uarch_bench(first):
        return True
    return is_machine_table(first) or is_block_csv(first)


def open_blocks(file: BinaryIO, file_name: str, broken: BrokenRows) -> BlockFile:
    """The rows of a file at its beginning; problems are noted in them."""
    first = file.read(PEEK)
    file.seek(0)
    problems = Problems()
    if GEMATRIA.match(first):
        return ListedBlocks(read_gematria(file.read(), problems), broken, problems)
    if MCA.match(first):
        return ListedBlocks(read_mca_json(file.read(), file_name, problems), broken, problems)
    if is_nanobench(first):
        return ListedBlocks(read_nanobench(file.read(), problems), broken, problems)
    if is_uarch_bench(first):
        return ListedBlocks(read_uarch_bench(file.read(), problems), broken, problems)
    if is_machine_table(first):
        return ListedBlocks(read_machine_table(file, problems), broken, problems)
    blocks = BlockFile(file, broken)
    machine, columns = machine_of(file_name), blocks.columns
    if machine and columns is not None and not columns.titled and len(columns.names) == 1:
        blocks.columns = replace(columns, names=(machine,))
    return blocks


def beginning_of(content: bytes, limit: int) -> bytes:
    """The first blocks of a file, about `limit` bytes of it; all of a report in JSON, which has no parts."""
    if len(content) <= limit or MCA.match(content):
        return content
    mark = b"\nbasic_blocks" if GEMATRIA.match(content) else b"\n"
    return content[: content.rfind(mark, 0, limit) + 1 or limit]

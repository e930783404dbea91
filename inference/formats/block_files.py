"""Which kind of file with machine code a file is: blocks, a program, or what a tool printed of one."""

from __future__ import annotations

from enum import StrEnum

from inference.formats import block_sets
from inference.formats.blocks_csv import is_block_csv
from inference.formats.listed_loops import is_listing
from inference.formats.other_formats import BEGINNING
from inference.formats.perf_texts import is_script
from inference.isa.blocks.programs import is_binary


class BlockFileSort(StrEnum):
    """What a file brings that becomes a basic-block set, by its format."""

    BLOCKS = block_sets.TITLE
    PROGRAM = "compiled program"
    LISTING = "listing of machine code"
    SAMPLES = "samples of a profiler"


def block_file_of(content: bytes) -> BlockFileSort | None:
    """What a file is whose content is this or begins so; None for anything else."""
    beginning = content[:BEGINNING]
    if is_binary(beginning):
        return BlockFileSort.PROGRAM
    text = beginning.decode("utf-8-sig", "replace")
    if is_listing(text):
        return BlockFileSort.LISTING
    if is_script(text):
        return BlockFileSort.SAMPLES
    return BlockFileSort.BLOCKS if is_block_csv(beginning) else None

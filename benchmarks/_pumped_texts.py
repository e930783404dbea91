"""Texts of one word, repeated: what an ambiguous pattern reads in ever more ways."""

from __future__ import annotations

from itertools import product

from benchmarks._reader_worker import MAX_PIECES, MAX_SECONDS
from benchmarks._survey import Survey
from benchmarks._text_mutations import PUMPED_WORDS

BEGINNINGS = ("", "bb,a tool\n", "  401000:\t", "mov rax, [", "mode: ", "x 1 1.0: cycles: ")
ENDS = ("", "zz", "!\n?")
LENGTHS = (58, 2_000, 60_000)  # characters


def pumped_texts() -> list[str]:
    """All of them: some two thousand."""
    choices = product(PUMPED_WORDS, BEGINNINGS, ENDS, LENGTHS)
    return [begin + word * (length // len(word)) + end for word, begin, end, length in choices]


def pumped(seed: int, many: int) -> Survey:
    """Recognise, parse and read so many of them in this process, evenly chosen."""
    survey = Survey("pumped", seed, MAX_SECONDS)
    texts = pumped_texts()
    for text in texts[:: max(1, len(texts) // many)]:
        for reader in (_recognised, _parsed, _read):
            survey.count(survey.attempt(lambda text=text, reader=reader: reader(text)), text[:500])  # type: ignore[misc]
    return survey


def _recognised(text: str) -> str:
    from inference.formats.block_files import block_file_of

    return f"taken for: {block_file_of(text.encode())}"


def _parsed(text: str) -> str:
    from inference.formats.import_formats import read

    return f"parsed as: {getattr(read(text.encode(), 'pumped').format, 'key', None)}"


def _read(text: str) -> str:
    from inference.isa.blocks import BlockError, read

    try:
        return f"{bool(read(text, MAX_PIECES).pieces)} read"
    except BlockError:
        return "refused"

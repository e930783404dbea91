"""Texts of one word, repeated: what an ambiguous pattern reads in ever more ways.

The words are those by which `.ci/patterns` has shown a pattern of this program to be ambiguous, and a few
more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchmarks._reader_worker import MOST, Findings, judge

WORDS = (
    *("aa", "0", "00 ", "0 00 0", "0,", ",0", ",_0", "a ", "\t", " \t", "\n", "\n\t", "|\t", "|", ".", "..a"),
    *(
        "[0",
        "[[",
        "(\0",
        "( ",
        "<(",
        "MEM[00",
        "nd_",
        "i0",
        " → x",
        "_0",
        "0x",
        r"\x",
        "a:",
        " :",
        "%rax,",
        "+ ",
    ),
    *("- ", "'", '"', r"\"", "/*", "# ", "def:InstRW<[0", "<MCOperand 0:", "samples ", "0.0 : ", "key: "),
    *(
        "PERF_RECORD_MMAP 0/0: [0x0(0x0) @ 0]: 0 0",
        "number of surplus uops (0):[",
        "uops were characterized for ",
    ),
)
BEGINNINGS = ("", "bb,a tool\n", "  401000:\t", "mov rax, [", "mode: ", "x 1 1.0: cycles: ")
ENDS = ("", "zz", "!\n?")
LENGTHS = (58, 2_000, 60_000)


def pumped_texts() -> Iterator[str]:
    """All of them: some two thousand."""
    for word in WORDS:
        for beginning in BEGINNINGS:
            for end in ENDS:
                for length in LENGTHS:
                    yield beginning + word * (length // len(word)) + end


def pumped(many: int) -> Findings:
    """Recognise and read so many of them in this process, evenly chosen."""
    findings = Findings()
    texts = list(pumped_texts())
    for text in texts[:: max(1, len(texts) // many)]:
        for reader in _readers():
            judge(text, lambda text=text, reader=reader: reader(text), findings)  # type: ignore[misc]
    return findings


def _readers() -> tuple[Callable[[str], str], ...]:
    return _recognised, _parsed, _read


def _recognised(text: str) -> str:
    from inference.formats.block_files import block_file_of

    return f"taken for: {block_file_of(text.encode())}"


def _parsed(text: str) -> str:
    from inference.formats.import_formats import read

    return f"parsed as: {getattr(read(text.encode(), 'pumped').format, 'key', None)}"


def _read(text: str) -> str:
    from inference.isa.blocks import BlockError, read

    try:
        return f"{bool(read(text, MOST).pieces)} read"
    except BlockError:
        return "refused"

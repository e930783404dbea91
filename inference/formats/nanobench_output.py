"""Output of nanoBench in a shell, with its commands, as blocks with cycles; see docs/formats.md.

    sudo ./nanoBench.sh -asm "ADD RAX, RBX; ADD RBX, RAX" -config configs/cfg_Skylake_common.txt
    CORE_CYCLES: 2.00
    INST_RETIRED: 2.00

The output does not repeat the code, which is taken from the command before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from inference.formats.block_entries import BlockEntries, BlockEntry
from inference.formats.problems import Problems

TITLE = "output of nanoBench"
COLUMN = "nanoBench"
_COMMAND = re.compile(rb"nano[bB]ench\.(?:sh|py) ")
_LINE = re.compile(r"nano[bB]ench\.(?:sh|py) ")
_CODE = re.compile(r" -asm[ =] ?(?:\"([^\"]{1,20000})\"|'([^']{1,20000})')")
_COUNTER = re.compile(r"\s{0,20}([A-Z][\w.]{0,80}(?: [\w.]{1,80}){0,4}): (-?\d{1,12}\.\d{1,6})\s*")
_CYCLES = ("CORE_CYCLES", "Core cycles", "APERF")
"""Names of the counter of the core's cycles: on Intel, in releases until 2020, on AMD."""

_UNNORMALISED = re.compile(r" -no_n\w* ?")
_EXPECTED = "a command `nanoBench.sh -asm '…'` and the counters below it are expected"


def is_nanobench(beginning: bytes) -> bool:
    """Whether a text has a command of nanoBench with its code."""
    return b" -asm" in beginning and bool(_COMMAND.search(beginning))


def read_nanobench(content: bytes, problems: Problems) -> BlockEntries:
    """Read the measurements; problems are noted."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        problems.add("the text is not UTF-8", _EXPECTED)
        return BlockEntries(TITLE)
    return BlockEntries(TITLE, tuple(_entries(text)))


def _entries(text: str) -> Iterator[BlockEntry]:
    command, first_line = "", 0
    counters: dict[str, float] = {}
    for line, printed in enumerate([*text.splitlines(), "nanoBench.sh "], start=1):
        if _LINE.search(printed):
            if first_line:
                yield _entry(command, first_line, counters)
            command, first_line, counters = printed, line, {}
        elif match := _COUNTER.fullmatch(printed):
            counters.setdefault(match[1], float(match[2]))


def _entry(command: str, line: int, counters: dict[str, float]) -> BlockEntry:
    code = _CODE.search(command)
    if code is None:
        return BlockEntry(line, "", fault="the command has no -asm with the code in quotes")
    if _UNNORMALISED.search(command):
        return BlockEntry(line, "", fault="with -no_normalization, the cycles are not those of one execution")
    cell = "\n".join(part.strip() for part in (code[1] or code[2]).split(";") if part.strip())
    cycles = next((counters[name] for name in _CYCLES if name in counters), None)
    if cycles is None:
        named = f"{', '.join(counters)} alone" if counters else "no counter"
        return BlockEntry(line, cell, fault=f"{named}: the core's cycles are missing (option -config)"[:200])
    return BlockEntry(line, cell, {COLUMN: max(cycles, 0.0)})

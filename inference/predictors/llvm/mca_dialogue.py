"""What llvm-mca is given for a batch of blocks, and what its output says of each.

A block stands in the input as a code region, and for a rate once more with its instructions repeated, so
that one process simulates two lengths. Releases before 19 leave out a line that they cannot parse and go on,
and end at an instruction that their model lacks; later ones are told to leave out both. In either case the
number of simulated instructions gives it away: a block of which anything was left out is unsupported, never a
number.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from inference.predictors.llvm.mca_settings import LONGER, RATE, McaSettings
from inference.predictors.llvm.text import Text
from inference.predictors.protocol import Answer, Failure

_REGION = re.compile(
    rb"^\[\d+\] Code Region - (\d+)([ab])\s+Iterations: +(\d+)\s+Instructions: +(\d+)\s+Total Cycles: +(\d+)",
    re.MULTILINE,
)
_REFUSED = re.compile(rb"^<stdin>:(\d+):\d+: error: (.*)$", re.MULTILINE)
_LACKING = re.compile(rb"^(?>.*?found an unsupported instruction).*\nnote: instruction: ?(.*)", re.MULTILINE)
_SHORT, _LONG = b"a", b"b"


@dataclass(frozen=True)
class McaBatch:
    """A batch as llvm-mca's input: `iterations` of each region, `owners` the block that each line is of."""

    iterations: int
    given: bytes
    owners: tuple[int, ...]

    @classmethod
    def of(cls, texts: Sequence[Text], settings: McaSettings) -> McaBatch:
        """The question about blocks of these instructions."""
        is_rate = settings.counting == RATE
        lines: list[str] = []
        owners: list[int] = []
        for number, text in enumerate(texts):
            for suffix, repeats in (("a", 1), ("b", LONGER)) if is_rate else (("a", 1),):
                region = (f"# LLVM-MCA-BEGIN {number}{suffix}", *text * repeats, "# LLVM-MCA-END")
                lines += region
                owners += [number] * len(region)
        iterations = settings.iterations // LONGER if is_rate else settings.iterations
        return cls(iterations, ("\n".join(lines) + "\n").encode(), tuple(owners))


@dataclass(frozen=True)
class Reply:
    """`answers`: per block, None where it says nothing. `lacking`: instructions that the model lacks."""

    answers: tuple[Answer | None, ...]
    lacking: frozenset[str]


def read_reply(
    question: McaBatch, texts: Sequence[Text], settings: McaSettings, output: bytes, complaints: bytes
) -> Reply:
    """What llvm-mca said, however it ended."""
    cycles: dict[tuple[int, bytes], int] = {}
    short: set[int] = set()
    for name, suffix, iterations, instructions, total in _REGION.findall(output):
        number = int(name)
        repeats = LONGER if suffix == _LONG else 1
        if int(instructions) == len(texts[number]) * repeats * int(iterations):
            cycles[number, suffix] = int(total)
        else:
            short.add(number)
    refused = _refused(question, complaints)
    lacking = frozenset(plain(text.decode(errors="replace")) for text in _LACKING.findall(complaints))
    answers: list[Answer | None] = []
    for number, text in enumerate(texts):
        if reason := refused.get(number) or missing(text, lacking):
            answers.append(Answer(failure=Failure.UNSUPPORTED, detail=reason))
        elif number in short:
            detail = "it left out an instruction without naming it"
            answers.append(Answer(failure=Failure.UNSUPPORTED, detail=detail))
        else:
            answers.append(_counted(cycles, number, settings))
    return Reply(tuple(answers), lacking)


def missing(text: Text, lacking: Collection[str]) -> str:
    """What is to be said of a block with an instruction that the model lacks, "" for any other."""
    found = next((line for line in map(plain, text) if line in lacking), "")
    return f"its model of this processor lacks: {found}" if found else ""


def plain(instruction: str) -> str:
    """With single blanks, as a message and a listing agree on."""
    return " ".join(instruction.split())


def _refused(question: McaBatch, complaints: bytes) -> dict[int, str]:
    """{block: why a line of it cannot be parsed}."""
    found: dict[int, str] = {}
    for line, reason in _REFUSED.findall(complaints):
        if 1 <= int(line) <= len(question.owners):
            found.setdefault(question.owners[int(line) - 1], reason.decode(errors="replace"))
    return found


def _counted(cycles: dict[tuple[int, bytes], int], number: int, settings: McaSettings) -> Answer | None:
    first = cycles.get((number, _SHORT))
    if settings.counting != RATE:
        return None if first is None else Answer(cycles=first / settings.iterations)
    second = cycles.get((number, _LONG))
    if first is None or second is None:
        return None
    if second < first:
        return Answer(
            failure=Failure.NO_NUMBER, detail=f"{second} cycles for {LONGER} times what takes {first}"
        )
    short = settings.iterations // LONGER
    return Answer(cycles=(second - first) / (settings.iterations - short))

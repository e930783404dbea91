"""Blocks as the assembly text of one release: its own disassembler, many blocks in one call.

Each block is decoded by itself and followed by a separator that carries its number, so bytes that a release
cannot decode never shift the text of the blocks behind them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from inference.containment import Limits, run
from inference.isa.facets import LlvmSide
from inference.predictors.protocol import Answer, Failure, PredictorError

_INVALID = re.compile(rb"^<stdin>:(\d+):\d+: warning: invalid instruction encoding", re.MULTILINE)
"""Line of bytes that are no instruction."""

_MAX_GROUP = 2000  # blocks in one input of llvm-mca

Text = tuple[str, ...]


def texts_of(mc: str, blocks: Sequence[bytes], limits: Limits, side: LlvmSide) -> list[Text | Answer]:
    """The instructions of each block in the syntax of GNU assemblers.

    Args:
        mc: The disassembler.
        blocks: Machine code.
        limits: Limits of each call.
        side: The facet of the blocks' instruction set.

    Returns:
        For each block its lines, or an answer where the release does not know the code.

    Raises:
        PredictorError: Where the disassembler does not work.
        CannotStartError: Where it is missing.
    """
    texts: list[Text | Answer] = []
    for group in _groups(blocks, side):
        texts += _disassemble(mc, group, limits, side)
    return texts


def _groups(blocks: Sequence[bytes], side: LlvmSide) -> Iterator[Sequence[bytes]]:
    """Blocks that go into one call; one that could contain a separator goes alone."""
    begin = 0
    for index, block in enumerate(blocks):
        alone = side.separator_code.search(block) is not None
        if index > begin and (alone or index - begin == _MAX_GROUP):
            yield blocks[begin:index]
            begin = index
        if alone:
            yield [block]
            begin = index + 1
    if begin < len(blocks):
        yield blocks[begin:]


def _disassemble(mc: str, blocks: Sequence[bytes], limits: Limits, side: LlvmSide) -> list[Text | Answer]:
    stdin = "".join(
        f"[{_hex_bytes(block)}]\n{_hex_bytes(side.separator(number))}\n"
        for number, block in enumerate(blocks)
    )
    command = [mc, f"-triple={side.triple}", "--disassemble"]
    command += [f"-mattr={side.every_feature}"] if side.every_feature else []
    outcome = run(command, stdin.encode(), limits=limits)
    invalid = {int(line) // 2 for line in _INVALID.findall(outcome.stderr)}
    parts = list(_parts(outcome.stdout.decode(errors="replace"), len(blocks), side))
    if len(parts) != len(blocks):
        raise PredictorError(f"{mc} does not disassemble: {outcome.last_error_line}")
    unknown = Answer(failure=Failure.UNSUPPORTED, detail="its disassembler does not know these bytes")
    return [unknown if number in invalid or not part else tuple(part) for number, part in enumerate(parts)]


def _hex_bytes(code: bytes) -> str:
    return " ".join(f"0x{byte:02x}" for byte in code)


def _parts(output: str, count: int, side: LlvmSide) -> Iterator[list[str]]:
    """The lines before each separator; within a single block, separators count as instructions."""
    part: list[str] = []
    number = 0
    lines = [line.strip() for line in output.splitlines()]
    last = max((k for k, line in enumerate(lines) if side.separator_text.fullmatch(line)), default=-1)
    prefix = ""
    for k, line in enumerate(lines):
        separator = side.separator_text.fullmatch(line)
        if separator and int(separator[1] or "0", 0) == number and (count > 1 or k == last):
            yield [*part, prefix.strip()] if prefix else part
            part, prefix = [], ""
            number += 1
        elif line in side.prefixes:  # printed on a line of its own, which would be an instruction of its own
            prefix += f"{line} "
        elif line and not line.startswith("."):
            part.append(prefix + line)
            prefix = ""

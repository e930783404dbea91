"""The instructions that machine code executes, with their reads and writes.

Jumps lead to their targets. Conditions are not computed: branches of measured codes are not taken, except
those that close an iteration, behind which nothing can be executed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from inference.isa.blocks import access_reader, block_reader
from inference.isa.code.block import MAX_BYTES, MAX_INSTRUCTIONS, Block, BlockError
from inference.isa.code.control_flow import CodeStep
from inference.isa.dependences import InstructionAccesses

_LONGEST = 16  # bytes of an instruction


@dataclass(frozen=True, slots=True)
class ExecutedCode:
    """The way through some code.

    Args:
        instructions: Instructions that are executed, in order, without jumps and branches.
        fused: Places among them of instructions that share the slot of the one behind them.
        jumps: Jumps and branches on the way that are not fused with what precedes them.
        detours: Detours that lead elsewhere, fused ones included.
        size: Bytes of all that is executed.
    """

    instructions: tuple[InstructionAccesses, ...]
    fused: frozenset[int]
    jumps: int
    detours: int
    size: int


def executed_code(code: bytes, isa: str, fusible: Collection[str], *, equal_start: bool) -> ExecutedCode:
    """Decode the way from the first byte to the end.

    Args:
        code: Without the loop around it.
        isa: Its instruction set.
        fusible: Pairs that the core fuses, named as in `FrontEndLimits`.
        equal_start: As in `inference.isa.blocks.accesses_of`.

    Raises:
        BlockError: For undecodable code, calls, and ways that never reach the end.
    """
    way = list(_way(block_reader(isa).steps_of(code)))
    steps = [step for step, _ in way]
    plain = [step.code for step in steps if step.flow == "next"]
    block = _long_block(plain, isa)
    pairs = _fused_branches(steps, isa, fusible)
    moves = access_reader(isa).fused_places(block, fusible) if plain and fusible else frozenset()
    return ExecutedCode(
        access_reader(isa).accesses_of(block, equal_start=equal_start) if plain else (),
        frozenset(moves),
        sum(step.flow != "next" for step in steps) - pairs,
        sum(leads_away for _, leads_away in way),
        sum(len(step.code) for step in steps),
    )


def _way(steps: Sequence[CodeStep]) -> Iterator[tuple[CodeStep, bool]]:
    """The executed steps, in order, and whether each leads elsewhere than to the one behind it."""
    end = steps[-1].address + len(steps[-1].code)
    numbers = {end: len(steps)} | {step.address: number for number, step in enumerate(steps)}
    number = 0
    while number < len(steps):
        step = steps[number]
        if step.flow in ("call", "end"):
            raise BlockError(f"the simulated core executes no calls, returns and traps: {step.code.hex()}")
        number += 1
        target = number
        if step.flow != "next":
            target = numbers.get(-1 if step.target is None else step.target, -1)
            if target < number:
                raise BlockError(f"a simulated jump leads forwards within its code, not {step.code.hex()}")
        closes = number < len(steps) and steps[number].flow == "end"
        leads_away = step.flow == "jump" or (step.flow == "branch" and closes)
        yield step, leads_away
        number = target if leads_away else number


def _long_block(codes: Sequence[bytes], isa: str) -> Block:
    """A block of any length: decoded in parts, since blocks of users have a limit."""
    reader = block_reader(isa)
    max_instructions = min(MAX_INSTRUCTIONS, MAX_BYTES // _LONGEST)
    parts = [
        reader.block_of_bytes(b"".join(codes[at : at + max_instructions]))
        for at in range(0, len(codes), max_instructions)
    ]
    return Block(b"".join(codes), tuple(row for part in parts for row in part.instructions))


def _fused_branches(steps: Sequence[CodeStep], isa: str, fusible: Collection[str]) -> int:
    """The number of branches that are fused with the instruction before them."""
    if not fusible:
        return 0
    reader = block_reader(isa)
    count = 0
    for first, branch in pairwise(steps):
        if first.flow == "next" and branch.flow == "branch":
            closed = reader.close_loop(first.code, branch.code)
            pairs = () if closed is None else access_reader(isa).pairs_of(reader.block_of_bytes(closed))
            count += bool(pairs) and pairs[-1] in fusible
    return count

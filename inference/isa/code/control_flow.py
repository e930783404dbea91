"""Cuts code with jumps into its loops and straight pieces.

A piece is executed from its beginning to its end. Pieces end at jumps, calls and returns, and before every
target of a jump. A *loop* is a path that ends with a jump to its own beginning and takes no other conditional
jump: such jumps lead out of it, or around parts of it that the path contains. Each instruction other than
jumps lies in exactly one piece; of nested loops the inner ones are loops, and the code around them is
straight.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

Flow = Literal["next", "jump", "branch", "call", "end"]
LOOP, STRAIGHT = "loop", "straight"
MAX_DETOURS = 50
"""Forward jumps that a loop may contain; loops with hundreds are of no interest."""


class CodeStep(NamedTuple):
    """One instruction in the order of the code.

    Attributes:
        flow: "next", "jump" (unconditional), "branch" (conditional), "call" (system calls included) or
            "end" (return, indirect jump, trap).
        target: The address of a direct jump's target, None without or where unknown.
    """

    address: int
    code: bytes
    flow: Flow
    target: int | None = None


@dataclass(frozen=True, slots=True)
class CodePath:
    """A piece: the numbers of its steps, without jumps.

    Attributes:
        closing: Number of a loop's jump to its beginning.
        ignored_branches: Numbers of the conditional jumps within a loop, which the path does not take.
    """

    steps: tuple[int, ...]
    kind: str
    closing: int | None = None
    ignored_branches: tuple[int, ...] = ()


def cut_into_pieces(steps: Sequence[CodeStep], entries: Collection[int] = ()) -> list[CodePath]:
    """The pieces of some code, in the order of their first steps.

    `entries`: addresses that begin a piece besides those that jumps lead to, such as functions and labels
    that something else may know.
    """
    numbers = {step.address: number for number, step in enumerate(steps)}
    starts = _piece_starts(steps, numbers, entries)
    pieces: list[CodePath] = []
    assigned: set[int] = set()
    stops = _stops(steps, numbers)
    heads = {numbers[step.target] for step in steps if step.target is not None and _is_back(step, numbers)}
    for first in sorted(heads):
        if (loop := _loop_from(first, steps, numbers, stops)) is not None and assigned.isdisjoint(loop.steps):
            pieces.append(loop)
            assigned.update(loop.steps, loop.ignored_branches, [loop.closing or 0])
    for first in sorted(starts):
        piece = []
        for number in range(first, len(steps)):
            if number in assigned or (number in starts and number != first):
                break
            if steps[number].flow != "next":
                break
            piece.append(number)
        if piece:
            pieces.append(CodePath(tuple(piece), STRAIGHT))
    return sorted(pieces, key=lambda piece: piece.steps[0])


def _piece_starts(steps: Sequence[CodeStep], numbers: dict[int, int], entries: Collection[int]) -> set[int]:
    starts = {0} if steps else set()
    starts |= {numbers[address] for address in entries if address in numbers}
    for number, step in enumerate(steps):
        if step.target in numbers:
            starts.add(numbers[step.target])
        follows = number + 1 < len(steps) and steps[number + 1].address != step.address + len(step.code)
        if (step.flow != "next" or follows) and number + 1 < len(steps):
            starts.add(number + 1)
    return starts


def _stops(steps: Sequence[CodeStep], numbers: dict[int, int]) -> list[int]:
    """For each step, the number of the first step from it on that a path cannot pass, or of the end.

    Such steps are calls, returns, jumps, backward branches, and those before missing code.
    """
    stops = [len(steps)] * (len(steps) + 1)
    for number in range(len(steps) - 1, -1, -1):
        step = steps[number]
        is_passed = step.flow == "next" or (step.flow == "branch" and not _is_back(step, numbers))
        is_adjacent = number + 1 < len(steps) and steps[number + 1].address == step.address + len(step.code)
        stops[number] = stops[number + 1] if is_passed and is_adjacent else number
    return stops


def _is_back(step: CodeStep, numbers: dict[int, int]) -> bool:
    return (
        step.flow in ("jump", "branch")
        and step.target is not None
        and step.target <= step.address
        and step.target in numbers
    )


def _loop_from(
    first: int, steps: Sequence[CodeStep], numbers: dict[int, int], stops: list[int]
) -> CodePath | None:
    """The loop that begins with this step; None unless its path meets no other backward jump and no call."""
    start = steps[first].address
    parts: list[range] = []
    number = first
    for _ in range(MAX_DETOURS):
        stop = stops[number]
        if stop == len(steps):
            return None
        parts.append(range(number, stop))
        step = steps[stop]
        if step.flow in ("jump", "branch") and step.target == start:
            passed = [index for part in parts for index in part]
            path = tuple(index for index in passed if steps[index].flow == "next")
            branches = tuple(index for index in passed if steps[index].flow == "branch")
            return CodePath(path, LOOP, stop, branches) if path else None
        if step.flow != "jump" or step.target is None or step.target <= step.address:
            return None
        if step.target not in numbers:
            return None
        number = numbers[step.target]
    return None

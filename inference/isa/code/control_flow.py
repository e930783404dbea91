"""Code with jumps, cut into its loops and straight pieces.

A piece is what is executed from its beginning to its end. Pieces end at jumps, calls and returns, and before
every instruction that a jump leads to. A *loop* is a path that ends with a jump to its own beginning and
takes no other jump of a condition: such jumps lead out of it, or around parts of it that the path has. Each
instruction that is no jump lies in exactly one piece; of nested loops the inner ones are loops, what is
around them is straight.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

Flow = Literal["next", "jump", "branch", "call", "end"]
LOOP, STRAIGHT = "loop", "straight"
MOST_DETOURS = 50
"""Jumps forward that a loop may have. With hundreds it is no loop that anybody looks at."""


class CodeStep(NamedTuple):
    """One instruction in the order of the code.

    `flow`: "next", "jump" (unconditional), "branch" (conditional), "call" (what comes back: system calls too)
    or "end" (return, indirect jump, what traps). `target`: the address that a direct jump
    leads to, None where there is none or nobody knows it.
    """

    address: int
    code: bytes
    flow: Flow
    target: int | None = None


@dataclass(frozen=True, slots=True)
class Cut:
    """A piece: the numbers of its steps, without jumps.

    `closing`: of a loop, the number of the jump to its beginning. `left_out`: numbers of the conditional
    jumps within a loop, which the path does not take.
    """

    steps: tuple[int, ...]
    kind: str
    closing: int | None = None
    left_out: tuple[int, ...] = ()


def cut(steps: Sequence[CodeStep], entries: Collection[int] = ()) -> list[Cut]:
    """The pieces of some code, in the order of their first steps.

    `entries`: addresses that begin a piece besides those that jumps lead to, such as functions and labels
    that something else may know.
    """
    numbers = {step.address: number for number, step in enumerate(steps)}
    begins = _begins(steps, numbers, entries)
    found: list[Cut] = []
    taken: set[int] = set()
    stops = _stops(steps, numbers)
    heads = {numbers[step.target] for step in steps if step.target is not None and _is_back(step, numbers)}
    for first in sorted(heads):
        if (loop := _loop_from(first, steps, numbers, stops)) is not None and taken.isdisjoint(loop.steps):
            found.append(loop)
            taken.update(loop.steps, loop.left_out, [loop.closing or 0])
    for first in sorted(begins):
        piece = []
        for number in range(first, len(steps)):
            if number in taken or (number in begins and number != first):
                break
            if steps[number].flow != "next":
                break
            piece.append(number)
        if piece:
            found.append(Cut(tuple(piece), STRAIGHT))
    return sorted(found, key=lambda one: one.steps[0])


def _begins(steps: Sequence[CodeStep], numbers: dict[int, int], entries: Collection[int]) -> set[int]:
    begins = {0} if steps else set()
    begins |= {numbers[address] for address in entries if address in numbers}
    for number, step in enumerate(steps):
        if step.target in numbers:
            begins.add(numbers[step.target])
        follows = number + 1 < len(steps) and steps[number + 1].address != step.address + len(step.code)
        if (step.flow != "next" or follows) and number + 1 < len(steps):
            begins.add(number + 1)
    return begins


def _stops(steps: Sequence[CodeStep], numbers: dict[int, int]) -> list[int]:
    """For each step, the number of the first one from it on that a path does not just pass, or of the end.

    That is a call, a return, a jump, a branch back, and what something missing follows.
    """
    found = [len(steps)] * (len(steps) + 1)
    for number in range(len(steps) - 1, -1, -1):
        step = steps[number]
        passed = step.flow == "next" or (step.flow == "branch" and not _is_back(step, numbers))
        whole = number + 1 < len(steps) and steps[number + 1].address == step.address + len(step.code)
        found[number] = found[number + 1] if passed and whole else number
    return found


def _is_back(step: CodeStep, numbers: dict[int, int]) -> bool:
    return (
        step.flow in ("jump", "branch")
        and step.target is not None
        and step.target <= step.address
        and step.target in numbers
    )


def _loop_from(
    first: int, steps: Sequence[CodeStep], numbers: dict[int, int], stops: list[int]
) -> Cut | None:
    """The loop that begins with this step, if one does whose path meets no other jump back and no call."""
    start = steps[first].address
    parts: list[range] = []
    number = first
    for _ in range(MOST_DETOURS):
        stop = stops[number]
        if stop == len(steps):
            return None
        parts.append(range(number, stop))
        step = steps[stop]
        if step.flow in ("jump", "branch") and step.target == start:
            passed = [one for part in parts for one in part]
            path = tuple(one for one in passed if steps[one].flow == "next")
            left_out = tuple(one for one in passed if steps[one].flow == "branch")
            return Cut(path, LOOP, stop, left_out) if path else None
        if step.flow != "jump" or step.target is None or step.target <= step.address:
            return None
        if step.target not in numbers:
            return None
        number = numbers[step.target]
    return None

"""The loops of a compiled program, cut from its machine code, and which of them samples belong to."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from inference.isa.code.binaries.headers import BinaryFileError
from inference.isa.code.binaries.program import CompiledProgram, Function
from inference.isa.code.block import MOST_BYTES, MOST_INSTRUCTIONS
from inference.isa.code.control_flow import CodeStep, Cut, cut
from inference.isa.code.pieces import CodeReader

PIECE = 1 << 18
"""Bytes of code after which the steps are handed over at the next end of a path: what is held at a time."""
LONGEST = 2 * PIECE
"""Bytes after which they are handed over wherever that is."""

_FIELD = 4  # bytes that a linker fills in, at the end of a jump


def steps_in(program: CompiledProgram, function: Function, reader: CodeReader) -> Iterator[list[CodeStep]]:
    """The instructions of a function, a list for each piece of a long one.

    What is no instruction ends a path, as data among code does.
    """
    code, address = program.code(function), function.address
    moved = program.relocations(function.region) if program.is_object else {}
    found: list[CodeStep] = []
    begin = position = 0
    for step in reader.steps_of_region(code, address):
        size = len(step.code)
        if moved and step.flow in ("jump", "branch") and (place := step.address + size - _FIELD) in moved:
            step = step._replace(target=moved[place])  # noqa: PLW2901
        found.append(step)
        position += size
        length = position - begin
        if length >= PIECE and (step.flow in ("end", "jump") or length >= LONGEST):
            yield found
            found, begin = [], position
    if found:
        yield found


MOST_CODE = 24 << 20
"""Bytes of machine code that are searched for loops at a time."""

Told = Callable[[int, int], None]
"""Hears how many bytes of code have been gone through, of how many; may raise in order to stop."""


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop of a function: its machine code, ending with the jump back to its own begin.

    `begin` and `closing` are the addresses of its first instruction and of that jump, `left_out` those of
    conditional jumps within, which are taken not to jump. `addresses`: of all its instructions.
    """

    function: Function
    begin: int
    closing: int
    code: bytes
    instructions: int
    left_out: tuple[int, ...]
    addresses: tuple[int, ...] = field(repr=False)

    @property
    def key(self) -> str:
        """What tells it from all other loops of its file: a section and two addresses."""
        return f"{self.function.region}:{self.begin:x}-{self.closing:x}"


@dataclass
class Search:
    """How a search for loops went: what it found no place for."""

    functions: int = 0
    code: int = 0
    too_long: int = 0
    """Loops that are no basic block for their length."""


def loops_in(
    program: CompiledProgram,
    functions: Iterable[Function],
    search: Search,
    reader: CodeReader,
    told: Told = lambda done, of: None,
) -> Iterator[Loop]:
    """The loops of these functions, in order. Raises `BinaryFileError` for more than `MOST_CODE`."""
    wanted = list(functions)
    total = sum(one.size for one in wanted)
    if total > MOST_CODE:
        raise BinaryFileError(
            f"these functions have {total / 1e6:,.1f} MB of machine code, and {MOST_CODE / 1e6:,.1f} MB are "
            "the most: choose functions by their names, e.g. `mat*`"
        )
    for function in wanted:
        for steps in steps_in(program, function, reader):
            yield from _loops_of(function, steps, cut(steps), search, reader)
            search.code += steps[-1].address + len(steps[-1].code) - steps[0].address
            told(search.code, total)
        search.functions += 1


def _loops_of(
    function: Function, steps: list[CodeStep], cuts: Iterable[Cut], search: Search, reader: CodeReader
) -> Iterator[Loop]:
    for one in cuts:
        if one.kind != "loop" or one.closing is None:
            continue
        code = reader.closed(b"".join(steps[at].code for at in one.steps), steps[one.closing].code)
        if code is None or len(one.steps) >= MOST_INSTRUCTIONS or len(code) > MOST_BYTES:
            search.too_long += 1
            continue
        yield Loop(
            function,
            steps[one.steps[0]].address if one.steps else steps[one.closing].address,
            steps[one.closing].address,
            code,
            len(one.steps) + 1,
            tuple(steps[at].address for at in one.left_out),
            tuple(steps[at].address for at in sorted((*one.steps, *one.left_out, one.closing))),
        )


def owners(loops: Iterable[Loop], sampled: Container[int]) -> dict[int, Loop]:
    """The loop that each of these addresses belongs to: the shortest of those around it."""
    found: dict[int, Loop] = {}
    for loop in loops:
        for address in loop.addresses:
            if address in sampled:
                known = found.get(address)
                if known is None or loop.instructions < known.instructions:
                    found[address] = loop
    return found


def weighed(loops: Iterable[Loop], counts: Mapping[int, float]) -> list[tuple[Loop, float]]:
    """Loops with the counts of their instructions, those that have any, the heaviest first."""
    held = list(loops)
    weights: dict[str, float] = {}
    for address, loop in owners(held, counts).items():
        weights[loop.key] = weights.get(loop.key, 0.0) + counts[address]
    found = [(loop, weights[loop.key]) for loop in held if weights.get(loop.key)]
    return sorted(found, key=lambda one: -one[1])

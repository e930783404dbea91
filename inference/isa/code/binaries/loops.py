"""The loops of a compiled program, cut from its machine code, and the loops that samples belong to."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from inference.isa.code.binaries.headers import FIELD, BinaryFileError
from inference.isa.code.binaries.program import CompiledProgram, Function
from inference.isa.code.block import MAX_BYTES, MAX_INSTRUCTIONS
from inference.isa.code.control_flow import CodePath, CodeStep, cut_into_pieces
from inference.isa.code.pieces import CodeReader

CHUNK_BYTES = 1 << 18
"""Bytes of code after which steps are yielded at the next end of a path; limits memory."""

MAX_CHUNK_BYTES = 2 * CHUNK_BYTES
"""Bytes of code after which steps are yielded in any case."""


def steps_in(program: CompiledProgram, function: Function, reader: CodeReader) -> Iterator[list[CodeStep]]:
    """The instructions of a function, in chunks for a long one.

    Undecodable bytes, such as data among code, end a path.
    """
    code, address = program.code(function), function.address
    moved = program.relocations(function.region) if program.is_object else {}
    steps: list[CodeStep] = []
    chunk_start = position = 0
    for step in reader.steps_of_region(code, address):
        size = len(step.code)
        if moved and step.flow in ("jump", "branch") and (place := step.address + size - FIELD) in moved:
            step = step._replace(target=moved[place])  # noqa: PLW2901
        steps.append(step)
        position += size
        length = position - chunk_start
        if length >= CHUNK_BYTES and (step.flow in ("end", "jump") or length >= MAX_CHUNK_BYTES):
            yield steps
            steps, chunk_start = [], position
    if steps:
        yield steps


MAX_CODE_BYTES = 24 << 20
"""Bytes of machine code that are searched for loops at a time."""

OnProgress = Callable[[int, int], None]
"""Called with the bytes of code done, and all bytes; may raise to stop."""


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop of a function: its machine code, ending with a jump to its own beginning.

    `start` and `closing_address` are the addresses of its first instruction and of that jump,
    `ignored_branches` those of conditional jumps within, which are assumed not to be taken. `addresses`: of
    all its instructions.
    """

    function: Function
    start: int
    closing_address: int
    code: bytes
    instructions: int
    ignored_branches: tuple[int, ...]
    addresses: tuple[int, ...] = field(repr=False)

    @property
    def key(self) -> str:
        """A unique key within its file: a section and two addresses."""
        return f"{self.function.region}:{self.start:x}-{self.closing_address:x}"


@dataclass
class Search:
    functions: int = 0
    code: int = 0
    too_long: int = 0
    """Loops that are too long for a basic block."""


def loops_in(
    program: CompiledProgram,
    functions: Iterable[Function],
    search: Search,
    reader: CodeReader,
    on_progress: OnProgress = lambda done, of: None,
) -> Iterator[Loop]:
    """The loops of these functions, in order.

    Args:
        program: The program.
        functions: Functions of it.
        search: Its counts are updated.
        reader: Decodes the instructions.
        on_progress: Called after each chunk of code.

    Raises:
        BinaryFileError: The functions have more than `MAX_CODE_BYTES` bytes.
    """
    selection = list(functions)
    total = sum(candidate.size for candidate in selection)
    if total > MAX_CODE_BYTES:
        raise BinaryFileError(
            f"these functions have {total / 1e6:,.1f} MB of machine code, and {MAX_CODE_BYTES / 1e6:,.1f} MB "
            "are the most: choose functions by their names, e.g. `mat*`"
        )
    for function in selection:
        for steps in steps_in(program, function, reader):
            yield from _loops_of(function, steps, cut_into_pieces(steps), search, reader)
            search.code += steps[-1].address + len(steps[-1].code) - steps[0].address
            on_progress(search.code, total)
        search.functions += 1


def _loops_of(
    function: Function, steps: list[CodeStep], cuts: Iterable[CodePath], search: Search, reader: CodeReader
) -> Iterator[Loop]:
    """The loops among a function's pieces, each closed by its branch; too long ones are only counted."""
    for piece in cuts:
        if piece.kind != "loop" or piece.closing is None:
            continue
        code = reader.close_loop(b"".join(steps[at].code for at in piece.steps), steps[piece.closing].code)
        if code is None or len(piece.steps) >= MAX_INSTRUCTIONS or len(code) > MAX_BYTES:
            search.too_long += 1
            continue
        yield Loop(
            function,
            steps[piece.steps[0]].address if piece.steps else steps[piece.closing].address,
            steps[piece.closing].address,
            code,
            len(piece.steps) + 1,
            tuple(steps[at].address for at in piece.ignored_branches),
            tuple(steps[at].address for at in sorted((*piece.steps, *piece.ignored_branches, piece.closing))),
        )


def loops_of_addresses(loops: Iterable[Loop], sampled: Container[int]) -> dict[int, Loop]:
    """{sampled address: the shortest loop that contains it}."""
    loop_by_address: dict[int, Loop] = {}
    for loop in loops:
        for address in loop.addresses:
            if address in sampled:
                shortest = loop_by_address.get(address)
                if shortest is None or loop.instructions < shortest.instructions:
                    loop_by_address[address] = loop
    return loop_by_address


def weighted_loops(loops: Iterable[Loop], counts: Mapping[int, float]) -> list[tuple[Loop, float]]:
    """Loops with the sum of their instructions' counts, where positive; the largest first."""
    loop_list = list(loops)
    weights: dict[str, float] = {}
    for address, loop in loops_of_addresses(loop_list, counts).items():
        weights[loop.key] = weights.get(loop.key, 0.0) + counts[address]
    weighted = [(loop, weights[loop.key]) for loop in loop_list if weights.get(loop.key)]
    return sorted(weighted, key=lambda pair: -pair[1])

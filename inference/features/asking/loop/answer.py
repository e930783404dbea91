"""The answer to a question about a loop, as a value for page, API and shell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inference.core.core_model import Assumptions
from inference.core.loop.values import Changes, LoopAnalysis, LoopBound
from inference.features.asking.loop.query import LoopCpu, analysis_of, chosen_cpu
from inference.features.asking.loop.request import LoopQuestion
from inference.features.asking.loop.verdict import verdict_of
from inference.isa.blocks import BlocksOfText, Piece, ranked_pieces
from inference.isa.code.block import Block
from inference.isa.code.pasted_blocks import refuse_dropped
from inference.isa.targets import DEFAULT
from inference.measuring.blocks import LOOP, UNROLLED
from inference.web.code_reading import read
from inference.web.validation import RequestError

MAX_PIECES = 1000
SAME_WITHIN = 0.05
"""Relative difference up to which a number counts as equal to a bound."""
_NAMED_CPUS = 5


@dataclass(frozen=True)
class LoopAnswer:
    """What a core model says about one block of a text.

    Attributes:
        question: Question as asked; of a text that is too long for an address, about the block alone.
        number: The block's place among `reading.pieces`, from 1.
        verdict: A sentence.
    """

    question: LoopQuestion
    cpu: LoopCpu
    reading: BlocksOfText
    number: int
    changes: Changes
    analysis: LoopAnalysis
    verdict: str

    @property
    def piece(self) -> Piece:
        return self.reading.pieces[self.number - 1]

    @property
    def block(self) -> Block:
        return self.piece.block

    @property
    def mode_text(self) -> str:
        """How the block is executed."""
        if self.block.closing is not None:
            return "as the loop that it is"
        return "in a loop" if self.assumed.in_loop else "unrolled"

    @property
    def chain(self) -> dict[int, float]:
        """{instruction: cycles that it adds to the critical chain}."""
        rows = enumerate(self.analysis.instructions)
        return {place: row.on_chain for place, row in rows if row.on_chain is not None}

    @property
    def assumed(self) -> Assumptions:
        return self.question.assumed


NO_CPU = "isa"
"""The field of the error where there is no CPU of the code's instruction set."""


def answer_of(
    question: LoopQuestion, choices: Sequence[LoopCpu], *, replaces_cpu: bool = False
) -> LoopAnswer:
    """Explain the chosen block of a text on the chosen CPU.

    Args:
        question: The text, the CPU, and what is assumed. A piece that the text does not have counts as none.
        choices: CPUs of any instruction sets. The chosen one decides about digits and ambiguous texts.
        replaces_cpu: Where the chosen CPU executes another instruction set, take the first that fits.

    Raises:
        BlockError: The text, or a line of the chosen block, cannot be read.
        RequestError: There is no such CPU, or none of the instruction set.
    """
    if question.isa and not any(cpu.isa == question.isa for cpu in choices):
        cpu_of(question.model_copy(update={"cpu": ""}), choices)
    selected_cpu = chosen_cpu(choices, question.cpu)
    usual = DEFAULT if selected_cpu is None else selected_cpu.isa
    reading = read(question.code, MAX_PIECES, question.isa, usual)
    isa = reading.pieces[0].block.isa
    if selected_cpu is not None and selected_cpu.isa != isa and replaces_cpu:
        question = question.model_copy(update={"cpu": ""})
    cpu = cpu_of(question.model_copy(update={"isa": isa}), choices)
    return explained(question, cpu, reading)


def cpu_of(question: LoopQuestion, choices: Sequence[LoopCpu]) -> LoopCpu:
    """The CPU of a question. Raises `RequestError` where there is none of its name or instruction set."""
    isa = question.isa or DEFAULT
    of_isa = [cpu for cpu in choices if cpu.isa == isa]
    cpu = chosen_cpu(of_isa, question.cpu)
    if cpu is not None:
        return cpu
    names = ", ".join(choice.name for choice in of_isa[:_NAMED_CPUS])
    if other := chosen_cpu(choices, question.cpu) if question.cpu else None:
        reason = f"{other.name!r} executes {other.isa}, and the code is {isa}"
        raise RequestError(
            "cpu", reason, f"one of {names}" if names else f"a core model of {isa}; none is known"
        )
    if not of_isa:
        sets = ", ".join(dict.fromkeys(cpu.isa for cpu in choices))
        right = f"profile a computer with {isa}, or import a core model of it; there are some of {sets}"
        raise RequestError(NO_CPU, f"no core model of {isa} is known", right)
    raise RequestError("cpu", f"there is no core model {question.cpu!r}", f"one of {names}")


def block_explanation(block: Block, mode: str, choices: Sequence[LoopCpu]) -> LoopAnswer | None:
    """What the first CPU's core model says about a block; None where there is no CPU.

    Args:
        block: The block.
        mode: The mode of other answers beside it; "" counts as `LOOP`.
        choices: The CPUs of its instruction set.
    """
    cpu = chosen_cpu(choices, "")
    if cpu is None:
        return None
    question = LoopQuestion(
        isa=block.isa, code=block.hex, cpu=cpu.name, mode=UNROLLED if mode == UNROLLED else LOOP
    )
    return explained(question, cpu, BlocksOfText((Piece("", block, 1),)))


def explained(question: LoopQuestion, cpu: LoopCpu, reading: BlocksOfText) -> LoopAnswer:
    """The answer for a text that has been read. Raises `BlockError` for an unreadable line of the block."""
    pieces = reading.pieces
    number = (
        question.piece if 1 <= question.piece <= len(pieces) else pieces.index(ranked_pieces(reading)[0]) + 1
    )
    piece = pieces[number - 1]
    refuse_dropped(reading.dropped_in(piece))
    changes = Changes(question.removed_dependences, question.loads == "hit", piece.latencies)
    analysis = analysis_of(piece.block, cpu.row, question.assumed, changes)
    linked = question.model_copy(update={"isa": piece.block.isa}).of_block(piece.block)
    return LoopAnswer(linked, cpu, reading, number, changes, analysis, verdict_of(piece.block, analysis))


def closest_bound(bounds: Sequence[LoopBound], cycles: float | None) -> str:
    """The closest bound as `dependencies, 4.00`, after "≈ " unless equal within `SAME_WITHIN`; "" without
    any."""
    if cycles is None or not bounds:
        return ""
    nearest = min(bounds, key=lambda bound: abs(bound.usual - cycles))
    near = "" if abs(nearest.usual - cycles) <= SAME_WITHIN * cycles else "≈ "
    return f"{near}{nearest.kind}, {nearest.usual:.2f}"

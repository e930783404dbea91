"""Blocks of instruction sets of words: from machine code to instructions and their schemes, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar, NamedTuple

from inference.isa.code.assembly_reader import AssemblyState
from inference.isa.code.block import (
    LABEL,
    MAX_INSTRUCTIONS,
    Block,
    BlockError,
    BlockInstruction,
    refuse_length,
)
from inference.isa.code.control_flow import LOOP, CodeStep, Flow
from inference.isa.code.markers import object_file_of
from inference.isa.code.pieces import AssemblyProgram
from inference.isa.words.accesses import GENERAL, DecodedInstruction, InMemory, RegisterPart
from inference.isa.words.assembly import program_of_lines
from inference.isa.words.listings import WordListings

_JUMPS: tuple[Flow, ...] = ("jump", "branch")
_CACHED_LINES = 1 << 16


class BlockSyntax(NamedTuple):
    """What the blocks of an instruction set are made of.

    Attributes:
        name: Name of the instruction set.
        writer: The writer of the texts with its version.
        general: General-purpose registers by number.
        machine: Number of the instruction set in ELF files, and their flags.
        sizes: Bytes of an instruction, in words.
        alignment: Bytes of which the size of code is a multiple.
        words_of: The instructions of code as numbers, without a last one that is cut short.
        decode: The instruction of a number.
        text_of: One line of text, with the label of a jump's target or "".
        directive: The directive of an assembler for an instruction's number.
        comment: The beginning of a comment.
        code_of_text: The machine code of a line. Raises `BlockError`.
        jump_by: A jump like another one over so many bytes; None where it cannot reach so far.
        loop_end: A jump back over so many bytes as long as the decremented register of a number is not 0.
        no_operation: An instruction without effect.
        in_context: The instructions with schemes that depend on those before them.
    """

    name: str
    writer: str
    general: list[str]
    machine: tuple[int, int]
    sizes: str
    alignment: int
    words_of: Callable[[bytes], Sequence[int]]
    decode: Callable[[int], DecodedInstruction]
    text_of: Callable[[DecodedInstruction, str], str]
    directive: Callable[[DecodedInstruction], str]
    comment: str
    code_of_text: Callable[[str], bytes | None]
    jump_by: Callable[[DecodedInstruction, int], bytes | None]
    loop_end: Callable[[int, int], bytes]
    no_operation: bytes
    in_context: Callable[[Sequence[DecodedInstruction]], Sequence[DecodedInstruction]] = list


@dataclass(frozen=True)
class WordBlockInstruction(BlockInstruction):
    """One instruction; `context`: as decoded in a block, None where the block does not matter."""

    blocks: ClassVar[WordBlocks]

    context: DecodedInstruction | None = None

    @cached_property
    def decoded(self) -> DecodedInstruction:
        return self.context or self.blocks.syntax.decode(int.from_bytes(self.code, "little"))

    @property
    def scheme(self) -> str | None:
        return self.decoded.scheme

    @property
    def obstacle(self) -> str:
        return self.decoded.obstacle

    @cached_property
    def registers(self) -> frozenset[str]:
        general = self.blocks.syntax.general
        numbers: set[int] = set()
        for operand in self.decoded.operands:
            if isinstance(operand, RegisterPart) and operand.bank == GENERAL:
                numbers.update((operand.number + k) % len(general) for k in range(operand.span))
            elif isinstance(operand, InMemory):
                numbers.update(() if operand.base is None else (operand.base,))
                if operand.index is not None and operand.index.bank == GENERAL:
                    numbers.add(operand.index.number)
        form = self.decoded.form
        fixed = (
            name
            for operand in (form.operands if form else ())
            if operand.implicit
            for name in operand.registers
        )
        return frozenset(
            (*(general[number] for number in numbers), *(name for name in fixed if name in general))
        )

    @cached_property
    def text(self) -> str:
        return self.blocks.line_of(int.from_bytes(self.code, "little"))

    def jump_text(self, size: int) -> str:
        return self.blocks.syntax.text_of(self.decoded, LABEL if self.decoded.distance == -size else "")


class WordBlocks:
    """Blocks from machine code, and back to text. Methods raise `BlockError`.

    Args:
        syntax: Syntax of the blocks.
        instruction: The class of their instructions.
    """

    def __init__(self, syntax: BlockSyntax, instruction: type[WordBlockInstruction]) -> None:
        self.syntax = syntax
        self.GENERAL = syntax.general
        self.ASSEMBLY = syntax.writer
        self.line_of = lru_cache(_CACHED_LINES)(self._line_of)
        self._instruction = instruction
        instruction.blocks = self

    def block_of_bytes(self, code: bytes) -> Block:
        refuse_length(code)
        steps = self.steps_of(code)
        if len(steps) > MAX_INSTRUCTIONS:
            raise BlockError(f"a basic block has at most {MAX_INSTRUCTIONS} instructions, not {len(steps)}")
        instructions = tuple(
            self._instruction(instruction.code, instruction)
            for instruction in self.syntax.in_context(self._decode(code))
        )
        if _is_closing(steps[-1]):
            return Block(code, instructions[:-1], instructions[-1])
        return Block(code, instructions)

    def body_of(self, code: bytes) -> bytes:
        *_, last = [None, *self.steps_of_region(code, 0)]
        is_loop = last is not None and last.address + len(last.code) == len(code) and _is_closing(last)
        return code[: last.address] if last is not None and is_loop else code

    def mnemonics_of(self, code: bytes) -> tuple[str, ...]:
        refuse_length(code)
        return tuple(instruction.mnemonic for instruction in self._decode(code))

    def schemes_of_bytes(self, code: bytes) -> tuple[str | None, ...]:
        instructions = self._decode(self.body_of(code))
        return tuple(instruction.scheme for instruction in self.syntax.in_context(instructions))

    def steps_of(self, code: bytes, address: int = 0) -> list[CodeStep]:
        return list(_steps(self._decode(code), address))

    def steps_of_region(self, code: bytes, address: int) -> Iterator[CodeStep]:
        return _steps(map(self.syntax.decode, self.syntax.words_of(code)), address)

    def close_loop(self, body: bytes, jump: bytes) -> bytes | None:
        instruction = self.syntax.decode(int.from_bytes(jump, "little"))
        if instruction.flow not in _JUMPS or instruction.distance is None:
            return None
        closing = self.syntax.jump_by(instruction, -len(body))
        return None if closing is None else body + closing

    def intel_of_bytes(self, code: bytes) -> tuple[str, ...]:
        block = self.block_of_bytes(code)
        lines = [text for _, text in block.listing]
        if block.kind == LOOP:
            lines[0] = f"{LABEL}: {lines[0]}"
        return tuple(lines)

    att_of_bytes = plain_att_of_bytes = intel_of_bytes  # there is one order of operands

    def as_loop(self, code: bytes) -> bytes:
        """A loop unchanged; another block with a counter in an unused register, and a jump back."""
        block = self.block_of_bytes(code)
        if block.kind == LOOP:
            return code
        if not block.unused_register:
            raise BlockError("a loop needs a counter, but the block uses all general-purpose registers")
        return code + self.syntax.loop_end(self.GENERAL.index(block.unused_register), len(code))

    def object_file(self, code: bytes, name: str = "block") -> bytes:
        return object_file_of(code, name, *self.syntax.machine)

    def _line_of(self, word: int) -> str:
        """An instruction other than a loop's jump, as text that reads back to the same word."""
        instruction = self.syntax.decode(word)
        text = self.syntax.text_of(instruction, "")
        try:
            if self.syntax.code_of_text(text) == instruction.code:
                return text
        except BlockError:
            pass
        return f"{self.syntax.directive(instruction)} {self.syntax.comment} {text}"

    def _decode(self, code: bytes) -> list[DecodedInstruction]:
        syntax = self.syntax
        if len(code) % syntax.alignment:
            raise BlockError(
                f"instructions of {syntax.name} have {syntax.sizes} bytes each; these are {len(code)} bytes"
            )
        instructions = [syntax.decode(word) for word in syntax.words_of(code)]
        at = 0
        for instruction in instructions:
            if instruction.form is None:
                raise BlockError(f"the word at byte {at + 1} ({instruction.code.hex()}) {instruction.reason}")
            at += instruction.size
        if at < len(code):
            raise BlockError(f"the last instruction ({code[at:].hex()}) is cut off")
        return instructions


class WordBlockReader(WordBlocks):
    """The block facet: blocks from machine code and text, and back."""

    def __init__(
        self, syntax: BlockSyntax, instruction: type[WordBlockInstruction], listings: WordListings
    ) -> None:
        """`listings`: reads listings, and has the syntax of assembly."""
        super().__init__(syntax, instruction)
        self._listings = listings

    def with_markers(self, code: bytes) -> bytes:
        markers, padding = self._listings.syntax.assembly.markers, self.syntax.no_operation
        return markers.begin + padding + code + markers.end + padding

    def listed_program(
        self, lines: Sequence[tuple[int, str]], is_foreign: Callable[[str], bool]
    ) -> AssemblyProgram | None:
        return self._listings.listed_program(lines, is_foreign)

    def paragraph_reader(
        self, is_foreign: Callable[[str], bool]
    ) -> Callable[[list[str], int], AssemblyProgram]:
        state, syntax = AssemblyState(), self._listings.syntax.assembly

        def program_of(lines: list[str], first: int) -> AssemblyProgram:
            listed = self.listed_program(list(enumerate(lines, start=first)), is_foreign)
            return listed or program_of_lines(lines, first, syntax, state=state)

        return program_of


def _steps(instructions: Iterable[DecodedInstruction], address: int) -> Iterator[CodeStep]:
    for instruction in instructions:
        is_jump = instruction.flow in _JUMPS and instruction.distance is not None
        target = address + (instruction.distance or 0) if is_jump else None
        yield CodeStep(address, instruction.code, instruction.flow, target)
        address += instruction.size


def _is_closing(step: CodeStep) -> bool:
    """Whether the last step of code at address 0 jumps back to its first."""
    return step.target == 0 and step.address != 0

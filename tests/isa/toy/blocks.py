"""Basic blocks of the toy instruction set."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from inference.isa.code.block import LABEL, Block, BlockError, BlockInstruction, refuse_length
from inference.isa.code.control_flow import CodeStep
from inference.isa.code.pieces import AssemblyProgram, ProgramInstruction
from inference.isa.code.source import source_lines

NAME = "toy"
GENERAL = ["a", "b", "c", "d"]
ASSEMBLY = "toy 1"
OPERATIONS = {"inc": 1, "neg": 2, "back": 3}
_MNEMONICS = {code: mnemonic for mnemonic, code in OPERATIONS.items()}
_BACK = OPERATIONS["back"]


class ToyInstruction(BlockInstruction):
    """One instruction of two bytes."""

    isa = NAME
    counters = GENERAL[::-1]

    @property
    def scheme(self) -> str | None:
        return None if self.code[0] == _BACK else f"{_MNEMONICS[self.code[0]]} GPR[8]:RW"

    @property
    def obstacle(self) -> str:
        return "jumps" if self.code[0] == _BACK else ""

    @property
    def registers(self) -> frozenset[str]:
        return frozenset() if self.code[0] == _BACK else frozenset({GENERAL[self.code[1]]})

    @property
    def text(self) -> str:
        operand = str(self.code[1]) if self.code[0] == _BACK else GENERAL[self.code[1]]
        return f"{_MNEMONICS[self.code[0]]} {operand}"

    def jump_text(self, size: int) -> str:
        return f"back {size + 2}"


def block_of_bytes(code: bytes) -> Block:
    refuse_length(code)
    instructions = [ToyInstruction(step.code) for step in steps_of(code)]
    if code[-2:] == bytes((_BACK, len(code))):
        return Block(code, tuple(instructions[:-1]), instructions[-1])
    return Block(code, tuple(instructions))


def steps_of(code: bytes) -> list[CodeStep]:
    if len(code) % 2 or any(operation not in _MNEMONICS for operation in code[::2]):
        raise BlockError("these bytes are no instructions of the toy")
    return list(steps_of_region(code, 0))


def steps_of_region(code: bytes, address: int) -> Iterator[CodeStep]:
    for at in range(0, len(code) - 1, 2):
        own, here = code[at : at + 2], address + at
        known = own[0] in _MNEMONICS
        jumps = own[0] == _BACK
        yield CodeStep(
            here, own, "branch" if jumps else "next" if known else "end", here + 2 - own[1] if jumps else None
        )


def close_loop(body: bytes, jump: bytes) -> bytes | None:
    del jump  # there is one kind
    return body + bytes((_BACK, len(body) + 2)) if len(body) + 2 < 256 else None


def body_of(code: bytes) -> bytes:
    return block_of_bytes(code).body


def mnemonics_of(code: bytes) -> tuple[str, ...]:
    return tuple(_MNEMONICS[step.code[0]] for step in steps_of(code))


def schemes_of_bytes(code: bytes) -> tuple[str | None, ...]:
    return tuple(one.scheme for one in block_of_bytes(code).instructions)


def intel_of_bytes(code: bytes) -> tuple[str, ...]:
    block = block_of_bytes(code)
    lines = [text for _, text in block.listing]
    if block.closing is not None:
        lines[0] = f"{LABEL}: {lines[0]}"
    return tuple(lines)


def att_of_bytes(code: bytes) -> tuple[str, ...]:
    return intel_of_bytes(code)


def plain_att_of_bytes(code: bytes) -> tuple[str, ...]:
    return intel_of_bytes(code)


def as_loop(code: bytes) -> bytes:
    return code if block_of_bytes(code).closing else close_loop(code, b"") or code


def with_markers(code: bytes) -> bytes:
    return code


def object_file(code: bytes, name: str = "block") -> bytes:
    return name.encode() + code


def listed_program(lines: Sequence[tuple[int, str]], is_foreign: Callable[[str], bool]) -> None:
    del lines, is_foreign  # nobody prints listings


def paragraph_reader(is_foreign: Callable[[str], bool]) -> Callable[[list[str], int], AssemblyProgram]:
    del is_foreign
    return _program


def _program(lines: list[str], first: int) -> AssemblyProgram:
    instructions: list[ProgramInstruction] = []
    for line in source_lines(lines, first):
        for part in line.parts:
            if part.text == f"{LABEL}:":
                continue
            *_label, mnemonic, operand = part.text.split()
            if mnemonic not in OPERATIONS:
                raise BlockError(f"the toy has no {mnemonic!r}", line.number, part.column)
            number = int(operand) if operand.isdigit() else GENERAL.index(operand)
            code = bytes((OPERATIONS[mnemonic], number))
            (step,) = steps_of_region(code, 2 * len(instructions))
            instructions.append(ProgramInstruction(line.number, part.text, step))
    return AssemblyProgram(tuple(instructions))

"""Experiments as unrolled loop bodies of instruction sets of words (thesis §3.2.1, Algorithm 3.1).

A body is a sequence of copies of the experiment, as on x86-64. Bodies are written as text first. The first
use of a body's code encodes all waiting bodies in one call.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal, NamedTuple

from inference.agent.protocol import Frame
from inference.isa.document import OperandForm
from inference.isa.llvm_mc import AssemblerError
from inference.isa.machine_bodies import DEFAULTS, CannotMeasureError, Kind, Options, interleave
from inference.isa.scheme import SELECTABLE, Operand, Scheme
from inference.isa.words.allocation import (
    LOAD_BASE,
    STORE_BASE,
    OperandChoice,
    OperandDemands,
    RegisterChooser,
    WordAllocationError,
    WordAllocator,
)

INSTRUCTIONS = 100  # in an unrolled loop body, about
_FIELD = re.compile(r"\{([a-z]+[0-9]*)\}")
_CACHED_PLANS = 1 << 13


class BodyLanguage(NamedTuple):
    """How the bodies of an instruction set are written.

    Attributes:
        name: Name of the instruction set.
        schemes: {text: scheme}.
        forms: Forms of operands, by name.
        bank_of: The bank of an operand's registers.
        allocator: Chooses registers for the schemes of one copy. Raises `WordAllocationError`.
        memory: Number of the register that points to the middle of the memory.
        frame: Frame of usual bodies, for a processor with these features; None where unknown.
        setting: Lines in front of all copies, which set what the schemes of a copy need. Raises
            `CannotMeasureError` where they need different settings.
        encode: Machine code of each line. Raises `AssemblerError`.
        refused: {scheme that `encode` does not know: its message}.
        missing_feature: Missing feature as in `SchemeCatalogue`.
        needs_assembler: Whether llvm-mc encodes the lines.
    """

    name: str
    schemes: Callable[[], Mapping[str, Scheme]]
    forms: Callable[[], Mapping[str, OperandForm]]
    bank_of: Callable[[OperandForm], str]
    allocator: Callable[[Sequence[OperandDemands]], WordAllocator]
    memory: int
    frame: Callable[[Collection[str] | None], Frame]
    setting: Callable[[Sequence[Scheme]], tuple[str, ...]]
    encode: Callable[[Sequence[str]], Sequence[bytes]]
    refused: Callable[[], Mapping[str, str]]
    missing_feature: Callable[[Scheme, Collection[str]], str]
    needs_assembler: bool

    def obstacle(self, text: str) -> str:
        """Why a scheme cannot be measured on any processor, "" where it can."""
        scheme = self.schemes().get(text)
        if scheme is None:
            return f"there is no such scheme for {self.name}"
        return "" if scheme.exclusion.startswith(SELECTABLE) else scheme.exclusion

    def single_lines(self) -> dict[str, str]:
        """{scheme that can be measured: a line of it}."""
        texts = [text for text in self.schemes() if not self.obstacle(text)]
        plans = [plan_of(self, text) for text in texts]
        return {plan.scheme.text: line_of(self, plan, self.allocator([plan.demands])) for plan in plans}


@dataclass(frozen=True, slots=True)
class _Part:
    """An operand's assembly with its fields for registers: (name, index of the choice).

    Fields of addresses are named, that of a register operand has the name "".
    """

    assembly: str
    fields: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """A scheme before operands are chosen."""

    scheme: Scheme
    demands: OperandDemands
    parts: tuple[_Part, ...]


class LoopText:
    """A loop body: `copies` copies of an experiment, the first `half_copies` of them in `half_bytes`.

    `setting` lines stand in front of the copies, in the shorter loop as well: their time is in both.
    """

    chains = None
    breakers: Sequence[Kind] = ()

    def __init__(
        self, assembler: WordAssembler, setting: tuple[str, ...], lines: tuple[str, ...], copies: int
    ) -> None:
        self._assembler = assembler
        self._setting = len(setting)
        self.lines = (*setting, *lines)
        self.copies = copies
        self.half_copies = copies // 2

    @property
    def code(self) -> bytes:
        """All copies, one behind another. Raises `AssemblerError`."""
        return b"".join(self._assembler.codes(self))

    @property
    def half_bytes(self) -> int:
        """Bytes of the shorter loop. Raises `AssemblerError`."""
        return sum(map(len, self._assembler.codes(self)[: self._setting + self._length * self.half_copies]))

    @property
    def copy_code(self) -> bytes:
        """Machine code of the first copy. Raises `AssemblerError`."""
        return b"".join(self._assembler.codes(self)[self._setting : self._setting + self._length])

    @property
    def _length(self) -> int:
        return (len(self.lines) - self._setting) // self.copies

    @property
    def listing(self) -> tuple[str, ...]:
        return self.lines


class WordAssembler:
    """Instantiates experiments; all waiting bodies are encoded in one call when code is first needed."""

    def __init__(self, language: BodyLanguage) -> None:
        self._language = language
        self._waiting: list[LoopText] = []
        self._codes: dict[LoopText, Sequence[bytes]] = {}

    def unroll(self, terms: Sequence[tuple[str, int]], instructions: int = INSTRUCTIONS) -> LoopText:
        """A loop body of at least two copies and about so many instructions.

        `terms` are (scheme text, multiplicity) pairs; equal multisets give equal code. Raises
        `CannotMeasureError`, `AssemblerError`, and `ValueError` for a multiplicity below 1 or without terms.
        """
        return self.unroll_in_order(interleave(terms), instructions)

    def unroll_in_order(self, order: Sequence[str], instructions: int = INSTRUCTIONS) -> LoopText:
        """A loop body whose copies contain the schemes in this order."""
        if not order:
            raise ValueError("an experiment has at least one instruction")
        language = self._language
        plans = [plan_of(language, text) for text in order]
        refused = language.refused()
        for plan in plans:
            text = plan.scheme.text
            if text in refused:
                raise CannotMeasureError(text, f"llvm-mc does not know it: {refused[text]}")
        try:
            allocator = language.allocator([plan.demands for plan in plans])
        except WordAllocationError as error:
            raise CannotMeasureError("; ".join(dict.fromkeys(order)), str(error)) from None
        setting = language.setting([plan.scheme for plan in plans])
        copies = max(2, -(-instructions // len(order)))
        lines = tuple(line_of(language, plan, allocator) for _ in range(copies) for plan in plans)
        body = LoopText(self, setting, lines, copies)
        self._waiting.append(body)
        return body

    def codes(self, body: LoopText) -> Sequence[bytes]:
        """The code of each line of a body of this assembler; other waiting bodies are encoded, too."""
        if body not in self._codes:
            bodies, self._waiting = self._waiting, []
            bodies = bodies if body in bodies else [*bodies, body]  # asked for again after others
            codes = self._language.encode([line for waiting in bodies for line in waiting.lines])
            start = 0
            for waiting in bodies:
                self._codes[waiting] = codes[start : start + len(waiting.lines)]
                start += len(waiting.lines)
        return self._codes[body]


class MachineWordBodies:
    """Bodies for a processor with these features, as in /proc/cpuinfo; None where unknown.

    `options`: the number of instructions per body; there are neither breakers nor other values.
    """

    flags = None  # the bodies themselves refuse what the CPU lacks
    avx = False
    identity: Mapping[str, Any] = {}

    def __init__(
        self, language: BodyLanguage, features: Collection[str] | None, options: Options = DEFAULTS
    ) -> None:
        self._language = language
        self._features = features
        self._instructions = options.instructions
        self._assembler = WordAssembler(language)

    @cached_property
    def frame(self) -> Frame:
        return self._language.frame(self._features)

    @property
    def options(self) -> Options:
        return Options(instructions=self._instructions)

    def obstacle(self, scheme: Scheme) -> str:
        """The feature that the scheme needs and the processor lacks, in words; "" for none."""
        return "" if self._features is None else self._language.missing_feature(scheme, self._features)

    def unroll(self, terms: Sequence[tuple[str, int]]) -> LoopText:
        self._refuse_missing(text for text, _ in terms)
        return self._assembler.unroll(terms, self._instructions)

    def unroll_in_order(self, order: Sequence[str]) -> LoopText:
        self._refuse_missing(order)
        return self._assembler.unroll_in_order(order, self._instructions)

    def _refuse_missing(self, texts: Iterable[str]) -> None:
        for text in texts:
            scheme = self._language.schemes().get(text)
            if scheme is not None and (reason := self.obstacle(scheme)):
                raise CannotMeasureError(text, reason)


class WordBodies:
    """The facet of loop bodies (`inference.isa.block_facets.BodyMaker`) in a language."""

    padding = ("nop",)

    def __init__(self, language: BodyLanguage) -> None:
        self.language = language
        self.needs_assembler = language.needs_assembler

    def unroll(
        self, terms: Sequence[tuple[str, int]], instructions: int = INSTRUCTIONS, *, breaking: bool = False
    ) -> LoopText:
        """The usual body of an experiment; `breaking` has no effect. Raises `CannotMeasureError`."""
        del breaking
        return _with_code(WordAssembler(self.language).unroll(terms, instructions), terms[0][0])

    def unroll_in_order(self, order: Sequence[str]) -> LoopText:
        """A body whose copies contain the schemes in this order. Raises `CannotMeasureError`."""
        return _with_code(WordAssembler(self.language).unroll_in_order(order), order[0])

    def breakers_of(self, scheme: str) -> Sequence[Kind]:
        return ()

    def around(self, avx: bool) -> MachineWordBodies:
        """The context of usual bodies."""
        return MachineWordBodies(self.language, None)

    def machine_bodies(
        self, schemes: Collection[str], flags: frozenset[str] | None, options: Options
    ) -> MachineWordBodies:
        """The bodies for a CPU with these features; None where unknown."""
        return MachineWordBodies(self.language, flags, options)

    def instances(self, texts: Iterable[str]) -> dict[str, bytes]:
        """{scheme text: machine code of one instance}, of those that can be measured."""
        assembler = WordAssembler(self.language)
        bodies = {}
        for text in texts:
            try:
                bodies[text] = assembler.unroll_in_order([text], instructions=1)
            except CannotMeasureError:
                continue
        return {text: body.copy_code for text, body in bodies.items()}


def _with_code(body: LoopText, scheme: str) -> LoopText:
    """The body after encoding it, so that a missing assembler is detected here."""
    try:
        assert body.code
    except AssemblerError as error:
        raise CannotMeasureError(scheme, str(error)) from None
    return body


@lru_cache(_CACHED_PLANS)
def plan_of(language: BodyLanguage, text: str) -> Plan:
    """How to write a scheme: which part of the text comes from which chosen register or address.

    Raises:
        CannotMeasureError: The scheme is unknown, or cannot be executed in a loop.
    """
    if reason := language.obstacle(text):
        raise CannotMeasureError(text, reason)
    scheme = language.schemes()[text]
    choices: list[OperandChoice] = []
    parts = []
    memory: Literal["", "R", "W"] = ""
    near = False
    for operand in scheme.operands:
        if operand.implicit:
            continue
        form = language.forms()[operand.name]
        fields: list[tuple[str, int]] = []
        if operand.kind == "memory":
            for name in _FIELD.findall(form.assembly):
                if name in {"offset", "near"}:
                    memory = "R" if operand.access == "R" else "W"
                    near = name == "near"
                elif name != "memory":
                    fields.append((name, len(choices)))
                    choices.append(_part_of_address(name, scheme, operand))
        elif form.bank:
            fields.append(("", len(choices)))
            bank = language.bank_of(form)
            choices.append(
                OperandChoice(bank, operand.access or "R", form.span, min(form.registers_below, 32))
            )
        parts.append(_Part(form.assembly, tuple(fields)))
    return Plan(scheme, OperandDemands(tuple(choices), memory, near), tuple(parts))


def _part_of_address(name: str, scheme: Scheme, memory: Operand) -> OperandChoice:
    if name != "base":
        return OperandChoice("general", "R")
    moves_base = any(operand.name == "base" for operand in scheme.operands if operand.implicit)
    return OperandChoice(LOAD_BASE if memory.access == "R" else STORE_BASE, "RW" if moves_base else "R")


def line_of(language: BodyLanguage, plan: Plan, allocator: RegisterChooser) -> str:
    """A line of a scheme with the registers and the memory that an allocator chooses."""
    registers = allocator.registers(plan.demands)
    offset = allocator.slot(plan.demands) if plan.demands.memory else 0
    operands = []
    for part in plan.parts:
        fields: dict[str, object] = {"memory": f"x{language.memory}", "offset": offset, "near": offset}
        numbers: list[int] = []
        for name, choice in part.fields:
            first = registers[choice]
            if name:
                fields[name] = f"{'w' if name == 'index32' else 'x'}{first}"
            else:
                numbers = [first + k for k in range(plan.demands.choices[choice].span)]
        operands.append(part.assembly.format(*numbers, **fields))
    return f"{plan.scheme.mnemonic} {', '.join(operands)}".rstrip()

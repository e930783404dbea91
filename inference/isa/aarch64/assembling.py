"""Experiments as unrolled loop bodies of AArch64, assembled by llvm-mc (thesis §3.2.1, Algorithm 3.1).

A body is a sequence of copies of the experiment, as on x86-64. Bodies are written as text first. The first
use of a body's code assembles all waiting bodies in one call.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Literal

from inference.agent.protocol import Frame
from inference.isa import llvm_mc
from inference.isa.aarch64 import NAME, by_text, catalogue, instruction_set
from inference.isa.aarch64.allocation import (
    ADDRESSES,
    COUNTER,
    MEMORY,
    VALUES,
    AArch64AllocationError,
    AArch64Allocator,
    AArch64Choice,
    AArch64Demands,
    Bank,
)
from inference.isa.document import OperandForm
from inference.isa.facets import WrittenScheme
from inference.isa.llvm_mc import AssemblerError
from inference.isa.machine_bodies import DEFAULTS, CannotMeasureError, Kind, Options, interleave
from inference.isa.scheme import Operand, Scheme

TRIPLE, CPU, FEATURES = "aarch64", "cortex-a72", "+crc,+crypto"
INSTRUCTIONS = 100  # in an unrolled loop body, about
_BYTES = 4  # per instruction
_FIELD = re.compile(r"\{([a-z]+[0-9]*)\}")


@dataclass(frozen=True, slots=True)
class _Part:
    """An operand's assembly with its fields for registers: (name, index of the choice).

    Fields of addresses are named, that of a register operand has the name "".
    """

    assembly: str
    fields: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class _Plan:
    """A scheme before operands are chosen."""

    scheme: Scheme
    demands: AArch64Demands
    parts: tuple[_Part, ...]


class LoopText:
    """A loop body: `copies` copies of an experiment, the first `half_copies` of them in `half_bytes`."""

    chains = None
    breakers: Sequence[Kind] = ()

    def __init__(self, assembler: Assembler, lines: tuple[str, ...], copies: int) -> None:
        self._assembler = assembler
        self.lines = lines
        self.copies = copies
        self.half_copies = copies // 2
        self.half_bytes = _BYTES * (len(lines) // copies) * self.half_copies

    @property
    def code(self) -> bytes:
        """Machine code. Raises `AssemblerError`."""
        return self._assembler.code(self)

    @property
    def listing(self) -> tuple[str, ...]:
        return self.lines


class Assembler:
    """Instantiates experiments; one call of llvm-mc assembles all bodies when code is first needed."""

    def __init__(self) -> None:
        self._waiting: list[LoopText] = []
        self._codes: dict[LoopText, bytes] = {}

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
        plans = [_plan(text) for text in order]
        refused = _unknown_to_llvm()
        for plan in plans:
            text = plan.scheme.text
            if text in refused:
                raise CannotMeasureError(text, f"llvm-mc does not know it: {refused[text]}")
        try:
            allocator = AArch64Allocator([plan.demands for plan in plans])
        except AArch64AllocationError as error:
            raise CannotMeasureError("; ".join(dict.fromkeys(order)), str(error)) from None
        copies = max(2, -(-instructions // len(order)))
        lines = tuple(_line(plan, allocator) for _ in range(copies) for plan in plans)
        body = LoopText(self, lines, copies)
        self._waiting.append(body)
        return body

    def code(self, body: LoopText) -> bytes:
        """The code of a body of this assembler; other waiting bodies are assembled along with it."""
        if body not in self._codes:
            bodies, self._waiting = self._waiting, []
            self._codes = dict(zip(bodies, _assembled(bodies), strict=True))
            if body not in self._codes:  # asked for again after others were assembled
                self._codes[body] = _assembled([body])[0]
        return self._codes[body]


def frame() -> Frame:
    return Frame(
        isa=NAME,
        memory_register=f"x{MEMORY}",
        counter_register=f"x{COUNTER}",
        registers=VALUES,
        addresses=ADDRESSES,
        avx=False,
    )


def obstacle(text: str) -> str:
    """Why a scheme cannot be measured on any processor, "" where it can."""
    scheme = by_text().get(text)
    if scheme is None:
        return f"there is no such scheme for {NAME}"
    return scheme.exclusion


def _assembled(bodies: Sequence[LoopText]) -> list[bytes]:
    lines = [line for body in bodies for line in body.lines]
    done = llvm_mc.assemble(lines, TRIPLE, CPU, FEATURES)
    if done.refused:
        number, reason = min(done.refused.items())
        raise llvm_mc.AssemblerError(f"llvm-mc refuses {lines[number]!r}: {reason}")
    if len(done.code) != _BYTES * len(lines):
        raise llvm_mc.AssemblerError(f"llvm-mc made {len(done.code)} bytes of {len(lines)} instructions")
    codes, start = [], 0
    for body in bodies:
        end = start + _BYTES * len(body.lines)
        codes.append(done.code[start:end])
        start = end
    return codes


@cache
def _unknown_to_llvm() -> dict[str, str]:
    """{scheme that this version of llvm-mc does not know: its message}. One call for all."""
    texts = [scheme.text for scheme in instruction_set().schemes if not obstacle(scheme.text)]
    plans = [_plan(text) for text in texts]
    lines = [_line(plan, AArch64Allocator([plan.demands])) for plan in plans]
    done = llvm_mc.assemble(lines, TRIPLE, CPU, FEATURES)
    return {texts[number]: reason for number, reason in done.refused.items()}


@cache
def _plan(text: str) -> _Plan:
    """How to write a scheme: which part of the text comes from which chosen register or address.

    Raises:
        CannotMeasureError: The scheme is unknown, or cannot be executed in a loop.
    """
    if reason := obstacle(text):
        raise CannotMeasureError(text, reason)
    scheme = by_text()[text]
    choices: list[AArch64Choice] = []
    parts = []
    memory: Literal["", "R", "W"] = ""
    near = False
    for operand in scheme.operands:
        if operand.implicit:
            continue
        form = instruction_set().forms[operand.name]
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
            choices.append(_register(operand, form))
        parts.append(_Part(form.assembly, tuple(fields)))
    return _Plan(scheme, AArch64Demands(tuple(choices), memory, near), tuple(parts))


def _register(operand: Operand, form: OperandForm) -> AArch64Choice:
    bank: Bank = "vector" if form.bank == "vector" else "general"
    return AArch64Choice(bank, operand.access or "R", form.span, min(form.registers_below, 32))


def _part_of_address(name: str, scheme: Scheme, memory: Operand) -> AArch64Choice:
    if name != "base":
        return AArch64Choice("general", "R")
    moves_base = any(operand.name == "base" for operand in scheme.operands if operand.implicit)
    return AArch64Choice("load base" if memory.access == "R" else "store base", "RW" if moves_base else "R")


def _line(plan: _Plan, allocator: AArch64Allocator) -> str:
    registers = allocator.registers(plan.demands)
    offset = allocator.slot(plan.demands) if plan.demands.memory else 0
    operands = []
    for part in plan.parts:
        fields: dict[str, object] = {"memory": f"x{MEMORY}", "offset": offset, "near": offset}
        numbers: list[int] = []
        for name, choice in part.fields:
            first = registers[choice]
            if name:
                fields[name] = f"{'w' if name == 'index32' else 'x'}{first}"
            else:
                numbers = [first + k for k in range(plan.demands.choices[choice].span)]
        operands.append(part.assembly.format(*numbers, **fields))
    return f"{plan.scheme.mnemonic} {', '.join(operands)}".rstrip()


triple, cpu, features = TRIPLE, CPU, FEATURES
models = ""


def instances(texts: Iterable[str]) -> dict[str, bytes]:
    """{scheme text: machine code of one instance}, of those that can be measured."""
    assembler = Assembler()
    bodies = {}
    for text in texts:
        try:
            bodies[text] = assembler.unroll_in_order([text], instructions=1)
        except CannotMeasureError:
            continue
    return {text: body.code[: body.half_bytes] for text, body in bodies.items()}


def register_probes() -> dict[str, bytes]:
    """{}: registers have the same names in all releases."""
    return {}


def gnu_scheme(text: str) -> WrittenScheme | None:
    """None: the only syntax is that of the schemes."""
    return None


def gnu_lines(code: bytes) -> list[str]:
    """The words of the code as assembler directives."""
    return [f".inst {int.from_bytes(code[at : at + 4], 'little'):#010x}" for at in range(0, len(code), 4)]


needs_assembler = True
padding = ("nop",)


class AArch64Bodies:
    """Assembles for a processor with these features, as in /proc/cpuinfo; None where unknown.

    `options`: the number of instructions per body; AArch64 has neither breakers nor other values.
    """

    flags = None  # the bodies themselves refuse what the CPU lacks
    avx = False
    identity: Mapping[str, Any] = {}

    def __init__(self, features: Collection[str] | None, options: Options = DEFAULTS) -> None:
        self._features = features
        self._instructions = options.instructions
        self._assembler = Assembler()

    @cached_property
    def frame(self) -> Frame:
        return frame()

    @property
    def options(self) -> Options:
        return Options(instructions=self._instructions)

    def obstacle(self, scheme: Scheme) -> str:
        """The feature that the scheme needs and the processor lacks, in words; "" for none."""
        return "" if self._features is None else catalogue.missing_feature(scheme, self._features)

    def unroll(self, terms: Sequence[tuple[str, int]]) -> LoopText:
        self._refuse_missing(text for text, _ in terms)
        return self._assembler.unroll(terms, self._instructions)

    def unroll_in_order(self, order: Sequence[str]) -> LoopText:
        self._refuse_missing(order)
        return self._assembler.unroll_in_order(order, self._instructions)

    def _refuse_missing(self, texts: Iterable[str]) -> None:
        for text in texts:
            scheme = by_text().get(text)
            if scheme is not None and (reason := self.obstacle(scheme)):
                raise CannotMeasureError(text, reason)


def unroll(
    terms: Sequence[tuple[str, int]],
    instructions: int = INSTRUCTIONS,
    *,
    breaking: bool = False,
) -> LoopText:
    """The usual body of an experiment; `breaking` has no effect. Raises `CannotMeasureError`."""
    return _with_code(Assembler().unroll(terms, instructions), terms[0][0])


def unroll_in_order(order: Sequence[str]) -> LoopText:
    """A body whose copies contain the schemes in this order. Raises `CannotMeasureError`."""
    return _with_code(Assembler().unroll_in_order(order), order[0])


def _with_code(body: LoopText, scheme: str) -> LoopText:
    """The body after assembling it, so that a missing assembler is detected here."""
    try:
        assert body.code
    except AssemblerError as error:
        raise CannotMeasureError(scheme, str(error)) from None
    return body


def breakers_of(scheme: str) -> Sequence[Kind]:
    return ()


def around(avx: bool) -> AArch64Bodies:
    """The context of usual bodies."""
    return AArch64Bodies(None)


def machine_bodies(
    schemes: Collection[str],
    flags: frozenset[str] | None,
    options: Options,
) -> AArch64Bodies:
    """The bodies for a CPU with these features; None where unknown."""
    return AArch64Bodies(flags, options)

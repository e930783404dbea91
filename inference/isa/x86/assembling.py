"""Experiments as unrolled loop bodies: machine code for the agent (thesis §3.2.1, Algorithm 3.1).

A body is a sequence of copies of the experiment, with operands chosen for all of them together, so that any
number of copies from the beginning is a body as well. It relies on the registers and memory of `frame`, is
independent of its address, and preserves stack pointer, memory register and counter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from iced_x86 import Decoder, Encoder, Formatter, FormatterSyntax, Instruction, Register

from inference.agent.protocol import Frame
from inference.isa.machine_bodies import INSTRUCTIONS, WRITTEN_LINES, CannotMeasureError, Kind, interleave
from inference.isa.scheme import Scheme
from inference.isa.x86 import dependency_breakers
from inference.isa.x86.allocation import AllocationError, Allocator
from inference.isa.x86.body_context import X86BodyContext, clash
from inference.isa.x86.demands import Demands, demands, obstacle
from inference.isa.x86.forms import Form
from inference.isa.x86.iced_types import RegisterValue
from inference.isa.x86.instances import ADDRESS_OF_CODE, immediate, instance
from inference.isa.x86.scheme_set import scheme_and_form

__all__ = ["CannotMeasureError", "LoopCode", "frame", "unroll", "unroll_in_order"]

_SMALLEST_DISPLACEMENT, _LARGEST_DISPLACEMENT = -128, 127  # that fit into a byte


@dataclass(frozen=True)
class LoopCode:
    """A loop body: `copies` copies of an experiment, the first `half_copies` of them in `half_bytes`.

    Attributes:
        chains: Registers of the most constrained read-write operand, divided by the number of such operands
            per copy; None without any. A latency of up to so many times the measured cycles is hidden.
        breakers: Kinds of instructions that break dependencies.
    """

    code: bytes
    copies: int
    half_bytes: int
    half_copies: int
    chains: float | None = None
    breakers: tuple[Kind, ...] = ()

    @cached_property
    def listing(self) -> tuple[str, ...]:
        """The instructions in Intel syntax; formatted on demand."""
        formatter = Formatter(FormatterSyntax.INTEL)
        formatter.space_after_operand_separator = True
        return tuple(map(formatter.format, Decoder(64, self.code, ip=ADDRESS_OF_CODE)))


@dataclass(frozen=True, slots=True)
class _Plan:
    """A scheme before operands are chosen: `pattern` is an instance with immediates."""

    scheme: Scheme
    demands: Demands
    pattern: Instruction


def unroll(
    terms: Sequence[tuple[str, int]],
    instructions: int = INSTRUCTIONS,
    *,
    breaking: bool = False,
    least_bytes: int = 0,
    written_lines: int = WRITTEN_LINES,
) -> LoopCode:
    """A loop body of at least two copies and about so many instructions.

    Args:
        terms: (scheme text, multiplicity) pairs; equal multisets give equal code.
        instructions: The approximate number.
        breaking: Other instructions break dependencies of hard-wired operands.
        least_bytes: See `Options`.
        written_lines: Cache lines that mere stores take turns in.

    Raises:
        CannotMeasureError: A scheme is unknown or cannot be instantiated, or schemes cannot be combined
            (`body_context`). Legacy SSE needs `frame(avx=False)`.
        ValueError: A multiplicity is below 1, or there are no terms.
    """
    return unroll_in_order(
        interleave(terms),
        instructions,
        breaking=breaking,
        least_bytes=least_bytes,
        written_lines=written_lines,
    )


def unroll_in_order(
    order: Sequence[str],
    instructions: int = INSTRUCTIONS,
    *,
    breaking: bool = False,
    least_bytes: int = 0,
    written_lines: int = WRITTEN_LINES,
) -> LoopCode:
    """A loop body as of `unroll`, whose copies contain the schemes in this order."""
    if not order:
        raise ValueError("an experiment has at least one instruction")
    plans = {text: _plan(text, breaking) for text in order}
    if clashing := clash(plan.scheme for plan in plans.values()):
        raise CannotMeasureError(clashing[0].text, clashing[1])
    sequence = [plans[text] for text in order]
    try:
        allocator = Allocator((plan.demands for plan in sequence), written_lines)
    except AllocationError as error:
        raise CannotMeasureError("; ".join(plans), str(error)) from None
    copies = max(2, -(-instructions // len(order)))
    half_copies = copies // 2
    code = bytearray()
    half_bytes = 0
    for copy in range(copies):
        if copy == half_copies:
            half_bytes = len(code)
        for plan in sequence:
            for instruction in _instructions(plan, allocator):
                code += _encode(instruction, least_bytes)
    used = dict.fromkeys(breaker.kind for plan in sequence for breaker in plan.demands.breakers)
    return LoopCode(bytes(code), copies, half_bytes, half_copies, allocator.chains(), tuple(used))


_PADDING_PREFIX = b"\x3e"  # the segment ds, which 64-bit code has no use for
_MAX_PREFIXES = 3
"""Some decoders need a cycle for each further prefix."""


def _encode(instruction: Instruction, least_bytes: int) -> bytes:
    encoder = Encoder(64)
    encoder.encode(instruction, ADDRESS_OF_CODE)
    code = encoder.take_buffer()
    return _PADDING_PREFIX * min(max(least_bytes - len(code), 0), _MAX_PREFIXES) + code


def frame(avx: bool = True) -> Frame:
    """The registers and memory that bodies rely on; without `avx` for legacy SSE, and processors without AVX.

    rsi is not among the registers: it contains the address of the memory, the argument of the frame's
    function. Instructions that name ah, bh, ch or dh address memory through it.
    """
    return X86BodyContext(avx).frame


@cache
def _plan(text: str, breaking: bool) -> _Plan:
    scheme_form = scheme_and_form(text)
    if scheme_form is None:
        raise CannotMeasureError(text, "there is no such scheme for x86-64")
    scheme, form = scheme_form
    if reason := obstacle(scheme, form, breaking=breaking):
        raise CannotMeasureError(text, reason)
    return _Plan(scheme, demands(scheme, form), pattern(form))


def pattern(form: Form) -> Instruction:
    """An instance of the form with the immediates of measured instructions (`immediate`)."""
    instruction = instance(form)
    has_immediate = False
    for position, hole in enumerate(form.holes):
        if hole.kind != "immediate" or hole.fixed:
            continue
        value = immediate(form.mnemonic, hole.width, hole.value)
        if has_immediate:
            instruction.immediate8_2nd = value
        else:
            instruction.set_immediate_u64(position, value)
        has_immediate = True
    return instruction


def set_register(instruction: Instruction, part: str, position: int, register: RegisterValue) -> None:
    """Set the register of an operand, or of the part of one that `register_choices.Part` names."""
    if part == "register":
        instruction.set_op_register(position, register)
    elif part == "base":
        instruction.memory_base = register
    elif part == "index":
        instruction.memory_index = register
    elif part == "mask":
        instruction.op_mask = register


def _instructions(plan: _Plan, allocator: Allocator) -> Iterator[Instruction]:
    """The next instance of a scheme, behind the instructions that break its dependencies."""
    needed = plan.demands
    families = dict(zip(needed.choices, allocator.registers(needed), strict=True))
    for breaker in needed.breakers:
        yield dependency_breakers.instruction(breaker, families)
    instruction = plan.pattern.copy()
    for choice, family in families.items():
        set_register(instruction, choice.part, choice.position, choice.registers[family])
    if needed.memory is not None:
        offset = allocator.slot(needed.memory, needed.memory_bytes)
        short = _SMALLEST_DISPLACEMENT <= offset <= _LARGEST_DISPLACEMENT
        instruction.memory_base = Register.RSI if needed.low_base else Register.R14
        if needed.index is not None:
            instruction.memory_index = needed.index
        instruction.memory_displ_size = 1 if short else 8
        instruction.memory_displacement = offset % 2**64
    yield instruction

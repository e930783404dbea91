"""Experiments as unrolled loop bodies: machine code for the agent (thesis §3.2.1, Algorithm 3.1).

A body is a sequence of copies of the experiment, operands chosen in one go, so that any number of copies from
the beginning is a body as well. It relies on what `frame` says about registers and memory, does not depend on
where it lies, and leaves stack pointer, memory register and counter alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from iced_x86 import Decoder, Encoder, Formatter, FormatterSyntax, Instruction, Register

from inference.agent.protocol import Frame
from inference.isa.machine_bodies import INSTRUCTIONS, WRITTEN_LINES, CannotMeasureError, Kind, interleaved
from inference.isa.scheme import Scheme
from inference.isa.x86 import breaking as breakers
from inference.isa.x86.allocation import AllocationError, Allocator
from inference.isa.x86.demands import Demands, demands, obstacle
from inference.isa.x86.forms import Form
from inference.isa.x86.iced_types import RegisterValue
from inference.isa.x86.instances import ADDRESS_OF_CODE, immediate, instance
from inference.isa.x86.scheme_set import described
from inference.isa.x86.surroundings import Surroundings, clash

__all__ = ["CannotMeasureError", "LoopCode", "frame", "unroll", "unroll_in_order"]

_SMALLEST_DISPLACEMENT, _LARGEST_DISPLACEMENT = -128, 127  # that fit into a byte


@dataclass(frozen=True)
class LoopCode:
    """A loop body: `copies` copies of an experiment, the first `half_copies` of them in `half_bytes`.

    `chains`: how many registers the most confined operand that is read and written takes turns in, over how
    many of them there are in a copy, None where there is none: a latency of up to so many times the measured
    cycles is hidden. `breakers`: kinds of instructions that stand before others to break dependencies.
    """

    code: bytes
    copies: int
    half_bytes: int
    half_copies: int
    chains: float | None = None
    breakers: tuple[Kind, ...] = ()

    @cached_property
    def listing(self) -> tuple[str, ...]:
        """The instructions in Intel syntax; made when asked for."""
        formatter = Formatter(FormatterSyntax.INTEL)
        formatter.space_after_operand_separator = True
        return tuple(formatter.format(one) for one in Decoder(64, self.code, ip=ADDRESS_OF_CODE))


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is known about a scheme before operands are chosen: `pattern` is an instance with immediates."""

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

    `terms` are (scheme text, multiplicity) pairs; equal multisets give equal code. Legacy SSE wants
    `frame(avx=False)`. `breaking`: dependencies of hard-wired operands are broken by other instructions.
    `least_bytes`: see `Options`. `written_lines`: cache lines that mere stores take turns in.
    Raises `CannotMeasureError` for a scheme that is unknown or cannot be instantiated and for schemes that do
    not go together (`surroundings`); `ValueError` for a multiplicity below 1 or no term at all.
    """
    return unroll_in_order(
        interleaved(terms),
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
    """A loop body as `unroll` makes them, of copies in which the schemes stand in this order."""
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
                code += _encoded(instruction, least_bytes)
    used = dict.fromkeys(one.kind for plan in sequence for one in plan.demands.breakers)
    return LoopCode(bytes(code), copies, half_bytes, half_copies, allocator.chains(), tuple(used))


_NO_CHANGE = b"\x3e"  # the segment ds, which 64-bit code has no use for
_MOST_PREFIXES = 3
"""Some decoders take a cycle for each further one."""


def _encoded(instruction: Instruction, least_bytes: int) -> bytes:
    encoder = Encoder(64)
    encoder.encode(instruction, ADDRESS_OF_CODE)
    code = encoder.take_buffer()
    return _NO_CHANGE * min(max(least_bytes - len(code), 0), _MOST_PREFIXES) + code


def frame(avx: bool = True) -> Frame:
    """The registers and memory that bodies rely on; without `avx` for processors that lack it and legacy SSE.

    rsi is not among the registers: it keeps the address of the memory, which the frame's function is called
    with. Instructions that name ah, bh, ch or dh address memory through it.
    """
    return Surroundings(avx).frame


@cache
def _plan(text: str, breaking: bool) -> _Plan:
    found = described(text)
    if found is None:
        raise CannotMeasureError(text, "there is no such scheme for x86-64")
    scheme, form = found
    if reason := obstacle(scheme, form, breaking=breaking):
        raise CannotMeasureError(text, reason)
    return _Plan(scheme, demands(scheme, form), pattern(form))


def pattern(form: Form) -> Instruction:
    """An instance of the form with the immediates that measured instructions have (`immediates`)."""
    instruction = instance(form)
    seen = False
    for position, hole in enumerate(form.holes):
        if hole.kind != "immediate" or hole.fixed:
            continue
        value = immediate(form.mnemonic, hole.width, hole.value)
        if seen:
            instruction.immediate8_2nd = value
        else:
            instruction.set_immediate_u64(position, value)
        seen = True
    return instruction


def put_register(instruction: Instruction, part: str, position: int, register: RegisterValue) -> None:
    """Let an operand, or the part of one that `choosing.Part` names, be this register; others stay."""
    if part == "register":
        instruction.set_op_register(position, register)
    elif part == "base":
        instruction.memory_base = register
    elif part == "index":
        instruction.memory_index = register
    elif part == "mask":
        instruction.op_mask = register


def _instructions(plan: _Plan, allocator: Allocator) -> Iterator[Instruction]:
    """The next instance of a scheme, what breaks its dependencies first."""
    wanted = plan.demands
    families = dict(zip(wanted.choices, allocator.registers(wanted), strict=True))
    for breaker in wanted.breakers:
        yield breakers.instruction(breaker, families)
    instruction = plan.pattern.copy()
    for choice, family in families.items():
        put_register(instruction, choice.part, choice.position, choice.registers[family])
    if wanted.memory is not None:
        offset = allocator.slot(wanted.memory, wanted.memory_bytes)
        short = _SMALLEST_DISPLACEMENT <= offset <= _LARGEST_DISPLACEMENT
        instruction.memory_base = Register.RSI if wanted.low_base else Register.R14
        if wanted.index is not None:
            instruction.memory_index = wanted.index
        instruction.memory_displ_size = 1 if short else 8
        instruction.memory_displacement = offset % 2**64
    yield instruction

"""Experiments as unrolled loop bodies: machine code for the agent (thesis §3.2.1, Algorithm 3.1).

A body is a sequence of copies of the experiment, operands chosen in one go, so that any number of copies from
the beginning is a body as well. It relies on what `frame` says about registers and memory, does not depend on
where it lies, and leaves stack pointer, memory register and counter alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from iced_x86 import Decoder, Encoder, Formatter, FormatterSyntax, Instruction, Register

from inference.agent.protocol import Frame
from inference.isa.scheme import Scheme
from inference.isa.x86.allocation import AllocationError, Allocator
from inference.isa.x86.demands import Demands, demands, obstacle
from inference.isa.x86.forms import Form
from inference.isa.x86.immediates import immediate
from inference.isa.x86.instances import ADDRESS_OF_CODE, instance
from inference.isa.x86.scheme_set import described

_SMALLEST_DISPLACEMENT, _LARGEST_DISPLACEMENT = -128, 127  # that fit into a byte

# Every value is below 16, so that a bit of that number lies within any memory operand, and odd.
_VALUES = {
    "rax": 7, "rcx": 5, "rdx": 3, "rbx": 9, "rbp": 11, "rdi": 13,
    "r8": 15, "r9": 7, "r10": 5, "r11": 3, "r12": 9, "r13": 11,
}  # fmt: skip


class CannotMeasureError(ValueError):
    """A scheme that cannot be part of an experiment on a real processor, and why."""

    def __init__(self, scheme: str, reason: str) -> None:
        self.scheme = scheme
        self.reason = reason
        super().__init__(f"{scheme!r} cannot be measured: {reason}")


@dataclass(frozen=True)
class LoopCode:
    """A loop body: `copies` copies of an experiment, the first `half_copies` of them in `half_bytes`."""

    code: bytes
    copies: int
    half_bytes: int
    half_copies: int

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


def unroll(terms: Sequence[tuple[str, int]], instructions: int = 100) -> LoopCode:
    """A loop body of at least two copies and about so many instructions.

    `terms` are (scheme text, multiplicity) pairs; equal multisets give equal code. Legacy SSE wants
    `frame(avx=False)`. Raises `CannotMeasureError` for a scheme that is unknown or cannot be instantiated and
    for legacy SSE beside VEX-encoded schemes; `ValueError` for a multiplicity below 1 or no term at all.
    """
    order = _interleaved(terms)
    plans = {text: _plan(text) for text in order}
    _refuse_mixture(plans.values())
    sequence = [plans[text] for text in order]
    try:
        allocator = Allocator(plan.demands for plan in sequence)
    except AllocationError as error:
        raise CannotMeasureError("; ".join(plans), str(error)) from None
    copies = max(2, -(-instructions // len(order)))
    half_copies = copies // 2
    encoder = Encoder(64)
    half_bytes = 0
    length = 0
    for copy in range(copies):
        if copy == half_copies:
            half_bytes = length
        for plan in sequence:
            length += encoder.encode(_instruction(plan, allocator), ADDRESS_OF_CODE)
    return LoopCode(encoder.take_buffer(), copies, half_bytes, half_copies)


def frame(avx: bool = True) -> Frame:
    """The registers and memory that bodies rely on; without `avx` for processors that lack it and legacy SSE.

    rsi is not among the registers: it keeps the address of the memory, which the frame's function is called
    with. Instructions that name ah, bh, ch or dh address memory through it.
    """
    return Frame(registers=_VALUES, avx=avx)


def _interleaved(terms: Sequence[tuple[str, int]]) -> list[str]:
    """The schemes of one copy, the instances of each as far apart as they can be."""
    counts: dict[str, int] = {}
    for text, count in terms:
        if count < 1:
            raise ValueError(f"the multiplicity of {text!r} must be > 0, not {count}")
        counts[text] = counts.get(text, 0) + count
    if not counts:
        raise ValueError("an experiment has at least one instruction")
    places = [((2 * k + 1) / count, text) for text, count in counts.items() for k in range(count)]
    return [text for _, text in sorted(places)]


@cache
def _plan(text: str) -> _Plan:
    found = described(text)
    if found is None:
        raise CannotMeasureError(text, "there is no such scheme for x86-64")
    scheme, form = found
    if reason := obstacle(scheme, form):
        raise CannotMeasureError(text, reason)
    return _Plan(scheme, demands(scheme, form), _pattern(form))


def _pattern(form: Form) -> Instruction:
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


def _instruction(plan: _Plan, allocator: Allocator) -> Instruction:
    """The next instance of a scheme."""
    wanted = plan.demands
    instruction = plan.pattern.copy()
    for choice, family in zip(wanted.choices, allocator.registers(wanted), strict=True):
        register = choice.registers[family]
        if choice.part == "register":
            instruction.set_op_register(choice.position, register)
        elif choice.part == "base":
            instruction.memory_base = register
        else:
            instruction.memory_index = register
    if wanted.memory is not None:
        offset = allocator.slot(wanted.memory)
        short = _SMALLEST_DISPLACEMENT <= offset <= _LARGEST_DISPLACEMENT
        instruction.memory_base = Register.RSI if wanted.low_base else Register.R14
        instruction.memory_displ_size = 1 if short else 8
        instruction.memory_displacement = offset % 2**64
    return instruction


def _refuse_mixture(plans: Iterable[_Plan]) -> None:
    """Legacy SSE keeps the upper halves of vector registers: after VEX-encoded writes it waits for them."""
    vectors = {"legacy": "", "VEX": ""}
    for plan in plans:
        if plan.scheme.encoding in vectors and any(
            operand.name.startswith(("XMM", "YMM", "xmm", "zmm")) for operand in plan.scheme.operands
        ):
            vectors[plan.scheme.encoding] = plan.scheme.text
    if all(vectors.values()):
        raise CannotMeasureError(
            vectors["legacy"], f"legacy SSE and VEX-encoded instructions ({vectors['VEX']}) do not mix"
        )

"""Loop bodies of experiments, for all instruction sets: their options, properties and protocols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd
from typing import Any, Literal, Protocol

from inference.agent.protocol import Frame
from inference.isa.dependences import InstructionAccesses
from inference.isa.scheme import Scheme

Kind = Literal["zero", "copy", "extend", "vector-ones", "mask-ones"]

COSTS: dict[Kind, str] = {
    "zero": "xor of a register with itself: an issue slot, and no port on cores since Sandy Bridge and Zen",
    "copy": "mov between registers: an issue slot, and where moves are not eliminated a µop on any ALU",
    "extend": "movzx between registers: an issue slot, and where moves are not eliminated a µop on any ALU",
    "vector-ones": "vpcmpeqd of a register with itself: a µop on the ports of integer vector comparisons",
    "mask-ones": "kxnorw of a register with itself: a µop on the ports of mask logic",
}
"""The cost of each kind, for readers of a measurement that contains it."""

INSTRUCTIONS = 100  # in an unrolled loop body, about
MIN_BODY_LENGTH, MAX_BODY_LENGTH = 20, 400

WRITTEN_LINES = 20
"""Cache lines that mere writes take turns in: far more than are written within five cycles. The number suits
bodies of 100 instructions, in which the turns begin again with every iteration."""

MIN_WRITTEN_LINES = 8
"""The choice for cores that are slower with more lines (Zen 5: twice as slow over 13 as over 12)."""

USUAL = "usual"
ZERO = "zero"
VALUES = {
    USUAL: "small odd numbers, floats of 1.1",
    ZERO: "zero everywhere",
    "one": "one, floats next to 1",
    "large": "near the largest, floats of 9e37",
    "random": "bits as by chance, floats of 1.2 and 1.4",
}
"""{class of values in registers and memory: description}; measurements use "usual" by default."""


@dataclass(frozen=True)
class Options:
    """The options of loop bodies that a user may choose.

    Attributes:
        instructions: The approximate number in an unrolled body.
        breaking: Other instructions break dependencies of hard-wired operands, and are measured too.
        values: A key of `VALUES`.
        least_bytes: Least bytes of an instruction of x86-64: shorter ones get prefixes without effect; 0
            for none.
        written_lines: Cache lines that mere stores take turns in, None for the usual number.
    """

    instructions: int = INSTRUCTIONS
    breaking: bool = False
    values: str = USUAL
    least_bytes: int = 0
    written_lines: int | None = None

    def as_json(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if value != getattr(Options, name)}

    @property
    def unrolling(self) -> dict[str, Any]:
        """The keyword arguments of `unroll`; `values` belong to the frame."""
        fields = {name: getattr(self, name) for name in ("instructions", "breaking", "least_bytes")}
        return fields if self.written_lines is None else {**fields, "written_lines": self.written_lines}


DEFAULTS = Options()


class MachineCode(Protocol):
    """A loop body for `inference.agent.protocol.BatchItem`."""

    @property
    def code(self) -> bytes: ...

    @property
    def copies(self) -> int:
        """Copies of the experiment in it."""

    @property
    def half_bytes(self) -> int:
        """Length of the shorter loop body at its beginning."""

    @property
    def half_copies(self) -> int:
        """Copies of the experiment in the shorter loop, which is measured to compare."""


class BodyContext(Protocol):
    """The frame of loop bodies, for all instruction sets."""

    @property
    def frame(self) -> Frame:
        """Registers and memory of the bodies."""

    @property
    def options(self) -> Options: ...

    def obstacle(self, scheme: Scheme) -> str:
        """Why a scheme cannot be measured within this frame, "" where it can."""


class LoopBody(MachineCode, Protocol):
    @property
    def listing(self) -> tuple[str, ...]: ...

    @property
    def chains(self) -> float | None:
        """The number of registers that take turns in read and written operands, None without any."""

    @property
    def breakers(self) -> Sequence[Kind]:
        """The kinds of instructions that break dependencies in it."""


class MachineBodies(BodyContext, Protocol):
    @property
    def flags(self) -> frozenset[str] | None:
        """The CPU's flags, None where the bodies themselves refuse missing features."""

    @property
    def avx(self) -> bool:
        """Whether VEX-encoded instructions are among the bodies."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """Further properties that change results, beside machine and frame."""

    def unroll(self, terms: Sequence[tuple[str, int]]) -> MachineCode:
        """The body of an experiment; `terms` are (scheme text, multiplicity) pairs."""

    def unroll_in_order(self, order: Sequence[str]) -> MachineCode:
        """A body whose copies contain the schemes in this order."""


MAX_UNUSED_REGISTERS = 2
"""Registers that may stay unused for evenly mixed chains."""


@dataclass(frozen=True, slots=True)
class LoopSize:
    """The size of a loop body: `instructions` and bytes of so many `copies` of an experiment."""

    instructions: int
    size: int
    copies: int


@dataclass(frozen=True, slots=True)
class BodyAccesses:
    """The `instructions` of a loop body of `size` bytes with so many `copies` of an experiment."""

    instructions: tuple[InstructionAccesses, ...]
    copies: int
    size: int


class CannotMeasureError(ValueError):
    """A scheme cannot be part of an experiment on a real processor; `reason` says why."""

    def __init__(self, scheme: str, reason: str) -> None:
        self.scheme = scheme
        self.reason = reason
        super().__init__(f"{scheme!r} cannot be measured: {reason}")


def interleave(terms: Sequence[tuple[str, int]]) -> list[str]:
    """The schemes of one copy, with the instances of each as far apart as possible.

    `terms` are (scheme text, multiplicity) pairs. Raises `ValueError` for a multiplicity below 1.

    >>> interleave([("a", 2), ("b", 1)])
    ['a', 'b', 'a']
    """
    counts: dict[str, int] = {}
    for text, count in terms:
        if count < 1:
            raise ValueError(f"the multiplicity of {text!r} must be > 0, not {count}")
        counts[text] = counts.get(text, 0) + count
    places = [((2 * k + 1) / count, text) for text, count in counts.items() for k in range(count)]
    return [text for _, text in sorted(places)]


def evenly_mixed(minimum: int, maximum: int, operands: int) -> int:
    """The best number of registers for the operands of a loop's copies to take turns in.

    If it had a factor in common with the number of operands, each operand would get registers of its own:
    quick instructions would wait for nothing, and slow ones only for each other.

    Args:
        minimum: Smallest number of registers.
        maximum: Largest number; up to `MAX_UNUSED_REGISTERS` of these may stay unused.
        operands: Number of operands per copy.

    >>> evenly_mixed(2, 8, 2)
    7
    """
    sizes = range(maximum, max(minimum, maximum - MAX_UNUSED_REGISTERS) - 1, -1)
    return min(sizes, key=lambda size: gcd(size, operands))

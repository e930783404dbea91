"""Loop bodies of experiments, of whichever instruction set: how they are made up, and what they are like."""

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
"""What each kind costs of itself, for whoever reads a measurement with it."""

INSTRUCTIONS = 100
FEWEST, MOST = 20, 400

WRITTEN_LINES = 20
"""Cache lines that mere writes take turns in: far more than are written within five cycles. The number suits
bodies of 100 instructions, in which the turns begin anew with every iteration."""
FEWEST_WRITTEN_LINES = 8
"""Of a core that takes longer over more (Zen 5: over 13 twice as long as over 12)."""

USUAL = "usual"
ZERO = "zero"
VALUES = {
    USUAL: "small odd numbers, floats of 1.1",
    ZERO: "zero everywhere",
    "one": "one, floats next to 1",
    "large": "near the largest, floats of 9e37",
    "random": "bits as by chance, floats of 1.2 and 1.4",
}
"""{class of values that registers and memory hold: what it is}; "usual" is what everything is measured with
unless something else is asked for."""


@dataclass(frozen=True)
class Options:
    """How loop bodies are made, as far as a user may choose it.

    `instructions`: about how many an unrolled body has. `breaking`: other instructions break dependencies of
    hard-wired operands (`inference.isa.machine_bodies`), and are measured along. `values`: a key of `VALUES`.
    `least_bytes`: of an instruction of x86-64, shorter ones get prefixes that change nothing; 0 for none.
    `written_lines`: that mere stores take turns in, None for the usual number.
    """

    instructions: int = INSTRUCTIONS
    breaking: bool = False
    values: str = USUAL
    least_bytes: int = 0
    written_lines: int | None = None

    def as_json(self) -> dict[str, Any]:
        """What differs from the defaults."""
        return {name: value for name, value in vars(self).items() if value != getattr(Options, name)}

    @property
    def of_bodies(self) -> dict[str, Any]:
        """The keyword arguments with which bodies are unrolled; `values` are those of the frame."""
        chosen = {name: getattr(self, name) for name in ("instructions", "breaking", "least_bytes")}
        return chosen if self.written_lines is None else {**chosen, "written_lines": self.written_lines}


DEFAULTS = Options()


class MachineCode(Protocol):
    """A loop body as `inference.agent.protocol.BatchItem` needs it."""

    @property
    def code(self) -> bytes: ...

    @property
    def copies(self) -> int:
        """Copies of the experiment in it."""

    @property
    def half_bytes(self) -> int:
        """Length of a shorter loop body at its beginning."""

    @property
    def half_copies(self) -> int:
        """Copies in the shorter one."""


class Around(Protocol):
    """What loop bodies need around them, of whichever instruction set."""

    @property
    def frame(self) -> Frame:
        """Registers and memory of the bodies."""

    @property
    def options(self) -> Options: ...

    def obstacle(self, scheme: Scheme) -> str:
        """Why a scheme cannot be measured within this frame, "" where it can."""


class LoopBody(MachineCode, Protocol):
    """A loop body that can be shown."""

    @property
    def listing(self) -> tuple[str, ...]: ...

    @property
    def chains(self) -> float | None:
        """How many registers what is read and written takes turns in, None where nothing is."""

    @property
    def breakers(self) -> Sequence[Kind]:
        """Kinds of instructions that stand before others to break dependencies."""


class MachineBodies(Around, Protocol):
    """What makes the bodies for a machine."""

    @property
    def flags(self) -> frozenset[str] | None:
        """The CPU's, None where the bodies themselves refuse what it lacks."""

    @property
    def avx(self) -> bool:
        """Whether VEX-encoded instructions are among the bodies."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """What else changes results, besides machine and frame."""

    def unroll(self, terms: Sequence[tuple[str, int]]) -> MachineCode:
        """The body of an experiment; `terms` are (scheme text, multiplicity) pairs."""

    def unroll_in_order(self, order: Sequence[str]) -> MachineCode:
        """The body in whose copies the schemes stand in this order."""


LEFT_OUT = 2
"""Registers that may stay unused for the sake of evenly mixed chains."""


@dataclass(frozen=True, slots=True)
class LoopSize:
    """Of a loop body: its `instructions` and bytes, with so many `copies` of an experiment."""

    instructions: int
    size: int
    copies: int


@dataclass(frozen=True, slots=True)
class BodyAccesses:
    """The `instructions` of a loop body of `size` bytes, which has so many `copies` of an experiment."""

    instructions: tuple[InstructionAccesses, ...]
    copies: int
    size: int


class CannotMeasureError(ValueError):
    """A scheme that cannot be part of an experiment on a real processor, and why."""

    def __init__(self, scheme: str, reason: str) -> None:
        self.scheme = scheme
        self.reason = reason
        super().__init__(f"{scheme!r} cannot be measured: {reason}")


def interleaved(terms: Sequence[tuple[str, int]]) -> list[str]:
    """The schemes of one copy, the instances of each as far apart as they can be.

    `terms` are (scheme text, multiplicity) pairs. Raises `ValueError` for a multiplicity below 1.
    """
    counts: dict[str, int] = {}
    for text, count in terms:
        if count < 1:
            raise ValueError(f"the multiplicity of {text!r} must be > 0, not {count}")
        counts[text] = counts.get(text, 0) + count
    places = [((2 * k + 1) / count, text) for text, count in counts.items() for k in range(count)]
    return [text for _, text in sorted(places)]


def evenly_mixed(fewest: int, most: int, operands: int) -> int:
    """How many of `most` registers, but at least `fewest`, so many operands per copy had best take turns in.

    In a number that has a factor in common with that of the operands, each operand would get registers of its
    own: quick instructions would wait for nobody and slow ones only for each other.
    """
    sizes = range(most, max(fewest, most - LEFT_OUT) - 1, -1)
    return min(sizes, key=lambda size: gcd(size, operands))

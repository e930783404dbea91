"""Loop bodies for the experiments of one machine, of whichever instruction set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from inference.agent.protocol import Frame
from inference.isa.body_options import Options
from inference.isa.breakers import Kind
from inference.isa.scheme import Scheme


class MachineCode(Protocol):
    """A loop body as `inference.agent.protocol.BatchItem` needs it."""

    @property
    def code(self) -> bytes: ...

    @property
    def copies(self) -> int:
        """Copies of the experiment in it."""
        ...

    @property
    def half_bytes(self) -> int:
        """Length of a shorter loop body at its beginning."""
        ...

    @property
    def half_copies(self) -> int:
        """Copies in the shorter one."""
        ...


class Around(Protocol):
    """What loop bodies need around them, of whichever instruction set."""

    @property
    def frame(self) -> Frame:
        """Registers and memory of the bodies."""
        ...

    @property
    def options(self) -> Options: ...

    def obstacle(self, scheme: Scheme) -> str:
        """Why a scheme cannot be measured within this frame, "" where it can."""
        ...


class LoopBody(MachineCode, Protocol):
    """A loop body that can be shown."""

    @property
    def listing(self) -> tuple[str, ...]: ...

    @property
    def chains(self) -> float | None:
        """How many registers what is read and written takes turns in, None where nothing is."""
        ...

    @property
    def breakers(self) -> Sequence[Kind]:
        """Kinds of instructions that stand before others to break dependencies."""
        ...


class MachineBodies(Around, Protocol):
    """What makes the bodies for a machine."""

    @property
    def flags(self) -> frozenset[str] | None:
        """The CPU's, None where the bodies themselves refuse what it lacks."""
        ...

    @property
    def avx(self) -> bool:
        """Whether VEX-encoded instructions are among the bodies."""
        ...

    @property
    def identity(self) -> Mapping[str, Any]:
        """What else changes results, besides machine and frame."""
        ...

    def unroll(self, terms: Sequence[tuple[str, int]]) -> MachineCode:
        """The body of an experiment; `terms` are (scheme text, multiplicity) pairs."""
        ...

    def unroll_in_order(self, order: Sequence[str]) -> MachineCode:
        """The body in whose copies the schemes stand in this order."""
        ...

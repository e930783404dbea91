"""Loop bodies for AArch64 machines, in the form in which `RemoteMeasurer` wants them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property

from inference.agent.protocol import Frame
from inference.core.measured_slots import Padding
from inference.isa import aarch64
from inference.isa.aarch64 import by_text
from inference.isa.aarch64.assembling import Assembler, LoopText, frame
from inference.isa.bodies import X86
from inference.isa.scheme import Scheme
from inference.isa.unrolling import CannotMeasureError
from inference.isa.x86.surroundings import DEFAULTS, Options

# Which schemes of each instruction set issue slots are counted with.


_PADDINGS = {
    X86: Padding("mov GPR[64]:W, GPR[64]:R", "xchg GPR[64]:RW, GPR[64]:RW"),
    aarch64.NAME: Padding("mov GPR[64]:W, GPR[64]:R"),
}


def padding_of(isa: str) -> Padding | None:
    """The padding of the instruction set of this name; None for one that is not built in."""
    return _PADDINGS.get(isa)


_ALWAYS = ("", "BASE")


class ArmBodies:
    """Assembles for a processor with these features, as /proc/cpuinfo lists them; None where none are known.

    `options`: how many instructions a body has; AArch64 has neither dependencies to break nor other values.
    """

    def __init__(self, features: Collection[str] | None, options: Options = DEFAULTS) -> None:
        self._features = features
        self._instructions = options.instructions
        self._assembler = Assembler()

    @cached_property
    def frame(self) -> Frame:
        """Registers and memory of the bodies."""
        return frame()

    @property
    def options(self) -> Options:
        """Those that count here."""
        return Options(instructions=self._instructions)

    def obstacle(self, scheme: Scheme) -> str:
        """What of the scheme's needs the processor has not, in words; "" where nothing is missing."""
        if self._features is None or scheme.extension in _ALWAYS:
            return ""
        return "" if scheme.extension.lower() in self._features else f"this CPU lacks {scheme.extension}"

    def unroll(self, terms: Sequence[tuple[str, int]]) -> LoopText:
        """See `Assembler.unroll`."""
        self._refuse_missing(text for text, _ in terms)
        return self._assembler.unroll(terms, self._instructions)

    def unroll_in_order(self, order: Sequence[str]) -> LoopText:
        """See `Assembler.unroll_in_order`."""
        self._refuse_missing(order)
        return self._assembler.unroll_in_order(order, self._instructions)

    def _refuse_missing(self, texts: Iterable[str]) -> None:
        for text in texts:
            scheme = by_text().get(text)
            if scheme is not None and (reason := self.obstacle(scheme)):
                raise CannotMeasureError(text, reason)

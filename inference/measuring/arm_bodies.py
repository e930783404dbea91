"""Loop bodies for AArch64 machines, in the form in which `RemoteMeasurer` wants them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property

from inference.agent.protocol import Frame
from inference.isa.aarch64 import by_text
from inference.isa.aarch64.assembling import Assembler, LoopText, frame
from inference.isa.scheme import Scheme
from inference.isa.unrolling import CannotMeasureError
from inference.isa.x86.surroundings import DEFAULTS, Options

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

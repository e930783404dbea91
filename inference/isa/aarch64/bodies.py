"""The loop bodies of experiments of AArch64."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from inference.agent.protocol import Frame
from inference.isa.aarch64 import by_text, catalogue
from inference.isa.aarch64.assembling import INSTRUCTIONS, Assembler, LoopText, frame
from inference.isa.body_options import DEFAULTS, Options
from inference.isa.breakers import Kind
from inference.isa.llvm_mc import AssemblerError
from inference.isa.scheme import Scheme
from inference.isa.unrolling import CannotMeasureError

needs_assembler = True
padding = ("mov GPR[64]:W, GPR[64]:R",)


class AArch64Bodies:
    """Assembles for a processor with these features, as /proc/cpuinfo lists them; None where none are known.

    `options`: how many instructions a body has; AArch64 has neither dependencies to break nor other values.
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
        """Registers and memory of the bodies."""
        return frame()

    @property
    def options(self) -> Options:
        return Options(instructions=self._instructions)

    def obstacle(self, scheme: Scheme) -> str:
        """What of the scheme's needs the processor has not, in words; "" where nothing is missing."""
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
    """The usual body of an experiment; nothing breaks dependencies. Raises `CannotMeasureError`."""
    return _assembled(Assembler().unroll(terms, instructions), terms[0][0])


def unroll_in_order(order: Sequence[str]) -> LoopText:
    """The body in whose copies the schemes stand in this order. Raises `CannotMeasureError`."""
    return _assembled(Assembler().unroll_in_order(order), order[0])


def _assembled(body: LoopText, scheme: str) -> LoopText:
    """With its code, so that a missing assembler is noticed here."""
    try:
        assert body.code
    except AssemblerError as error:
        raise CannotMeasureError(scheme, str(error)) from None
    return body


def breakers_of(scheme: str) -> Sequence[Kind]:
    return ()


def around(avx: bool) -> AArch64Bodies:
    """What usual bodies need around them."""
    return AArch64Bodies(None)


def machine_bodies(
    schemes: Collection[str],
    flags: frozenset[str] | None,
    options: Options,
) -> AArch64Bodies:
    """What makes the bodies for a CPU with these features, None where none are known."""
    return AArch64Bodies(flags, options)

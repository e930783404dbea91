"""Loop bodies of experiments for x86-64, and the reads and writes of their instructions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inference.agent.protocol import Frame
from inference.isa.dependences import InstructionAccesses
from inference.isa.machine_bodies import DEFAULTS, BodyAccesses, Kind, LoopSize, Options
from inference.isa.scheme import Scheme
from inference.isa.x86 import assembling
from inference.isa.x86.availability import missing_feature
from inference.isa.x86.blocks import block_of_bytes
from inference.isa.x86.body_context import X86BodyContext
from inference.isa.x86.dependences import accesses_of
from inference.isa.x86.scheme_set import scheme_and_form

unroll, unroll_in_order = assembling.unroll, assembling.unroll_in_order
needs_assembler = False
padding = ("mov GPR[64]:W, GPR[64]:R", "xchg GPR[64]:RW, GPR[64]:RW")

_AVX_ENCODINGS = ("VEX", "EVEX")


def around(avx: bool) -> X86BodyContext:
    """The context of usual bodies; `avx`: VEX-encoded instructions are among them."""
    return X86BodyContext(avx)


def breakers_of(scheme: str) -> Sequence[Kind]:
    """The kinds of instructions that break a scheme's dependencies, before each copy."""
    return unroll([(scheme, 1)], instructions=1, breaking=True).breakers


@dataclass(frozen=True)
class X86Bodies:
    """The bodies for a machine; see `inference.isa.machine_bodies.MachineBodies`."""

    context: X86BodyContext
    flags: frozenset[str]

    @property
    def identity(self) -> Mapping[str, Any]:
        """The layout of reads: results with another one, one word of a line, are not mixed with these."""
        return {"loads": "words of a line in turn"}

    @property
    def avx(self) -> bool:
        """Whether VEX-encoded instructions are among the bodies."""
        return self.context.avx

    @property
    def frame(self) -> Frame:
        return self.context.frame

    @property
    def options(self) -> Options:
        return self.context.options

    def obstacle(self, scheme: Scheme) -> str:
        """Why a scheme cannot be measured within this frame, "" where it can."""
        return self.context.obstacle(scheme)

    def unroll(self, terms: Sequence[tuple[str, int]]) -> assembling.LoopCode:
        return unroll(terms, **self.options.unrolling)

    def unroll_in_order(self, order: Sequence[str]) -> assembling.LoopCode:
        """A body whose copies contain the schemes in this order."""
        return unroll_in_order(order, **self.options.unrolling)


def machine_bodies(schemes: Collection[str], flags: frozenset[str] | None, options: Options) -> X86Bodies:
    """The bodies of these schemes for a CPU with these flags; None where the flags are unknown."""
    features = flags or frozenset()
    return X86Bodies(context_of(schemes, features, options), features)


def context_of(schemes: Iterable[str], flags: Collection[str], options: Options = DEFAULTS) -> X86BodyContext:
    """The context of loop bodies of these schemes on a processor with these flags."""
    texts = list(schemes)
    supported = [scheme for scheme in _described_schemes(texts) if not missing_feature(scheme, flags)]
    avx = "avx" in flags and needs_avx(texts)
    return X86BodyContext.of(supported, avx=avx, flags=flags, options=options)


def needs_avx(schemes: Iterable[str]) -> bool:
    """Whether a scheme needs loop bodies with AVX around them; legacy SSE needs them without."""
    return any(scheme.encoding in _AVX_ENCODINGS for scheme in _described_schemes(schemes))


def _described_schemes(texts: Iterable[str]) -> list[Scheme]:
    return [pair[0] for text in texts if (pair := scheme_and_form(text)) is not None]


def loop_body(terms: Sequence[tuple[str, int]], options: Options = DEFAULTS) -> BodyAccesses:
    """The measured body of an experiment. Raises `inference.isa.machine_bodies.CannotMeasureError`."""
    code = unroll(terms, **options.unrolling)
    instructions = accesses_of(block_of_bytes(code.code), equal_start=True)
    return BodyAccesses(instructions, code.copies, len(code.code))


def loop_size(terms: Sequence[tuple[str, int]], options: Options = DEFAULTS) -> LoopSize:
    """The size of the measured body; much quicker than its reads and writes.

    Raises `inference.isa.machine_bodies.CannotMeasureError`.
    """
    code = unroll(terms, **options.unrolling)
    return LoopSize(code.copies * sum(count for _, count in terms), len(code.code), code.copies)


def body_accesses(
    terms: Sequence[tuple[str, int]], options: Options = DEFAULTS
) -> tuple[tuple[InstructionAccesses, ...], int]:
    """The instructions of the measured body, and its number of copies of the experiment.

    Raises `inference.isa.machine_bodies.CannotMeasureError`.
    """
    body = loop_body(terms, options)
    return body.instructions, body.copies

"""The loop bodies of experiments of x86-64, and what their instructions read and write."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inference.agent.protocol import Frame
from inference.isa.dependences import InstructionAccesses
from inference.isa.machine_bodies import DEFAULTS, BodyAccesses, Kind, LoopSize, Options
from inference.isa.scheme import Scheme
from inference.isa.x86.assembling import LoopCode, unroll, unroll_in_order
from inference.isa.x86.availability import missing_feature
from inference.isa.x86.blocks import block_of_bytes
from inference.isa.x86.dependences import accesses_of
from inference.isa.x86.scheme_set import described
from inference.isa.x86.surroundings import Surroundings

__all__ = [
    "around",
    "body_accesses",
    "breakers_of",
    "loop_body",
    "loop_size",
    "machine_bodies",
    "needs_assembler",
    "padding",
    "surroundings_of",
    "unroll",
    "unroll_in_order",
    "wants_avx",
]

needs_assembler = False
padding = ("mov GPR[64]:W, GPR[64]:R", "xchg GPR[64]:RW, GPR[64]:RW")

_AVX_ENCODINGS = ("VEX", "EVEX")


def around(avx: bool) -> Surroundings:
    """What usual bodies need around them; `avx`: VEX-encoded instructions are among them."""
    return Surroundings(avx)


def breakers_of(scheme: str) -> Sequence[Kind]:
    """Kinds of instructions that stand before each copy of a scheme to break its dependencies."""
    return unroll([(scheme, 1)], instructions=1, breaking=True).breakers


@dataclass(frozen=True)
class X86Bodies:
    """The bodies for a machine; see `inference.isa.machine_bodies.MachineBodies`."""

    surroundings: Surroundings
    flags: frozenset[str]

    @property
    def identity(self) -> Mapping[str, Any]:
        """Where bodies read, which was one word of a line at first: no result is mixed with those."""
        return {"loads": "words of a line in turn"}

    @property
    def avx(self) -> bool:
        """Whether VEX-encoded instructions are among the bodies."""
        return self.surroundings.avx

    @property
    def frame(self) -> Frame:
        """Registers and memory of the bodies."""
        return self.surroundings.frame

    @property
    def options(self) -> Options:
        return self.surroundings.options

    def obstacle(self, scheme: Scheme) -> str:
        """Why a scheme cannot be measured within this frame, "" where it can."""
        return self.surroundings.obstacle(scheme)

    def unroll(self, terms: Sequence[tuple[str, int]]) -> LoopCode:
        """The body of an experiment."""
        return unroll(terms, **self.options.of_bodies)

    def unroll_in_order(self, order: Sequence[str]) -> LoopCode:
        """The body in whose copies the schemes stand in this order."""
        return unroll_in_order(order, **self.options.of_bodies)


def machine_bodies(schemes: Collection[str], flags: frozenset[str] | None, options: Options) -> X86Bodies:
    """What makes the bodies of these schemes for a CPU with these flags, none of which may be known."""
    known = flags or frozenset()
    return X86Bodies(surroundings_of(schemes, known, options), known)


def surroundings_of(
    schemes: Iterable[str], flags: Collection[str], options: Options = DEFAULTS
) -> Surroundings:
    """What loop bodies of these schemes need around them on a processor with these flags."""
    texts = list(schemes)
    found = [scheme for scheme in _described(texts) if not missing_feature(scheme, flags)]
    avx = "avx" in flags and wants_avx(texts)
    return Surroundings.of(found, avx=avx, flags=flags, options=options)


def wants_avx(schemes: Iterable[str]) -> bool:
    """Whether one of the schemes needs loop bodies with AVX around them; legacy SSE wants them without."""
    return any(scheme.encoding in _AVX_ENCODINGS for scheme in _described(schemes))


def _described(texts: Iterable[str]) -> list[Scheme]:
    return [pair[0] for text in texts if (pair := described(text)) is not None]


def loop_body(terms: Sequence[tuple[str, int]], options: Options = DEFAULTS) -> BodyAccesses:
    """The body that is measured for an experiment with these options.

    Raises `inference.isa.machine_bodies.CannotMeasureError`.
    """
    code = unroll(terms, **options.of_bodies)
    instructions = accesses_of(block_of_bytes(code.code), alike=True)
    return BodyAccesses(instructions, code.copies, len(code.code))


def loop_size(terms: Sequence[tuple[str, int]], options: Options = DEFAULTS) -> LoopSize:
    """How large the body is that is measured for an experiment; much quicker than what it reads and writes.

    Raises `inference.isa.machine_bodies.CannotMeasureError`.
    """
    code = unroll(terms, **options.of_bodies)
    return LoopSize(code.copies * sum(count for _, count in terms), len(code.code), code.copies)


def body_accesses(
    terms: Sequence[tuple[str, int]], options: Options = DEFAULTS
) -> tuple[tuple[InstructionAccesses, ...], int]:
    """The instructions of the body that is measured for an experiment, and how many copies of it they are.

    Raises `inference.isa.machine_bodies.CannotMeasureError`.
    """
    body = loop_body(terms, options)
    return body.instructions, body.copies

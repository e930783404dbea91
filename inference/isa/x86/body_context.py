"""The context of loop bodies of x86-64.

A run has one frame for all of its bodies, since a process is set up for a frame. The frame contains all that
the run's schemes need; incompatible schemes are refused:

- Legacy SSE keeps the upper halves of vector registers and waits for them after VEX-encoded writes.
- MMX's registers are those of x87; each kind finds them in an invalid state after the other.
- Gathers read a vector of indices: it is zero, so that each element lies at the memory operand's address.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from inference.agent.protocol import Frame
from inference.isa.machine_bodies import DEFAULTS, Options
from inference.isa.scheme import Scheme
from inference.isa.x86.demands import INDEX_VECTOR
from inference.isa.x86.values import VALUES, obstacle

Need = Literal["vex", "legacy", "avx512", "mmx", "x87", "indices"]

CLASHES: tuple[tuple[Need, Need, str], ...] = (
    ("legacy", "vex", "legacy SSE and VEX-encoded instructions do not mix"),
    ("x87", "mmx", "x87 and MMX instructions share their registers and do not mix"),
)
_VECTORS = ("XMM", "YMM", "ZMM", "xmm", "ymm", "zmm")


def needs(scheme: Scheme) -> frozenset[Need]:
    names = [operand.name for operand in scheme.operands]
    vectors = any(name.startswith(_VECTORS) for name in names)
    requirements: set[Need] = set()
    if vectors and scheme.encoding in {"legacy", "VEX", "EVEX"}:
        requirements.add("legacy" if scheme.encoding == "legacy" else "vex")
    if scheme.encoding == "EVEX" or any(name in {"K", "Kx2"} for name in names):
        requirements.add("avx512")
    if "MM" in names:
        requirements.add("mmx")
    if scheme.category == "x87":
        requirements.add("x87")
    if scheme.category == "gather":
        requirements.add("indices")
    return frozenset(requirements)


def clash(schemes: Iterable[Scheme]) -> tuple[Scheme, str] | None:
    """A scheme that is incompatible with another one, and the reason; None where all are compatible."""
    needing: dict[Need, Scheme] = {}
    for scheme in schemes:
        needing |= dict.fromkeys(needs(scheme), scheme)
    for first, second, why in CLASHES:
        if first in needing and second in needing:
            return needing[first], f"{why} (here: {needing[second].text})"
    return None


@dataclass(frozen=True)
class X86BodyContext:
    """The frame for some schemes, from their requirements and the processor's features.

    Attributes:
        avx: VEX-encoded instructions are among them.
        mask_bits: Mask bits of the processor's mask registers.
    """

    avx: bool = True
    needed: frozenset[Need] = frozenset()
    mask_bits: int = 64
    options: Options = DEFAULTS

    @classmethod
    def of(
        cls, schemes: Iterable[Scheme], *, avx: bool, flags: Collection[str], options: Options = DEFAULTS
    ) -> X86BodyContext:
        needed: frozenset[Need] = frozenset().union(*map(needs, schemes))
        return cls(avx, needed, 64 if "avx512bw" in flags else 16, options)

    @cached_property
    def frame(self) -> Frame:
        """Registers and memory of the bodies."""
        values = VALUES[self.options.values]
        masks = self.mask_bits if "avx512" in self.needed and self.avx else 0
        return Frame(
            registers=values.by_name(),
            vector=values.pattern,
            memory=values.pattern,
            avx=self.avx,
            vectors={f"xmm{INDEX_VECTOR}": 0} if "indices" in self.needed and self.avx else {},
            mask_bits=masks,
            fpu="mmx" if "mmx" in self.needed else "x87" if "x87" in self.needed else "",
        )

    def obstacle(self, scheme: Scheme) -> str:
        """Why a scheme cannot be measured within this frame, "" where it can."""
        requirements = needs(scheme)
        if "legacy" in requirements and self.avx:
            return "legacy SSE does not go with the VEX-encoded schemes of this run"
        if "x87" in requirements and self.frame.fpu != "x87":
            return "x87 does not go with the MMX schemes of this run"
        return obstacle(scheme, self.options.values)

"""What loop bodies of x86-64 need around them.

A run has one frame for all of its bodies, since a process is set up for a frame. So whatever its schemes need
is put into it, and what does not go together is refused:

- Legacy SSE keeps the upper halves of vector registers and waits for them after VEX-encoded writes.
- MMX's registers are those of x87; an instruction of either kind finds them in the wrong state after another.
- Gathers read a vector of indices: it is zero, so that each element lies where the memory operand is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from inference.agent.protocol import Frame
from inference.isa.machine_bodies import DEFAULTS, Options
from inference.isa.scheme import Scheme
from inference.isa.x86.demands import INDICES
from inference.isa.x86.values import VALUES, obstacle

Need = Literal["vex", "legacy", "avx512", "mmx", "x87", "indices"]

CLASHES: tuple[tuple[Need, Need, str], ...] = (
    ("legacy", "vex", "legacy SSE and VEX-encoded instructions do not mix"),
    ("x87", "mmx", "x87 and MMX instructions share their registers and do not mix"),
)
_VECTORS = ("XMM", "YMM", "ZMM", "xmm", "ymm", "zmm")


def needs(scheme: Scheme) -> frozenset[Need]:
    """What a scheme needs around it."""
    names = [operand.name for operand in scheme.operands]
    vectors = any(name.startswith(_VECTORS) for name in names)
    found: set[Need] = set()
    if vectors and scheme.encoding in {"legacy", "VEX", "EVEX"}:
        found.add("legacy" if scheme.encoding == "legacy" else "vex")
    if scheme.encoding == "EVEX" or any(name in {"K", "Kx2"} for name in names):
        found.add("avx512")
    if "MM" in names:
        found.add("mmx")
    if scheme.category == "x87":
        found.add("x87")
    if scheme.category == "gather":
        found.add("indices")
    return frozenset(found)


def clash(schemes: Iterable[Scheme]) -> tuple[Scheme, str] | None:
    """A scheme that cannot stand beside another of them, and why; None where all go together."""
    needing: dict[Need, Scheme] = {}
    for scheme in schemes:
        needing |= dict.fromkeys(needs(scheme), scheme)
    for one, other, why in CLASHES:
        if one in needing and other in needing:
            return needing[one], f"{why} (here: {needing[other].text})"
    return None


@dataclass(frozen=True)
class Surroundings:
    """The frame for some schemes, in words: what they need, and what the processor has.

    `avx`: VEX-encoded instructions are among them. `mask_bits`: of the processor's mask registers.
    """

    avx: bool = True
    needed: frozenset[Need] = frozenset()
    mask_bits: int = 64
    options: Options = DEFAULTS

    @classmethod
    def of(
        cls, schemes: Iterable[Scheme], *, avx: bool, flags: Collection[str], options: Options = DEFAULTS
    ) -> Surroundings:
        """For these schemes on a processor with these flags."""
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
            vectors={f"xmm{INDICES}": 0} if "indices" in self.needed and self.avx else {},
            mask_bits=masks,
            fpu="mmx" if "mmx" in self.needed else "x87" if "x87" in self.needed else "",
        )

    def obstacle(self, scheme: Scheme) -> str:
        """Why a scheme cannot be measured within this frame, "" where it can."""
        wanted = needs(scheme)
        if "legacy" in wanted and self.avx:
            return "legacy SSE does not go with the VEX-encoded schemes of this run"
        if "x87" in wanted and self.frame.fpu != "x87":
            return "x87 does not go with the MMX schemes of this run"
        return obstacle(scheme, self.options.values)

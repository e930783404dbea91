"""Instruction schemes as values: an instruction with typed holes for its operands (thesis §2.2).

The text of a scheme names it everywhere: in files, in the search box, in mappings. Its grammar:

    scheme   = [prefix] mnemonic [operand {", " operand}]
    prefix   = "lock" | "rep" | "repe" | "repne" | "data16" | "rex.w" | "{evex}"
    operand  = name [":" access]
    access   = "R" (read) | "W" (written) | "RW" (both)

| operand name | stands for |
|---|---|
| `GPR[8]` `GPR[16]` `GPR[32]` `GPR[64]` | a general-purpose register of that many bits |
| `GPR[8h]` | one of ah, bh, ch, dh |
| `GPR[8a]` | the half of `GPR[8]` whose register code ends in 0–3: al, cl, dl, bl, r8b–r11b |
| `GPR[8b]` | the other half: spl, bpl, sil, dil, r12b–r15b |
| `XMM` `YMM` `ZMM` `MM` `ST` `K` `TMM` | a vector, MMX, x87, mask or tile register |
| `XMMx4` `ZMMx4` `Kx2` | so many of them in a row, of which the first is named |
| `SEG` `CR` `DR` | a segment, control or debug register |
| `rax`, `cl`, `st0`, … | this very register |
| `MEM[64]` | memory of that many bits at base register + displacement |
| `MEM[32,XMM]` | the same with a vector of indices; the width is that of one element |
| `MEM[8,rdi]` | memory at this very register; `MEM[8,rbx+al]` likewise |
| `MOFFS[64]` | memory at an absolute 64-bit address |
| `ADDR` | an address that is computed but not accessed: base register + 32-bit displacement |
| `ADDR[B+S*I+D8]`, … | the same from base B, index I, scale S, displacement D (of 8 bits in D8), RIP |
| `IMM[32]` | an immediate of that many bits |
| `0x1` | this very immediate |
| `REL[32]` | a branch target, as a displacement of that many bits |

EVEX adds `{k}` or `{k}{z}` to the first operand (masked, zeroing), `{1to8}` to a memory operand (one element
broadcast), and `{er}` or `{sae}` after the last (rounding chosen, exceptions suppressed). `{evex}` stands
before a scheme that would read like a VEX-encoded one. `data16` and `rex.w` tell apart operand sizes that no
operand shows (`data16 push fs:R`).

Examples: `add GPR[64]:RW, GPR[64]:R`, `vaddpd XMM:W, XMM:R, MEM[128]:R`, `shl GPR[32]:RW, cl:R`,
`lock add MEM[32]:RW, IMM[8]:R`, `vaddps ZMM{k}{z}:W, ZMM:R, MEM[32]{1to16}:R`.

What an instruction uses without its text saying so (flags, fixed registers, the stack) is listed in
`Scheme.operands` as implicit. Two schemes differ in their texts exactly if they are different schemes; two
encodings of one text (`add r, r` has two) are one scheme.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Access = Literal["", "R", "W", "RW"]
MemoryUse = Literal["", "R", "W", "RW", "A"]
OperandKind = Literal["register", "memory", "address", "immediate", "branch", "flags"]


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand of a scheme.

    Attributes:
        name: Name as in the scheme text, without its access: `GPR[64]`, `cl`, `MEM[128]`, `0x1`.
        width: Bits, 0 where it has none.
        registers: Registers (or flags) that cannot be chosen: the fixed register itself, or those of an
            address.
        implicit: Whether it is not part of the text.
    """

    kind: OperandKind
    name: str
    access: Access = ""
    width: int = 0
    registers: tuple[str, ...] = ()
    implicit: bool = False

    @property
    def text(self) -> str:
        """The operand as in the scheme text, `GPR[64]:RW`."""
        return f"{self.name}:{self.access}" if self.access else self.name

    def as_json(self) -> dict[str, object]:
        """A plain object of the same fields, for the database."""
        return {
            "kind": self.kind,
            "name": self.name,
            "access": self.access,
            "width": self.width,
            "registers": list(self.registers),
            "implicit": self.implicit,
        }


@dataclass(frozen=True, slots=True)
class Scheme:
    """An instruction scheme and its properties that need no measurement.

    Attributes:
        mnemonic: Without prefixes.
        operands: The explicit ones in text order, then the implicit ones.
        extension: Name of the CPU feature, several joined by `+`.
        memory: Use of memory: read, written, both, `A` where an address is only computed, "" for none.
        width: Bits of the widest explicit operand.
        exclusion: Why it is not in the default inference set, "" where it is.
        starter: Whether it is in the small set for a first inference.
        mode: What must be set before it, `e32,m1` of RISC-V's vectors; "" where nothing must.
    """

    text: str
    mnemonic: str
    operands: tuple[Operand, ...]
    extension: str
    category: str
    encoding: str
    memory: MemoryUse
    width: int
    exclusion: str
    starter: bool
    mode: str = ""


TIMED_BY_VALUES = frozenset({"divide", "square-root"})
"""Categories of schemes whose time, alone too, depends on the values that they compute with."""


def memory_use(operands: Iterable[Operand]) -> MemoryUse:
    """The use of memory by the operands of a scheme, implicit ones included."""
    in_memory = [operand for operand in operands if operand.kind in {"memory", "address"}]
    accesses = {letter for operand in in_memory for letter in operand.access}
    if accesses == {"R", "W"}:
        return "RW"
    if accesses:
        return "R" if "R" in accesses else "W"
    return "A" if in_memory else ""


@dataclass(frozen=True, slots=True)
class Features:
    """Further facts that a file has of an instruction: the extension that defines it, and its category."""

    extension: str
    category: str


GROUPS = {"legacy-sse": "legacy SSE", "mmx": "MMX:", "x87": "x87:", "avx512": "AVX-512"}
"""{group of schemes that users can select: prefix of its exclusions}."""

SELECTABLE = (
    *GROUPS.values(),
    "a special case of",
    "an undocumented second encoding",
    "masked:",
    "another mode:",
)
"""Prefixes of exclusions that do not prevent measuring."""

BREAKABLE = (
    "reads and writes the flags",
    "reads and writes the fixed register",
    "reads and writes one of ah",
    "uses up its mask",
)
"""Prefixes of exclusions that apply unless other instructions break dependencies."""

TOP_OF_STACK = "reads and writes st0"
"""Prefix for x87: no other instruction breaks that dependency, but it closes a chain."""

ONLY_IN_CHAINS = ("each copy waits for the flags", "its time depends on the values")
"""Prefixes of exclusions that prevent measuring a scheme alone, but not in a chain."""


def is_in_bodies(scheme: Scheme) -> bool:
    """Whether loop bodies or chains of usual measurements may contain a scheme."""
    return not scheme.exclusion or scheme.exclusion.startswith((*BREAKABLE, *ONLY_IN_CHAINS))


LEGACY_SSE = GROUPS["legacy-sse"]
"""Prefix for schemes that their VEX-encoded forms replace."""

NOT_IN_A_BODY = (
    "Calls, returns, push and pop are in no set, though a sixth of what compilers emit: their copies cannot "
    "stand side by side in a loop body, since each changes where execution goes on or where the stack ends. "
    "Conditional jumps are measured with the comparison before them, by the part “Front end”."
)
"""Why the most frequent instructions of programs are in no set of schemes; for readers."""

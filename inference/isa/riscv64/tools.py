"""The LLVM facet of RISC-V: its schemes and code for LLVM and tools with its syntax, and LLVM's names.

In benchmarks, instructions of V are pseudo-instructions, one for each group; the setting has the width of
elements, `vtype = {AVL: VLMAX, SEW: e32, Policy: ta/ma}`:

    PseudoVADD_VV_M1, PseudoVFADD_VFPR32_M2_E32, PseudoVREDSUM_VS_M1_E8_MASK, PseudoVMAND_MM_B8
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache

from inference.isa.facets import ForeignNames, LlvmMeaning, WrittenScheme
from inference.isa.riscv64.assembling import LANGUAGE
from inference.isa.riscv64.decoding import decoded
from inference.isa.riscv64.printing import text_of
from inference.isa.scheme import Scheme
from inference.isa.words.assembling import WordBodies

triple, cpu = "riscv64", "generic-rv64"
features = "+m,+a,+f,+d,+v,+zba,+zbb,+zbs,+zfh,+zvfh,+zicond"
"""Those of the schemes, without C: LLVM has other names for compressed instructions. Older releases ignore
those that they lack.
"""

every_feature = f"+c,{features},+experimental-zvfh,+experimental-zicond"
models = "RISCV"
osaca = ""  # it has no core of RISC-V
simulated = ("sifive-u74", "sifive-p450", "sifive-p670")
probe = "addi a0, a1, 1"
comment = "#"
prefixes: frozenset[str] = frozenset()
marker = ((0x8FF02073).to_bytes(4, "little"), "zero, 2303")  # csrr zero, 2303

_SEPARATOR, _NUMBER_PLACE = 0x37, 12  # `lui zero, 0`
separator_code = re.compile(rb"\x37[\x00\x10\x20\x30\x40\x50\x60\x70\x80\x90\xa0\xb0\xc0\xd0\xe0\xf0]")
separator_text = re.compile(r"lui\s+zero,\s*(\w+)")

_DESTINATION = 7  # lowest bit of the number of the register that is written
_REGISTERS = 32
_PROBES = {
    "X{}": (1, 0x00100013),  # addi x0, x0, 1
    "F{}_D": (1, 0x22000053),  # fsgnj.d f0, f0, f0
    "F{}_F": (1, 0x20000053),
    "F{}_H": (1, 0x24000053),
    "V{}": (1, 0x5E003057),  # vmv.v.i v0, 0
    "V{}M2": (2, 0x9E00B057),  # vmv2r.v v0, v0
    "V{}M4": (4, 0x9E01B057),
    "V{}M8": (8, 0x9E03B057),
}
"""{LLVM's name of a register: (divisor of its number, an instruction that writes the first one)}."""


def separator(number: int) -> bytes:
    return (_SEPARATOR | number << _NUMBER_PLACE).to_bytes(4, "little")


def register_probes() -> dict[str, bytes]:
    """{register in LLVM's spelling: an instruction with it as first operand}."""
    return dict(_probes())


def _probes() -> Iterator[tuple[str, bytes]]:
    for name, (step, word) in _PROBES.items():
        for number in range(0, _REGISTERS, step):
            yield name.format(number), (word | number << _DESTINATION).to_bytes(4, "little")


@cache
def _all_schemes() -> Mapping[str, Scheme]:
    """All schemes as if they could be measured: LLVM has names for those that cannot, too."""
    return {text: replace(scheme, exclusion="") for text, scheme in LANGUAGE.schemes().items()}


_INSTANCES = WordBodies(LANGUAGE._replace(schemes=_all_schemes))


def instances(texts: Iterable[str]) -> dict[str, bytes]:
    """{scheme text: machine code of one instance, not compressed}, without unknown texts."""
    return _INSTANCES.instances(texts)


def gnu_scheme(text: str) -> WrittenScheme | None:
    """None: the only syntax is that of the schemes."""
    return None


def gnu_lines(code: bytes) -> list[str]:
    return [text_of(instruction) for instruction in decoded(code)]


_PSEUDO = re.compile(
    r"Pseudo(?P<opcode>V[A-Z0-9_]+?)_(?:M(?P<group>F?\d)|B(?P<ratio>\d+))(?:_E(?P<width>\d+))?"
    r"(?:_MF?\d)?(?P<mask>_MASK)?"
)
"""Behind the width, a second group is that of indices."""

_SCALAR = re.compile(r"FPR\d+")
"""The width of a floating-point register, which LLVM's machine instructions do not say."""

_WIDTH = re.compile(r"SEW: e(\d+)")
_MASK_BITS = 8  # bits of an element of which a register has a mask's bit each


class RiscvNames(ForeignNames):
    def llvm_meaning(self, opcode: str, setting: str) -> LlvmMeaning:
        """The machine instruction of an opcode, with its mode where opcode and setting say it.

        >>> RiscvNames().llvm_meaning("PseudoVFADD_VFPR32_M2_E32_MASK", "")
        LlvmMeaning(opcode='VFADD_VF', mode='e32,m2', is_masked=True)
        """
        pseudo = _PSEUDO.fullmatch(opcode)
        if pseudo is None:
            return LlvmMeaning(opcode.removeprefix("C_"))  # a compressed instruction is one of the scheme
        width = pseudo["width"] or next(iter(_WIDTH.findall(setting)), "")
        group = (pseudo["group"] or "").lower()
        if pseudo["ratio"]:
            registers = _MASK_BITS / int(pseudo["ratio"])
            group = f"{registers:g}" if registers >= 1 else f"f{1 / registers:g}"
        mode = f"m{group}" if pseudo["ratio"] else f"e{width},m{group}" if width else ""
        return LlvmMeaning(_SCALAR.sub("F", pseudo["opcode"]), mode, bool(pseudo["mask"]))


NAMES = RiscvNames()

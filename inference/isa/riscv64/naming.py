"""LLVM's names of RISC-V's instructions in benchmarks: V's are pseudo-instructions, one for each group.

    PseudoVADD_VV_M1, PseudoVFADD_VFPR32_M2_E32, PseudoVREDSUM_VS_M1_E8_MASK, PseudoVMAND_MM_B8

The setting of a benchmark has the width of elements: `vtype = {AVL: VLMAX, SEW: e32, Policy: ta/ma}`.
"""

from __future__ import annotations

import re

from inference.isa.facets import ForeignNames, LlvmMeaning

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

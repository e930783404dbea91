"""The spelling of RISC-V instructions: names of registers and numbers, pseudo-instructions such as `mv`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache

from inference.isa.riscv64 import RETURN_ADDRESS
from inference.isa.scheme import Scheme
from inference.isa.words.accesses import FLOAT, GENERAL, ZERO, ZERO_NUMBER, OperandValue, RegisterPart

GENERAL_NAMES = (
    *("zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1"),
    *(f"a{number}" for number in range(8)),
    *(f"s{number}" for number in range(2, 12)),
    *(f"t{number}" for number in range(3, 7)),
)
"""Names of the ABI by number."""

FLOAT_NAMES = (
    *(f"ft{number}" for number in range(8)),
    *("fs0", "fs1"),
    *(f"fa{number}" for number in range(8)),
    *(f"fs{number}" for number in range(2, 12)),
    *(f"ft{number}" for number in range(8, 12)),
)
"""Names of the ABI by number."""

ROUNDINGS: Mapping[int, str] = {0: "rne", 1: "rtz", 2: "rdn", 3: "rup", 4: "rmm", 7: "dyn"}
ROUNDING = "IMM[rounding]"
"""Operand of forms whose rounding mode is written."""

DYNAMIC_ROUNDING = 7
"""As `fcsr` says: what an instruction without a rounding mode has."""

FENCES: Mapping[int, str] = {
    bits: "".join(letter for place, letter in enumerate("wroi") if bits >> place & 1)[::-1] or "0"
    for bits in (3, *range(16))
}
"""Accesses that a fence orders: input, output, reads, writes."""

CSRS: Mapping[int, str] = {
    0x001: "fflags",
    0x002: "frm",
    0x003: "fcsr",
    0x008: "vstart",
    0x009: "vxsat",
    0x00A: "vxrm",
    0x00F: "vcsr",
    0xC00: "cycle",
    0xC01: "time",
    0xC02: "instret",
    0xC20: "vl",
    0xC21: "vtype",
    0xC22: "vlenb",
}
"""Control and status registers of user mode."""

ZERO_PART = RegisterPart(ZERO, ZERO_NUMBER, 64)
_RETURN_ADDRESS = RegisterPart(GENERAL, RETURN_ADDRESS, 64)

_ON_STACK = re.compile(r"(?:16|4)?spn?$")

_TWO_OF_THREE, _STACK_SLOT = "{1}, {3} | 2=1", "{1}, {2 offset}(sp) | 2 base=fixed 2"
WRITTEN_OPERANDS = {
    **dict.fromkeys(("c.nop", "c.unimp", "c.ebreak"), ""),
    **dict.fromkeys(("c.mv", "c.li", "c.lui"), "{1}, {2}"),
    **{f"c.{name}": _TWO_OF_THREE for name in ("addi", "addiw", "andi", "slli", "srli", "srai")},
    **{f"c.{name}": _TWO_OF_THREE for name in ("add", "sub", "addw", "subw", "and", "or", "xor")},
    **{f"c.{name}": "{1}, {2 offset}({2 base})" for name in ("lw", "ld", "sw", "sd", "fld", "fsd")},
    **{f"c.{name}sp": _STACK_SLOT for name in ("lw", "ld", "sw", "sd", "fld", "fsd")},
    "c.addi16sp": "sp, {3} | 1=fixed 2, 2=fixed 2",
    "c.addi4spn": "{1}, sp, {3} | 2=fixed 2",
    **dict.fromkeys(("c.beqz", "c.bnez"), "{1}, {3} | 2=general 0"),
    "c.j": "{1}",
    "c.jr": "{1} | 2=fixed 0",
    "c.jalr": "{2} | 1=fixed 1, 3=fixed 0",
    "jr": "{2}({1})",
    "jalr": "{1}, {3}({2})",
}
"""{mnemonic: operands as they are written | the others, by their codec or as equal to another one}."""

OTHER_OPERAND = re.compile(r"(\d(?: \w+)?)=(\w+(?: \d+)?)")
"""An operand that is not written, and what it is: another place, or a codec."""

Spelled = tuple[str, Sequence[int]]
"""Mnemonic, and the places of the operands that are written, from 0."""


def register_name(part: RegisterPart) -> str:
    """The name of the ABI: `a0`, `zero`, `fa5`; `v8` of a vector.

    >>> register_name(RegisterPart(GENERAL, 10, 64))
    'a0'
    """
    if part.bank == ZERO:
        return GENERAL_NAMES[0]
    if part.bank == GENERAL:
        return GENERAL_NAMES[part.number]
    return FLOAT_NAMES[part.number] if part.bank == FLOAT else f"v{part.number}"


def vtype_text(vtype: int) -> str:
    """What `vsetvli` sets, in words; the number where bits are reserved.

    >>> vtype_text(0xD0)
    'e32, m1, ta, ma'
    """
    group = _GROUPS.get(vtype & 7)
    if vtype >> 8 or vtype >> 3 & 7 > 3 or group is None:
        return str(vtype)
    policies = ("ta" if vtype & 64 else "tu", "ma" if vtype & 128 else "mu")
    return ", ".join((f"e{8 << (vtype >> 3 & 7)}", group, *policies))


def vtype_number(text: str) -> int | None:
    """The inverse of `vtype_text`; None for another text."""
    match = _VTYPE.fullmatch(text)
    if match is None:
        return None
    group = next((number for number, name in _GROUPS.items() if name == match[2]), 0)
    width = int(match[1]).bit_length() - 4
    return group | width << 3 | (match[3] == "ta") << 6 | (match[4] == "ma") << 7


_VTYPE = re.compile(r"e(8|16|32|64)(?:, *(m[1248]|mf[248]))?(?:, *(t[au]))?(?:, *(m[au]))?")
_GROUPS = {0: "m1", 1: "m2", 2: "m4", 3: "m8", 5: "mf8", 6: "mf4", 7: "mf2"}
"""Registers of a group by the lowest bits of a vtype."""


@cache
def uncompressed(mnemonic: str) -> str:
    """The mnemonic that a compressed one abbreviates; another one unchanged.

    >>> uncompressed("c.addi16sp"), uncompressed("c.beqz"), uncompressed("addi")
    ('addi', 'beq', 'addi')
    """
    if not mnemonic.startswith("c."):
        return mnemonic
    plain = _ON_STACK.sub("", mnemonic.removeprefix("c."))
    return plain.removesuffix("z") if plain in ("beqz", "bnez") else plain


def spelled(form: Scheme, operands: Sequence[OperandValue]) -> Spelled:
    """The usual spelling: that of the uncompressed instruction, and of pseudo-instructions."""
    mnemonic = uncompressed(form.mnemonic)
    for rule in _RULES.get(mnemonic, ()):
        if (spelling := rule(operands)) is not None:
            return spelling
    return mnemonic, range(len(operands))


_Rule = Callable[[Sequence[OperandValue]], Spelled | None]


def _without(mnemonic: str, place: int, value: OperandValue) -> _Rule:
    """The spelling of an instruction whose operand at a place has a value: without that operand."""

    def rule(operands: Sequence[OperandValue]) -> Spelled | None:
        places = [number for number in range(len(operands)) if number != place]
        return (mnemonic, places) if operands[place] == value else None

    return rule


def _jump_and_link_register(operands: Sequence[OperandValue]) -> Spelled | None:
    if operands[2] != 0:
        return None
    return ("jalr", [1] if operands[0] == _RETURN_ADDRESS else [0, 1])


def _jump_register(operands: Sequence[OperandValue]) -> Spelled | None:
    if operands[1] != 0:
        return None
    return ("ret", []) if operands[0] == _RETURN_ADDRESS else ("jr", [0])


def _csr_write(operands: Sequence[OperandValue]) -> Spelled | None:
    number = operands[1]
    if operands[0] != ZERO_PART or not isinstance(number, int):
        return None
    return (_WRITES[number], [2]) if number in _WRITES else ("csrw", [1, 2])


def _csr_read(operands: Sequence[OperandValue]) -> Spelled | None:
    number = operands[1]
    if operands[2] != ZERO_PART or not isinstance(number, int):
        return None
    return (_READS[number], [0]) if number in _READS else ("csrr", [0, 1])


_READS = {
    0x001: "frflags",
    0x002: "frrm",
    0x003: "frcsr",
    0xC00: "rdcycle",
    0xC01: "rdtime",
    0xC02: "rdinstret",
}
_WRITES = {0x001: "fsflags", 0x002: "fsrm", 0x003: "fscsr"}
_ALL_ACCESSES = 15

_RULES: Mapping[str, Sequence[_Rule]] = {
    "addiw": (_without("sext.w", 2, 0),),
    "xori": (_without("not", 2, -1),),
    "andi": (_without("zext.b", 2, 255),),
    "sub": (_without("neg", 1, ZERO_PART),),
    "subw": (_without("negw", 1, ZERO_PART),),
    "sltiu": (_without("seqz", 2, 1),),
    "sltu": (_without("snez", 1, ZERO_PART),),
    "slt": (_without("sltz", 2, ZERO_PART), _without("sgtz", 1, ZERO_PART)),
    "add.uw": (_without("zext.w", 2, ZERO_PART),),
    "beq": (_without("beqz", 1, ZERO_PART),),
    "bne": (_without("bnez", 1, ZERO_PART),),
    "bge": (_without("blez", 0, ZERO_PART), _without("bgez", 1, ZERO_PART)),
    "blt": (_without("bltz", 1, ZERO_PART), _without("bgtz", 0, ZERO_PART)),
    "jal": (_without("jal", 0, _RETURN_ADDRESS),),
    "jalr": (_jump_and_link_register,),
    "jr": (_jump_register,),
    "fence": (lambda operands: ("fence", []) if set(operands) == {_ALL_ACCESSES} else None,),
    "csrrs": (_csr_read, _without("csrs", 0, ZERO_PART)),
    "csrrw": (_csr_write,),
    **{f"csrr{name}": (_without(f"csr{name}", 0, ZERO_PART),) for name in ("c", "wi", "si", "ci")},
}
"""{mnemonic: pseudo-instructions for it, the first one that fits}."""

"""All forms of x86-64 instructions, enumerated from the opcode tables of iced-x86.

A form is one opcode with one hole chosen for each operand, a prefix, and for EVEX a decoration. Several forms
may have the same text (`add r, r` has two encodings); the scheme set keeps the first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import cast

from iced_x86 import (
    Code,
    CpuidFeature,
    EncodingKind,
    Instruction,
    MemorySizeExt,
    Mnemonic,
    OpCodeInfo,
)
from iced_x86 import OpCodeOperandKind as Kind

from inference.isa.x86.holes import (
    ADDRESS_SHAPES,
    GPR8,
    GPR8_HIGH,
    GPR8_HIGH_CODE,
    GPR8_LOW_CODE,
    Hole,
    address,
    choices,
    literal,
    memory,
)
from inference.isa.x86.iced_types import CodeValue, MemorySizeValue


def enum_names(enum: object) -> dict[int, str]:
    """{value: name} of one of iced's enumerations, which are modules of numbers at run time."""
    return {
        value: name
        for name, value in vars(enum).items()
        if isinstance(value, int) and not name.startswith("_")
    }


MNEMONICS = {value: name.lower() for value, name in enum_names(Mnemonic).items()}
FEATURES = enum_names(CpuidFeature)

_VIA_ONLY = ("PADLOCK", "CENTAUR", "CYRIX")
_NEAR_BRANCH_66 = frozenset({Kind.BR16_1, Kind.BR16_2, Kind.BR32_1, Kind.BR32_4})
_DECODED_OTHERWISE = frozenset({Code.RETNW, Code.RETNW_IMM16, Code.CALL_RM16, Code.JMP_RM16, Code.UD0})
"""Near branches whose 66 prefix Intel's processors ignore, and `ud0` without its operand."""

PREFIXES = frozenset({"lock", "rep", "repe", "repne", "data16", "rex.w"})
_REPEATED_WHILE_EQUAL = ("cmps", "scas")
STRING_REGISTERS = frozenset({"rsi", "rdi"})
_PREDICATES = {
    f"{prefix}cmp{kind}": count for prefix, count in (("", 8), ("v", 32)) for kind in ("ps", "pd", "ss", "sd")
}
"""Number of comparison predicates: assemblers have a mnemonic for each predicate."""


@dataclass(frozen=True, slots=True)
class Form:
    """One encoding of a scheme: `code` is iced's, `holes` has one entry per explicit operand.

    Attributes:
        prefix: "" or one of `PREFIXES`, before the mnemonic.
        masking: "", `{k}` or `{k}{z}`.
        rounding: "", `{er}` or `{sae}`.
        broadcast: Number of copies of a memory element, 0 for none.
        narrows: The holes of the scheme that this one restricts by a fixed immediate or half a register
            class; None for a scheme in its own right.
    """

    code: CodeValue
    mnemonic: str
    holes: tuple[Hole, ...]
    prefix: str = ""
    masking: str = ""
    rounding: str = ""
    broadcast: int = 0
    narrows: tuple[Hole, ...] | None = None


def forms(mnemonic: str | None = None) -> Iterator[Form]:
    """All forms, or those of one mnemonic, opcode by opcode in iced's order.

    Restricted ones follow the form that they restrict. Forms of different mnemonics are independent.
    """
    codes = _codes() if mnemonic is None else codes_of(mnemonic)
    opcodes = [info for info in map(OpCodeInfo, codes) if _is_usable(info)]
    prefixes = _operand_size_prefixes(opcodes)
    for info in opcodes:
        for form in _filled_forms(info, prefixes):
            yield from _with_variants(info, form)
            yield from _narrowed_forms(info, form)


def forms_of_code(code: CodeValue) -> Iterator[Form]:
    """The unrestricted forms of an opcode, in the same order; much quicker than all of a mnemonic."""
    info = OpCodeInfo(code)
    if _is_usable(info):
        for form in _filled_forms(info, _prefixes_of(MNEMONICS[info.mnemonic])):
            yield from _with_variants(info, form)


def _filled_forms(info: OpCodeInfo, prefixes: dict[CodeValue, str]) -> Iterator[Form]:
    for filling in _fillings(info):
        yield Form(info.code, MNEMONICS[info.mnemonic], filling, prefixes.get(info.code, ""))


def _with_variants(info: OpCodeInfo, form: Form) -> Iterator[Form]:
    for variant in _evex_forms(info, form) if info.encoding == EncodingKind.EVEX else [form]:
        yield variant
        yield from _prefixed_forms(info, variant)


@cache
def _prefixes_of(mnemonic: str) -> dict[CodeValue, str]:
    return _operand_size_prefixes([info for info in map(OpCodeInfo, codes_of(mnemonic)) if _is_usable(info)])


def has_forms(mnemonic: str) -> bool:
    """Whether the mnemonic has any form; quick."""
    return any(_is_usable(OpCodeInfo(code)) for code in codes_of(mnemonic))


def codes_of(mnemonic: str) -> Sequence[CodeValue]:
    """All of iced's opcodes of a mnemonic in iced's order, unsupported ones included."""
    return _CODES_BY_MNEMONIC.get(mnemonic, ())


def _codes() -> list[CodeValue]:
    return [cast(CodeValue, code) for code in sorted(enum_names(Code))]


def _codes_by_mnemonic() -> dict[str, list[CodeValue]]:
    grouped: dict[str, list[CodeValue]] = defaultdict(list)
    for code in _codes():
        grouped[MNEMONICS[OpCodeInfo(code).mnemonic]].append(code)
    return dict(grouped)


_CODES_BY_MNEMONIC = _codes_by_mnemonic()


def _is_usable(info: OpCodeInfo) -> bool:
    usable = (
        info.is_instruction
        and info.mode64
        and info.encoding != EncodingKind.MVEX
        and info.decoder_option == 0
        and not info.fwait
        and not info.is_reserved_nop
        and info.address_size in {0, 64}
    )
    if not usable or info.code in _DECODED_OTHERWISE or _NEAR_BRANCH_66.intersection(info.op_kinds()):
        return False
    return not any(feature.startswith(_VIA_ONLY) for feature in features(info.code))


def features(code: CodeValue) -> tuple[str, ...]:
    """The CPU features that an opcode needs, in iced's spelling."""
    instruction = Instruction()
    instruction.code = code
    return tuple(FEATURES[feature] for feature in instruction.cpuid_features())


def _operand_size_prefixes(opcodes: Sequence[OpCodeInfo]) -> dict[CodeValue, str]:
    """Prefixes that distinguish opcodes of one mnemonic without an operand that shows the operand size.

    The opcode without a prefix byte has none: 32 bits where there is such a form, else 64.
    """
    groups: dict[object, list[OpCodeInfo]] = defaultdict(list)
    for info in opcodes:
        if info.encoding == EncodingKind.LEGACY and info.operand_size:
            width = _memory_width(info.memory_size)
            spelling = tuple(tuple(hole.name for hole in choices(kind, width)) for kind in info.op_kinds())
            groups[info.mnemonic, spelling].append(info)
    prefixes = {}
    for group in groups.values():
        sizes = {info.operand_size for info in group}
        default_size = 32 if 32 in sizes else 64
        for info in group:
            if len(sizes) > 1 and info.operand_size != default_size:
                prefixes[info.code] = "data16" if info.operand_size == 16 else "rex.w"
    return prefixes


def _memory_width(memory_size: MemorySizeValue) -> int:
    return MemorySizeExt.size(memory_size) * 8


def _fillings(info: OpCodeInfo) -> Iterator[tuple[Hole, ...]]:
    """All choices of holes; ah to bh only where no operand needs a REX prefix."""
    width = _memory_width(info.memory_size)
    if MNEMONICS[info.mnemonic] == "lea":
        (register,) = choices(info.op0_kind, 0)
        yield from ((register, address(shape)) for shape in ADDRESS_SHAPES)
        return
    for filling in product(*(choices(kind, width) for kind in info.op_kinds())):
        if GPR8_HIGH in filling and (info.operand_size == 64 or info.encoding != EncodingKind.LEGACY):
            continue
        yield filling


def _prefixed_forms(info: OpCodeInfo, form: Form) -> Iterator[Form]:
    if info.can_use_lock_prefix and form.holes[0].kind == "memory":
        yield replace(form, prefix="lock")
    if any(hole.shape in STRING_REGISTERS for hole in form.holes) and info.can_use_rep_prefix:
        compares = form.mnemonic.startswith(_REPEATED_WHILE_EQUAL)
        for prefix in ("repe" if compares else "rep", "repne"):
            yield replace(form, prefix=prefix)


def _evex_forms(info: OpCodeInfo, form: Form) -> Iterator[Form]:
    """The form with all maskings, broadcasts, roundings and suppressions of exceptions that EVEX allows."""
    maskings = ["{k}" if info.require_op_mask_register else ""]
    if info.can_use_op_mask_register and not info.require_op_mask_register:
        maskings.append("{k}")
    if info.can_use_zeroing_masking and form.holes[0].kind == "register":
        maskings.append("{k}{z}")
    decorated = [form]
    has_memory = any(hole.kind == "memory" for hole in form.holes)
    if has_memory and info.can_broadcast:
        decorated.append(_broadcast(info, form))
    if not has_memory and info.can_use_rounding_control:
        decorated.append(replace(form, rounding="{er}"))
    elif not has_memory and info.can_suppress_all_exceptions:
        decorated.append(replace(form, rounding="{sae}"))
    for masking, variant in product(maskings, decorated):
        yield replace(variant, masking=masking) if masking else variant


def _broadcast(info: OpCodeInfo, form: Form) -> Form:
    width = _memory_width(info.broadcast_memory_size)
    copies = _memory_width(info.memory_size) // MemorySizeExt.element_size(info.broadcast_memory_size) // 8
    filling = tuple(memory(width) if hole.kind == "memory" else hole for hole in form.holes)
    return replace(form, holes=filling, broadcast=copies)


def _narrowed_forms(info: OpCodeInfo, form: Form) -> Iterator[Form]:
    """Restricted forms that published data sets distinguish.

    These are an 8-bit immediate of integer instructions fixed to 0 (a special case of some processors), the
    predicates of vector comparisons, and the two halves of the 8-bit registers (register code 0–3 or 4–7 in
    its low bits) where the instruction has no other register.
    """
    if info.encoding == EncodingKind.EVEX or not form.holes:
        return
    values: Sequence[int] = ()
    immediates = [hole for hole in form.holes if hole.kind == "immediate" and not hole.fixed]
    if [hole.width for hole in immediates] == [8]:
        if form.mnemonic in _PREDICATES and len(form.holes) > 2:
            values = range(_PREDICATES[form.mnemonic])
        elif _is_integer(form):
            values = (0,)
    variants = [form, *(_fix_immediate(form, value) for value in values)]
    for variant in variants:
        yield from _register_halves(info, variant)
    for variant in variants[1:]:
        yield variant
        yield from _prefixed_forms(info, variant)


def _is_integer(form: Form) -> bool:
    return all(hole.name.startswith(("GPR", "MEM", "IMM")) or hole.fixed for hole in form.holes)


def _fix_immediate(form: Form, value: int) -> Form:
    fixed = tuple(literal(hole, value) if hole.name == "IMM[8]" else hole for hole in form.holes)
    return replace(form, holes=fixed, narrows=form.holes)


def _register_halves(info: OpCodeInfo, form: Form) -> Iterator[Form]:
    grouped = info.is_group and len(form.holes) == 2 and form.holes[0] == GPR8
    if grouped and form.holes[1].kind == "immediate":
        for half in (GPR8_LOW_CODE, GPR8_HIGH_CODE):
            yield replace(form, holes=(half, form.holes[1]), narrows=form.holes)

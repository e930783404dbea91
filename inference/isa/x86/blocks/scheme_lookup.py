"""The scheme of a decoded instruction."""

from __future__ import annotations

from functools import cache, lru_cache

from iced_x86 import Instruction, OpKind, Register

from inference.isa.x86.forms import MNEMONICS, Form, forms_of_code
from inference.isa.x86.holes import ADDRESS_SHAPES, GPR8_HIGH, Hole
from inference.isa.x86.iced_types import CodeValue
from inference.isa.x86.scheme_set import text_of_form

_DIVIDED = {f"{shape}+D": f"{shape}+D8" for shape in ("B+I", "B+S*I")}
"""Forms of addresses with a displacement of 32 bits that only have a scheme for one of eight bits."""

_INSTRUCTION_POINTERS = frozenset((Register.RIP, Register.EIP))

Signature = tuple[object, ...]


def scheme_of(instruction: Instruction) -> str | None:
    """The text of its scheme; None for an instruction without one, and for an undecodable one.

    Schemes with a fixed immediate (`add GPR[64]:RW, 0x0`) are ignored in favour of the general one.
    """
    return _scheme_of(instruction.code, _signature(instruction))


def _signature(instruction: Instruction) -> Signature:
    """All properties that distinguish the schemes of one opcode."""
    holes = tuple(_operand_signature(instruction, position) for position in range(instruction.op_count))
    prefix = (
        instruction.has_lock_prefix,
        instruction.has_rep_prefix,
        instruction.has_repne_prefix,
    )
    masking = "" if instruction.op_mask == Register.NONE else "{k}"
    if instruction.zeroing_masking:
        masking += "{z}"
    rounding = "{er}" if instruction.rounding_control else ""
    if instruction.suppress_all_exceptions:
        rounding = rounding or "{sae}"
    return holes, prefix, masking, rounding, instruction.is_broadcast


def _operand_signature(instruction: Instruction, position: int) -> str:
    """The kind of an operand, where the opcode leaves it open."""
    kind = instruction.op_kind(position)
    if kind == OpKind.REGISTER:
        return "high" if Register.AH <= instruction.op_register(position) <= Register.BH else "register"
    if kind != OpKind.MEMORY:
        return "other"
    return f"memory {_shape(instruction)}" if MNEMONICS[instruction.mnemonic] == "lea" else "memory"


def _shape(instruction: Instruction) -> str:
    """The form of an address, by the names of `ADDRESS_SHAPES`."""
    if instruction.memory_base in _INSTRUCTION_POINTERS:
        return "RIP+D"
    parts = []
    if instruction.memory_base:  # NONE is 0
        parts.append("B")
    if instruction.memory_index:
        scaled = instruction.memory_index_scale > 1 or not parts
        parts.append("S*I" if scaled else "I")
    size = instruction.memory_displ_size
    if size == 1:
        parts.append("D8")
    elif size and not (parts == ["S*I"] and instruction.memory_displacement == 0):
        parts.append("D")
    shape = "+".join(parts)
    shape = "" if shape == "B+D" else shape
    return shape if shape in ADDRESS_SHAPES else _DIVIDED.get(shape, shape)


@lru_cache(maxsize=1 << 16)
def _scheme_of(code: CodeValue, signature: Signature) -> str | None:
    form = _by_signature(code).get(signature)
    return None if form is None else text_of_form(form)


@cache
def _by_signature(code: CodeValue) -> dict[Signature, Form]:
    form_by_signature: dict[Signature, Form] = {}
    for form in forms_of_code(code):
        form_by_signature.setdefault(_signature_of(form), form)
    return form_by_signature


def _signature_of(form: Form) -> Signature:
    prefix = (form.prefix == "lock", form.prefix in ("rep", "repe"), form.prefix == "repne")
    holes = tuple(_hole_signature(hole) for hole in form.holes)
    return holes, prefix, form.masking, form.rounding, form.broadcast > 0


def _hole_signature(hole: Hole) -> str:
    if hole.kind == "register":
        return "high" if hole.name == GPR8_HIGH.name else "register"
    if hole.kind == "address":
        return f"memory {hole.shape}"
    return "memory" if hole.kind == "memory" and hole.op_kind == OpKind.MEMORY else "other"

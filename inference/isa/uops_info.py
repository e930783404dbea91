"""Names for the instructions of uops.info's `instructions.xml`, in the words of this project's schemes.

The file spells out the registers that an operand can be (`AX,CX,…,R15W`); which class that is follows from
the set. Registers of which there is no choice keep their name. Operands that assembly does not show
(`suppressed`) belong to the name only where schemes show them: string instructions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from inference.isa.reading import register_class

_GENERAL = {
    frozenset(f"r{number}{suffix}" for number in range(8, 16)): name
    for suffix, name in (("w", "GPR[16]"), ("d", "GPR[32]"), ("", "GPR[64]"))
}
_NUMBERED = re.compile(r"([xyzt]mm|mm|k|st|cr|dr|bnd)\(?\d+\)?")
_ONE = re.compile(r"st\((\d)\)")
_HINTS = re.compile(r"\{(?:load|store|disp8|disp32)\} ")
_STRINGS = frozenset({"STRINGOP", "IOSTRINGOP"})
_COUNTED = frozenset({"rcx", "rsi", "rdi"})
_ADDRESS_PARTS = {"B": "B", "I": "I", "IS": "S*I", "D8": "D8", "D32": "D"}

Attributes = Mapping[str, str]


@dataclass
class XmlOperand:
    """An `operand` element: its attributes, and the registers or the value between its tags."""

    attributes: Attributes
    text: str = ""

    @property
    def kind(self) -> str:
        """reg, mem, imm, agen, relbr, flags or other."""
        return self.attributes.get("type", "")

    @property
    def access(self) -> str:
        """R, W, RW, or nothing."""
        return "".join(letter.upper() for letter in "rw" if self.attributes.get(letter) == "1")


@dataclass
class XmlInstruction:
    """An `instruction` element: its attributes, and its operands in order."""

    attributes: Attributes
    operands: list[XmlOperand] = field(default_factory=list)

    @property
    def title(self) -> str:
        """What uops.info calls it, e.g. `ADD_LOCK (M64, R64)`."""
        return self.attributes.get("string") or self.attributes.get("iform", "")


def scheme_name(instruction: XmlInstruction) -> str:
    """The name as scheme texts have it; uops.info's own one where an operand is of no class known here."""
    given = instruction.attributes
    head = _HINTS.sub("", given.get("asm", "").lower().strip())
    shown = [each for each in instruction.operands if _is_shown(each, given.get("category", ""))]
    mask = next((each for each in shown if each.attributes.get("opmask") == "1"), None)
    rest = [each for each in shown if each is not mask]
    names = [_name(each, given) for each in rest]
    if not head or any(name is None for name in names):
        return instruction.title.lower()
    parts = [name for name in names if name is not None]
    if mask is not None and parts:
        parts[0] += "{k}{z}" if given.get("zeroing") == "1" else "{k}"
    accesses = [_access(each, name) for each, name in zip(rest, parts, strict=True)]
    texts = [f"{name}:{access}" if access else name for name, access in zip(parts, accesses, strict=True)]
    if given.get("roundc") == "1":
        texts.append("{er}")
    elif given.get("sae") == "1":
        texts.append("{sae}")
    return f"{head} {', '.join(texts)}".strip()


def _is_shown(operand: XmlOperand, category: str) -> bool:
    if operand.attributes.get("suppressed") != "1":
        return operand.kind != "flags"
    if category not in _STRINGS:
        return False
    return operand.kind == "mem" or (operand.kind == "reg" and operand.text.lower() not in _COUNTED)


def _access(operand: XmlOperand, name: str) -> str:
    """As in scheme texts: nothing for what leaves no choice, or is only computed."""
    return "" if operand.kind in {"relbr", "agen"} or name.startswith("0x") else operand.access


def _name(operand: XmlOperand, instruction: Attributes) -> str | None:
    """The operand without its access, None for one that schemes have no word for."""
    if operand.kind == "reg":
        return _registers(operand.text)
    width = operand.attributes.get("width", "")
    if operand.kind == "mem":
        return _memory(operand, width)
    if operand.kind == "imm":
        value = operand.text.strip()
        return f"0x{int(value):x}" if value.isdecimal() and len(value) < 6 else f"IMM[{width}]"
    if operand.kind == "relbr":
        return f"REL[{width}]"
    if operand.kind == "agen":
        return _address(instruction.get("agen", ""))
    return None


def _registers(text: str) -> str | None:
    names = frozenset(filter(None, text.lower().replace(" ", "").split(",")))
    if not names:
        return None
    if len(names) == 1:
        return _ONE.sub(r"st\1", next(iter(names)))
    general = next((name for least, name in _GENERAL.items() if least <= names), None)
    if general or (known := register_class(names)) is None:
        kinds = {match[1] if (match := _NUMBERED.fullmatch(name)) else "" for name in names}
        return general or (kinds.pop().upper() or None if len(kinds) == 1 else None)
    return known.upper().replace("H]", "h]").replace("A]", "a]").replace("B]", "b]")


def _memory(operand: XmlOperand, width: str) -> str:
    given = operand.attributes
    base = given.get("base", "").lower() if given.get("suppressed") == "1" else given.get("VSIB", "")
    inside = f"{width},{base}" if base else width
    return f"MEM[{inside}]{given.get('memory-suffix', '')}"


def _address(shape: str) -> str:
    parts: Sequence[str] = [part for part in shape.split("_") if part]
    known = [_ADDRESS_PARTS.get(part, "") for part in parts]
    return f"ADDR[{'+'.join(known)}]" if all(known) and known else "ADDR"

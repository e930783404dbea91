"""Schemes and the instructions of uops.info's `instructions.xml`: names read, and elements written.

The file enumerates the registers of an operand (`AX,CX,…,R15W`), which determine its class. Fixed registers
keep their name. Operands that assembly omits (`suppressed`) belong to the name only where schemes show them:
string instructions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from inference.isa.name_parsing import register_class

_GENERAL = {
    frozenset(f"r{number}{suffix}" for number in range(8, 16)): name
    for suffix, name in (("w", "GPR[16]"), ("d", "GPR[32]"), ("", "GPR[64]"))
}
_NUMBERED = re.compile(r"([xyzt]mm|mm|k|st|cr|dr|bnd)\(?\d+\)?")  # `xmm3`, `st(1)`
_STACK_REGISTER = re.compile(r"st\((\d)\)")  # of x87
_HINTS = re.compile(r"\{(?:load|store|disp8|disp32)\} ")
_STRINGS = frozenset({"STRINGOP", "IOSTRINGOP"})
_STRING_REGISTERS = frozenset({"rcx", "rsi", "rdi"})
_ADDRESS_PARTS = {"B": "B", "I": "I", "IS": "S*I", "D8": "D8", "D32": "D"}

Attributes = Mapping[str, str]


@dataclass
class XmlOperand:
    """An `operand` element: its attributes, and the registers or the value as its text."""

    attributes: Attributes
    text: str = ""

    @property
    def kind(self) -> str:
        """reg, mem, imm, agen, relbr, flags or other."""
        return self.attributes.get("type", "")

    @property
    def access(self) -> str:
        """R, W, RW, or ""."""
        return "".join(letter.upper() for letter in "rw" if self.attributes.get(letter) == "1")


@dataclass
class XmlInstruction:
    """An `instruction` element: its attributes, and its operands in order."""

    attributes: Attributes
    operands: list[XmlOperand] = field(default_factory=list)

    @property
    def title(self) -> str:
        """uops.info's name, e.g. `ADD_LOCK (M64, R64)`."""
        return self.attributes.get("string") or self.attributes.get("iform", "")


def scheme_name(instruction: XmlInstruction) -> str:
    """The scheme text of an element; uops.info's own name where an operand has no known class."""
    fields = instruction.attributes
    head = _HINTS.sub("", fields.get("asm", "").lower().strip())
    category = fields.get("category", "")
    explicit = [operand for operand in instruction.operands if _is_explicit(operand, category)]
    mask = next((operand for operand in explicit if operand.attributes.get("opmask") == "1"), None)
    operands = [operand for operand in explicit if operand is not mask]
    names = [_name(operand, fields) for operand in operands]
    if not head or any(name is None for name in names):
        return instruction.title.lower()
    parts = [name for name in names if name is not None]
    if mask is not None and parts:
        parts[0] += "{k}{z}" if fields.get("zeroing") == "1" else "{k}"
    accesses = [_access(operand, name) for operand, name in zip(operands, parts, strict=True)]
    texts = [f"{name}:{access}" if access else name for name, access in zip(parts, accesses, strict=True)]
    if fields.get("roundc") == "1":
        texts.append("{er}")
    elif fields.get("sae") == "1":
        texts.append("{sae}")
    return f"{head} {', '.join(texts)}".strip()


def _is_explicit(operand: XmlOperand, category: str) -> bool:
    if operand.attributes.get("suppressed") != "1":
        return operand.kind != "flags"
    if category not in _STRINGS:
        return False
    return operand.kind == "mem" or (operand.kind == "reg" and operand.text.lower() not in _STRING_REGISTERS)


def _access(operand: XmlOperand, name: str) -> str:
    """The access in scheme texts: "" for fixed and only computed operands."""
    return "" if operand.kind in {"relbr", "agen"} or name.startswith("0x") else operand.access


def _name(operand: XmlOperand, instruction: Attributes) -> str | None:
    """The operand without its access, None for one that schemes cannot name."""
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
        return _STACK_REGISTER.sub(r"st\1", next(iter(names)))
    general = next((name for minimum, name in _GENERAL.items() if minimum <= names), None)
    if general or (class_name := register_class(names)) is None:
        kinds = {match[1] if (match := _NUMBERED.fullmatch(name)) else "" for name in names}
        return general or (kinds.pop().upper() or None if len(kinds) == 1 else None)
    return class_name.upper().replace("H]", "h]").replace("A]", "a]").replace("B]", "b]")


def _memory(operand: XmlOperand, width: str) -> str:
    fields = operand.attributes
    base = fields.get("base", "").lower() if fields.get("suppressed") == "1" else fields.get("VSIB", "")
    inside = f"{width},{base}" if base else width
    return f"MEM[{inside}]{fields.get('memory-suffix', '')}"


def _address(shape: str) -> str:
    parts: Sequence[str] = [part for part in shape.split("_") if part]
    shape_parts = [_ADDRESS_PARTS.get(part, "") for part in parts]
    return f"ADDR[{'+'.join(shape_parts)}]" if all(shape_parts) and shape_parts else "ADDR"


_NUMBERED_REGISTERS = [f"R{number}" for number in range(8, 16)]
_LEGACY = ("AX", "CX", "DX", "BX", "SP", "BP", "SI", "DI")
_CLASSES = {
    "GPR[8]": "AL,CL,DL,BL,SPL,BPL,SIL,DIL," + ",".join(f"{name}B" for name in _NUMBERED_REGISTERS),
    "GPR[8h]": "AH,CH,DH,BH",
    "GPR[8a]": "AL,CL,DL,BL,R8B,R9B,R10B,R11B",
    "GPR[8b]": "SPL,BPL,SIL,DIL,R12B,R13B,R14B,R15B",
    "GPR[16]": ",".join((*_LEGACY, *(f"{name}W" for name in _NUMBERED_REGISTERS))),
    "GPR[32]": ",".join((*(f"E{name}" for name in _LEGACY), *(f"{name}D" for name in _NUMBERED_REGISTERS))),
    "GPR[64]": ",".join((*(f"R{name}" for name in _LEGACY), *_NUMBERED_REGISTERS)),
    "XMM": ",".join(f"XMM{number}" for number in range(16)),
    "YMM": ",".join(f"YMM{number}" for number in range(16)),
    "ZMM": ",".join(f"ZMM{number}" for number in range(32)),
    "MM": ",".join(f"MM{number}" for number in range(8)),
    "K": ",".join(f"K{number}" for number in range(1, 8)),
    "ST": ",".join(f"ST({number})" for number in range(8)),
    "SEG": "DS,ES,FS,GS,SS",
    "CR": ",".join(f"CR{number}" for number in (0, 2, 3, 4, 8)),
    "DR": ",".join(f"DR{number}" for number in range(8)),
}
_MEMORY = re.compile(r"MEM\[(\d+)(?:,([A-Za-z]+))?\](\{\w+\})?")
"""`MEM[64]`, `MEM[64,rdi]`, with a decoration in braces."""

_SIZED = re.compile(r"(GPR|MEM|IMM|REL)\[(\d++)[a-z]?.*\]")
_LETTERS = {"GPR": "R", "MEM": "M", "IMM": "I", "REL": "Rel"}
_WRITTEN_PARTS = {"B": "B", "I": "I", "S*I": "IS", "D8": "D8", "D": "D32"}
_MASKED = re.compile(r"\{k\}(\{z\})?")
_KINDS = {"register": "reg", "memory": "mem", "immediate": "imm", "branch": "relbr", "address": "agen"}


def element(text: str, mnemonic: str, operands: Sequence[Mapping[str, Any]]) -> XmlInstruction:
    """The element of a scheme; `operands` are objects of `Operand.as_json`.

    `scheme_name` of it is the text again; where uops.info's notation cannot express it, the element has only
    the text.
    """
    explicit = [row for row in operands if not row.get("implicit")]
    xml = XmlInstruction(
        {"asm": _assembly(text, explicit), "string": _title(mnemonic, explicit)},
        [XmlOperand(*parts) for row in explicit if (parts := _operand(row)) is not None],
    )
    attributes = dict(xml.attributes)
    for operand in explicit:
        if masked := _MASKED.search(operand["name"]):
            xml.operands.append(XmlOperand({"type": "reg", "r": "1", "opmask": "1"}, _CLASSES["K"]))
            attributes["zeroing"] = "1" if masked[1] else "0"
        if operand["kind"] == "address":
            parts = operand["name"].removeprefix("ADDR").strip("[]").split("+")
            attributes["agen"] = "_".join(_WRITTEN_PARTS.get(part, "") for part in parts)
    attributes |= {name: "1" for name, sign in (("roundc", "{er}"), ("sae", "{sae}")) if text.endswith(sign)}
    xml.attributes = attributes
    return xml if scheme_name(xml) == text else XmlInstruction({"string": text})


def numbered_element(
    text: str, mnemonic: str, operands: Sequence[Mapping[str, Any]], names: Iterable[str]
) -> tuple[XmlInstruction, dict[str, int]]:
    """The element with implicit registers and flags, and {operand name: its number from 1}.

    Args:
        text: Text of the scheme.
        mnemonic: Mnemonic of the scheme.
        operands: Operands as stored with the scheme.
        names: Names as of `inference.isa.chains.ChainLink` without parts of memory: "1", "rax", "flags",
            "mask". All flags are one operand. Operands that only occur here are added: imported instruction
            sets lack implicit operands.
    """
    xml = element(text, mnemonic, operands)
    explicit = [row for row in operands if not row.get("implicit")]
    xml.operands = xml.operands or [XmlOperand(*(_operand(row) or _unusual(row))) for row in explicit]
    numbers = {str(number): number for number in range(1, len(explicit) + 1)}
    if any("{k}" in row["name"] for row in explicit):
        masks = [position for position, row in enumerate(xml.operands, start=1) if "opmask" in row.attributes]
        if not masks:
            xml.operands.append(XmlOperand({"type": "reg", "r": "1", "opmask": "1"}, _CLASSES["K"]))
        numbers["mask"] = masks[0] if masks else len(xml.operands)
    flags: dict[str, str] = {}
    for operand in operands:
        letters = operand["access"].lower()
        if operand["kind"] == "flags":
            flags |= {f"flag_{name.upper()}": letters for name in operand["registers"]}
        elif operand.get("implicit") and operand["kind"] == "register":
            attributes = {"type": "reg", "suppressed": "1", **dict.fromkeys(letters, "1")}
            xml.operands.append(
                XmlOperand({**attributes, "width": str(operand["width"])}, operand["name"].upper())
            )
            numbers.setdefault(operand["name"], len(xml.operands))
    if flags:
        access = dict.fromkeys((letter for letter in "rw" if letter in "".join(flags.values())), "1")
        xml.operands.append(XmlOperand({"type": "flags", "suppressed": "1", **access, **flags}))
        numbers["flags"] = len(xml.operands)
    for name in names:
        if name not in numbers:
            kind = "flags" if name == "flags" else "reg"
            register = "" if name == "flags" else name.upper()
            xml.operands.append(XmlOperand({"type": kind, "suppressed": "1"}, register))
            numbers[name] = len(xml.operands)
    return xml, numbers


def _unusual(operand: Mapping[str, Any]) -> tuple[dict[str, str], str]:
    """Attributes and inner text of an operand that the notation cannot express."""
    access = dict.fromkeys(operand["access"].lower(), "1")
    return {"type": _KINDS.get(operand["kind"], "other"), **access}, operand["name"]


def _assembly(text: str, explicit: Sequence[Mapping[str, Any]]) -> str:
    """Prefixes and mnemonic in capitals: the text before the first operand."""
    first = f"{explicit[0]['name']}:{explicit[0]['access']}" if explicit and explicit[0]["access"] else ""
    first = first or (explicit[0]["name"] if explicit else "")
    return text[: text.index(first)].strip().upper() if first and first in text else text.upper()


def _title(mnemonic: str, explicit: Sequence[Mapping[str, Any]]) -> str:
    """uops.info's name: `ADD (R64, M64)`."""
    short = []
    for operand in explicit:
        sized = _SIZED.fullmatch(operand["name"])
        short.append(f"{_LETTERS[sized[1]]}{sized[2]}" if sized else operand["name"].upper())
    return f"{mnemonic.upper()} ({', '.join(short)})" if short else mnemonic.upper()


def _operand(operand: Mapping[str, Any]) -> tuple[dict[str, str], str] | None:
    """Attributes and inner text; None for an operand that the notation cannot express."""
    name = _MASKED.sub("", operand["name"])
    accesses = {letter.lower(): "1" for letter in operand["access"]}
    if operand["kind"] == "register":
        fixed = name.upper() if operand["registers"] else None
        if fixed is not None and re.fullmatch(r"ST\d", fixed):
            fixed = f"ST({fixed[2]})"
        text = _CLASSES.get(name, fixed)
        return None if text is None else ({"type": "reg", **accesses, "width": str(operand["width"])}, text)
    if operand["kind"] == "memory" and (memory := _MEMORY.fullmatch(name)):
        width, inside, suffix = memory.groups()
        where = {"VSIB": inside} if inside and inside.isupper() else {}
        if inside and not where:
            where = {"suppressed": "1", "base": inside.upper()}
        extra = {"memory-suffix": suffix} if suffix else {}
        return {"type": "mem", "width": width, **accesses, **where, **extra}, ""
    if operand["kind"] == "immediate":
        fixed = str(int(name, 16)) if name.startswith("0x") else ""
        return {"type": "imm", **accesses, "width": str(operand["width"])}, fixed
    if operand["kind"] == "branch":
        return {"type": "relbr", "width": str(operand["width"])}, ""
    return ({"type": "agen"}, "") if operand["kind"] == "address" else None

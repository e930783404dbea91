"""Schemes and the instructions of uops.info's `instructions.xml`: their names, and their operands written.

The file spells out the registers that an operand can be (`AX,CX,…,R15W`); which class that is follows from
the set. Registers of which there is no choice keep their name. Operands that assembly does not show
(`suppressed`) belong to the name only where schemes show them: string instructions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

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


_NUMBERED_REGISTERS = [f"R{number}" for number in range(8, 16)]
_OLD = ("AX", "CX", "DX", "BX", "SP", "BP", "SI", "DI")
_CLASSES = {
    "GPR[8]": "AL,CL,DL,BL,SPL,BPL,SIL,DIL," + ",".join(f"{name}B" for name in _NUMBERED_REGISTERS),
    "GPR[8h]": "AH,CH,DH,BH",
    "GPR[8a]": "AL,CL,DL,BL,R8B,R9B,R10B,R11B",
    "GPR[8b]": "SPL,BPL,SIL,DIL,R12B,R13B,R14B,R15B",
    "GPR[16]": ",".join((*_OLD, *(f"{name}W" for name in _NUMBERED_REGISTERS))),
    "GPR[32]": ",".join((*(f"E{name}" for name in _OLD), *(f"{name}D" for name in _NUMBERED_REGISTERS))),
    "GPR[64]": ",".join((*(f"R{name}" for name in _OLD), *_NUMBERED_REGISTERS)),
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
_SIZED = re.compile(r"(GPR|MEM|IMM|REL)\[(\d++)[a-z]?.*\]")
_LETTERS = {"GPR": "R", "MEM": "M", "IMM": "I", "REL": "Rel"}
_WRITTEN_PARTS = {"B": "B", "I": "I", "S*I": "IS", "D8": "D8", "D": "D32"}
_MASKED = re.compile(r"\{k\}(\{z\})?")
_KINDS = {"register": "reg", "memory": "mem", "immediate": "imm", "branch": "relbr", "address": "agen"}


def element(text: str, mnemonic: str, operands: Sequence[Mapping[str, Any]]) -> XmlInstruction:
    """The element of a scheme; `operands` are objects as `Operand.as_json` makes them.

    `scheme_name` of it is the text again: of what uops.info's notation cannot say, there is the text alone.
    """
    shown = [each for each in operands if not each.get("implicit")]
    made = XmlInstruction(
        {"asm": _assembly(text, shown), "string": _title(mnemonic, shown)},
        [XmlOperand(*parts) for each in shown if (parts := _operand(each)) is not None],
    )
    attributes = dict(made.attributes)
    for operand in shown:
        if masked := _MASKED.search(operand["name"]):
            made.operands.append(XmlOperand({"type": "reg", "r": "1", "opmask": "1"}, _CLASSES["K"]))
            attributes["zeroing"] = "1" if masked[1] else "0"
        if operand["kind"] == "address":
            parts = operand["name"].removeprefix("ADDR").strip("[]").split("+")
            attributes["agen"] = "_".join(_WRITTEN_PARTS.get(part, "") for part in parts)
    attributes |= {name: "1" for name, sign in (("roundc", "{er}"), ("sae", "{sae}")) if text.endswith(sign)}
    made.attributes = attributes
    return made if scheme_name(made) == text else XmlInstruction({"string": text})


def numbered_element(
    text: str, mnemonic: str, operands: Sequence[Mapping[str, Any]], names: Iterable[str]
) -> tuple[XmlInstruction, dict[str, int]]:
    """The element with implicit registers and flags too, and its operands' numbers by their names.

    The names are those that `inference.isa.chains.ChainLink` has, without parts of memory: "1", "rax",
    "flags", "mask". All flags are one operand. What only `names` has, since an instruction set that came with
    an import knows no implicit operands, is added.
    """
    made = element(text, mnemonic, operands)
    shown = [each for each in operands if not each.get("implicit")]
    made.operands = made.operands or [XmlOperand(*(_operand(each) or _unusual(each))) for each in shown]
    numbers = {str(number): number for number in range(1, len(shown) + 1)}
    if any("{k}" in each["name"] for each in shown):
        masks = [at for at, each in enumerate(made.operands, start=1) if "opmask" in each.attributes]
        if not masks:
            made.operands.append(XmlOperand({"type": "reg", "r": "1", "opmask": "1"}, _CLASSES["K"]))
        numbers["mask"] = masks[0] if masks else len(made.operands)
    flags: dict[str, str] = {}
    for operand in operands:
        letters = operand["access"].lower()
        if operand["kind"] == "flags":
            flags |= {f"flag_{name.upper()}": letters for name in operand["registers"]}
        elif operand.get("implicit") and operand["kind"] == "register":
            given = {"type": "reg", "suppressed": "1", **dict.fromkeys(letters, "1")}
            made.operands.append(
                XmlOperand({**given, "width": str(operand["width"])}, operand["name"].upper())
            )
            numbers.setdefault(operand["name"], len(made.operands))
    if flags:
        access = dict.fromkeys((letter for letter in "rw" if letter in "".join(flags.values())), "1")
        made.operands.append(XmlOperand({"type": "flags", "suppressed": "1", **access, **flags}))
        numbers["flags"] = len(made.operands)
    for name in names:
        if name not in numbers:
            kind = "flags" if name == "flags" else "reg"
            register = "" if name == "flags" else name.upper()
            made.operands.append(XmlOperand({"type": kind, "suppressed": "1"}, register))
            numbers[name] = len(made.operands)
    return made, numbers


def _unusual(operand: Mapping[str, Any]) -> tuple[dict[str, str], str]:
    """Attributes and inner text of what has no place in the notation."""
    access = dict.fromkeys(operand["access"].lower(), "1")
    return {"type": _KINDS.get(operand["kind"], "other"), **access}, operand["name"]


def _assembly(text: str, shown: Sequence[Mapping[str, Any]]) -> str:
    """Prefixes and mnemonic in capitals: what stands before the first operand."""
    first = f"{shown[0]['name']}:{shown[0]['access']}" if shown and shown[0]["access"] else ""
    first = first or (shown[0]["name"] if shown else "")
    return text[: text.index(first)].strip().upper() if first and first in text else text.upper()


def _title(mnemonic: str, shown: Sequence[Mapping[str, Any]]) -> str:
    """As uops.info puts it: `ADD (R64, M64)`."""
    short = []
    for operand in shown:
        sized = _SIZED.fullmatch(operand["name"])
        short.append(f"{_LETTERS[sized[1]]}{sized[2]}" if sized else operand["name"].upper())
    return f"{mnemonic.upper()} ({', '.join(short)})" if short else mnemonic.upper()


def _operand(operand: Mapping[str, Any]) -> tuple[dict[str, str], str] | None:
    """Attributes and inner text; None for what has no place in the notation."""
    name = _MASKED.sub("", operand["name"])
    given = {letter.lower(): "1" for letter in operand["access"]}
    if operand["kind"] == "register":
        fixed = name.upper() if operand["registers"] else None
        if fixed is not None and re.fullmatch(r"ST\d", fixed):
            fixed = f"ST({fixed[2]})"
        text = _CLASSES.get(name, fixed)
        return None if text is None else ({"type": "reg", **given, "width": str(operand["width"])}, text)
    if operand["kind"] == "memory" and (memory := _MEMORY.fullmatch(name)):
        width, inside, suffix = memory.groups()
        where = {"VSIB": inside} if inside and inside.isupper() else {}
        if inside and not where:
            where = {"suppressed": "1", "base": inside.upper()}
        extra = {"memory-suffix": suffix} if suffix else {}
        return {"type": "mem", "width": width, **given, **where, **extra}, ""
    if operand["kind"] == "immediate":
        fixed = str(int(name, 16)) if name.startswith("0x") else ""
        return {"type": "imm", **given, "width": str(operand["width"])}, fixed
    if operand["kind"] == "branch":
        return {"type": "relbr", "width": str(operand["width"])}, ""
    return ({"type": "agen"}, "") if operand["kind"] == "address" else None
